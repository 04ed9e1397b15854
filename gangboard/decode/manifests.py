"""Reader of manifests that people paste or send: YAML or JSON, several documents, and lists of objects.

The text is untrusted. The reader bounds its size, depth and number of values before it builds any value. It refuses
aliases, because a few lines of them can stand for gigabytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from gangboard.domain.forecast import Manifest

DEFAULT_NAMESPACE = "default"
"""Namespace of objects that name none, as in kubectl."""
MAX_BYTES = 1024 * 1024
"""Largest text in bytes. etcd stores no object above 1.5 MiB."""
MAX_DOCUMENTS = 200
"""Most documents and items of lists."""
MAX_DEPTH = 40
"""Deepest nesting of maps and lists. A pod template of a custom resource has a depth of about 20."""
MAX_VALUES = 50_000
"""Most scalars, maps and lists of the whole text."""

# The pure Python loader takes 30 times as long.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ManifestError(ValueError):
    """Error in a text with manifests. It is a sentence that names the document."""


@dataclass(frozen=True, slots=True)
class Document:
    """An object of the text."""

    number: int
    """Number of its YAML document, from 1. Items of a list have the number of the list."""
    manifest: Manifest

    @property
    def api_version(self) -> str:
        """Value of `apiVersion`, such as `batch/v1`."""
        return str(self.manifest["apiVersion"])

    @property
    def kind(self) -> str:
        """Value of `kind`."""
        return str(self.manifest["kind"])

    @property
    def group(self) -> str:
        """API group, which is empty for core objects."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        """API version without the group."""
        return self.api_version.rpartition("/")[2]

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Value of `metadata`, or an empty map."""
        metadata = self.manifest.get("metadata")
        return metadata if isinstance(metadata, dict) else {}

    @property
    def name(self) -> str:
        """Value of `metadata.name`, else of `metadata.generateName`, or an empty text."""
        return str(self.metadata.get("name") or self.metadata.get("generateName") or "")

    @property
    def namespace(self) -> str:
        """Value of `metadata.namespace`, or the default namespace."""
        return str(self.metadata.get("namespace") or DEFAULT_NAMESPACE)

    @property
    def title(self) -> str:
        """Kind and name, such as `Job train`. An object without a name has that of `generateName`."""
        return f"{self.kind} {self.name}".strip()


def read_manifests(text: str) -> tuple[Document, ...]:
    """Return the objects of a text. Raises ManifestError, which names the document, and if there is no object."""
    if len(text.encode(errors="surrogatepass")) > MAX_BYTES:
        raise ManifestError(f"The text is larger than {MAX_BYTES // 1024} KiB.")
    _check_structure(text)
    documents: list[Document] = []
    try:
        for number, content in enumerate(yaml.load_all(text, _Texts), start=1):
            if content is not None:
                documents += _objects_of(number, content)
            if len(documents) > MAX_DOCUMENTS:
                raise ManifestError(f"The text has more than {MAX_DOCUMENTS} objects.")
    except yaml.YAMLError as error:
        raise ManifestError(_syntax_sentence(error)) from error
    if not documents:
        raise ManifestError("The text has no object: each needs apiVersion, kind and metadata.")
    return tuple(documents)


class _Texts(_Loader):  # type: ignore[misc]  # the class is chosen at run time
    """Loader that builds plain JSON values. Times stay text, as in the API server."""


_Texts.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}


def _check_structure(text: str) -> None:
    """Refuse aliases, and texts that are too deep or have too many values. Builds no value."""
    number, depth, values = 0, 0, 0
    try:
        for event in yaml.parse(text, _Loader):
            if isinstance(event, yaml.AliasEvent):
                raise ManifestError(
                    f"Document {max(number, 1)} has the alias *{event.anchor}. Aliases are not"
                    " supported, so write the value itself."
                )
            if isinstance(event, yaml.DocumentStartEvent):
                number += 1
            elif isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            values += isinstance(event, yaml.NodeEvent)
            if depth > MAX_DEPTH:
                raise ManifestError(f"Document {number} is nested deeper than {MAX_DEPTH} levels.")
            if values > MAX_VALUES:
                raise ManifestError(f"The text has more than {MAX_VALUES} values.")
    except yaml.YAMLError as error:
        raise ManifestError(_syntax_sentence(error, max(number, 1))) from error


def _syntax_sentence(error: yaml.YAMLError, number: int = 0) -> str:
    """Return the sentence about a syntax error, with its line."""
    problem = getattr(error, "problem", None) or "it has a character that YAML does not allow"
    mark = getattr(error, "problem_mark", None)
    place = f"line {mark.line + 1}" if mark is not None else "an unknown line"
    document = f"Document {number}" if number else "The text"
    return f"{document} is no valid YAML in {place}: {problem}."


def _objects_of(number: int, content: object) -> Iterator[Document]:
    """Yield the objects of a document, which can be a list. Raises ManifestError."""
    if not isinstance(content, dict):
        raise ManifestError(f"Document {number} is no object, but {_noun(content)}.")
    items = content.get("items")
    if str(content.get("kind", "")).endswith("List") and isinstance(items, list):
        for position, item in enumerate(items, start=1):
            if not isinstance(item, dict):
                raise ManifestError(f"Item {position} of document {number} is no object.")
            yield _document(number, item, f"Item {position} of document {number}")
        return
    yield _document(number, content, f"Document {number}")


def _document(number: int, content: dict[object, object], place: str) -> Document:
    for name in ("apiVersion", "kind"):
        value = content.get(name)
        if not isinstance(value, str) or not value:
            raise ManifestError(f"{place} has no {name}.")
    manifest: Any = _as_json(content, place)
    return Document(number, manifest)


def _as_json(value: object, place: str) -> object:
    """Return the value as JSON has it: keys are texts, and numbers are finite. Raises ManifestError."""
    if isinstance(value, dict):
        return {_key(key, place): _as_json(item, place) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item, place) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ManifestError(f"{place} has a number that is not finite.")
    if isinstance(value, str):
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise ManifestError(f"{place} has a character that is no Unicode text.")
        return value
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise ManifestError(f"{place} has {_noun(value)}, which JSON does not have.")


def _key(key: object, place: str) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return str(key)
    raise ManifestError(f"{place} has a key that is no text.")


def _noun(value: object) -> str:
    names = {list: "a list", str: "a text", bool: "a truth value", bytes: "binary data"}
    return names.get(type(value), "a number" if isinstance(value, (int, float)) else "a set")
