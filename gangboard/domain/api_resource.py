"""Resources of the Kubernetes API: how gangboard lists, watches and decodes them, and the state of a watch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gangboard.domain.objects import is_job


class DecodeError(ValueError):
    """Error in the data of an object. The text is a sentence for the Clusters page."""


@dataclass(frozen=True, slots=True)
class SubmitterMarks:
    """Keys of the label and the annotation that name the submitter of an owner. Empty for none."""

    label: str = ""
    annotation: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """Resource to list and watch, and how its objects become domain values."""

    group: str
    plural: str
    kind: str
    versions: tuple[str, ...]
    """Versions that gangboard can decode, the preferred first."""
    wire: type[Any]
    """Struct with the fields that gangboard reads, into which the bytes are decoded."""
    model: type[Any]
    """Domain class that `build` returns and that the database stores."""
    build: Callable[[Any, str], Any]
    """(wire object, version) → model. Raises DecodeError."""
    needed: bool = False
    """Every verdict needs it, if the cluster serves it."""
    query: tuple[tuple[str, str], ...] = ()
    """Extra query parameters, such as a field selector."""
    reads: tuple[object, ...] = ()
    """Labels and annotations that `build` reads for plugins. A change invalidates stored rows
    (`decode.fingerprints`)."""
    submitter: SubmitterMarks = SubmitterMarks()
    """For owners. A change invalidates stored rows, as that of `reads`."""
    fields: tuple[str, ...] = ()
    """JSON paths such as `spec.podSets.name`. Every object has at least one of them, and in a list every item.

    They allow gangboard to decode an unknown API version as the newest known one."""

    @property
    def key(self) -> str:
        """Name in kubectl and RBAC, such as `pods` or `jobs.batch`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def readable_version(self, served: Sequence[str]) -> str:
        """Return the version to read, or empty. `served` are the versions in the server's order."""
        known = next((version for version in self.versions if version in served), "")
        return known or (served[0] if served and self.fields else "")

    def is_known(self, version: str) -> bool:
        """Return whether this release supports that version."""
        return version in self.versions

    @property
    def is_job(self) -> bool:
        """Whether its objects are batch/v1 Jobs."""
        return is_job(self.group, self.kind)


class WatchState(StrEnum):
    """Result of the last attempt to list and watch a resource."""

    LISTING = "listing"
    """The first list is not complete yet."""
    OK = "ok"
    """The list is complete, and no request has failed since."""
    NOT_SERVED = "not-served"
    """The API server does not serve the resource, so it has no objects."""
    FORBIDDEN = "forbidden"
    """The API server answered 403, because the reader lacks a permission."""
    FAILING = "failing"
    """The last attempt failed with another error. gangboard keeps the objects from before."""
    UNKNOWN_VERSION = "unknown-version"
    """The API server serves no version that this release can read."""
    NOT_NEEDED = "not-needed"
    """The resource is served, but no known object needs it now, so gangboard does not list it."""
    UNDECODABLE = "undecodable"
    """Some objects cannot be decoded. Verdicts use this state. It is never stored."""
