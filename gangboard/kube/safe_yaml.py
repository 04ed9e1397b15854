"""YAML from others: limited in size and depth, and without references to itself."""

from __future__ import annotations

from typing import Any

import yaml

from gangboard.kube.errors import CredentialError

LARGEST = 1024 * 1024
"""Bytes. A kubeconfig of a hundred clusters has a quarter of it."""
DEEPEST = 32


def load_document(text: str) -> Any:
    """Return the one document in the text, as plain values. Raises CredentialError.

    Aliases (`*name`) are refused: no kubeconfig has them, and they are how ten lines become gigabytes.
    """
    if len(text) > LARGEST or len(text.encode(errors="surrogatepass")) > LARGEST:
        raise CredentialError("The kubeconfig is larger than 1 MiB.")
    try:
        _look_through(text)
        return yaml.load(text, Loader=yaml.CSafeLoader)  # safe, and written in C
    except yaml.MarkedYAMLError as error:
        # The text around the mark is not shown: it may be a token.
        where = f" (line {error.problem_mark.line + 1})" if error.problem_mark else ""
        raise CredentialError(f"The kubeconfig is not valid YAML{where}.") from error
    except (yaml.YAMLError, ValueError) as error:
        raise CredentialError("The kubeconfig is not valid YAML.") from error


def _look_through(text: str) -> None:
    """Walk over the events without building anything."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise CredentialError("The kubeconfig uses YAML aliases, which are not accepted.")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise CredentialError(f"The kubeconfig is nested deeper than {DEEPEST} levels.")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
