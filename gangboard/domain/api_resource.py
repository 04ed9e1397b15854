"""A resource of the Kubernetes API: how it is listed and watched, and how its objects are decoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gangboard.domain.objects import is_job


class DecodeError(ValueError):
    """An object that cannot be understood. The text is one sentence for the Clusters page."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource to list and watch, and how its objects become words of the domain."""

    group: str
    plural: str
    kind: str
    versions: tuple[str, ...]
    """Versions that we can decode, the preferred first."""
    wire: type[Any]
    """The narrow struct that the bytes are decoded into."""
    model: type[Any]
    """The class of the domain that `build` returns and that the store keeps."""
    build: Callable[[Any, str], Any]
    """(wire object, version) → model. Raises DecodeError."""
    needed: bool = False
    """A verdict about any gang needs it, where it is served."""
    query: tuple[tuple[str, str], ...] = ()
    """Extra query parameters, such as a field selector."""
    reads: tuple[object, ...] = ()
    """Labels and annotations that other members of the registry have `build` read: with others stored rows are
    read again, as after a change of its source (`decode.fingerprints`)."""
    fields: tuple[str, ...] = ()
    """JSON paths such as `spec.podSets.name` of which every object has at least one; in a list every item
    has. With them an API version that this release does not know is read as the newest that it knows."""

    @property
    def key(self) -> str:
        """`pods`, `jobs.batch`: how kubectl and RBAC name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def readable_version(self, served: Sequence[str]) -> str:
        """Return the version to read of those that a server lists in its order; empty for none."""
        known = next((version for version in self.versions if version in served), "")
        return known or (served[0] if served and self.fields else "")

    def is_known(self, version: str) -> bool:
        """Whether this release was written for that version."""
        return version in self.versions

    @property
    def is_job(self) -> bool:
        """Whether its objects are Jobs of Kubernetes itself."""
        return is_job(self.group, self.kind)


class WatchState(StrEnum):
    """What came of the last try to list and watch a resource."""

    LISTING = "listing"
    """It was not listed to the end yet."""
    OK = "ok"
    """It was listed to the end, and nothing has failed since."""
    NOT_SERVED = "not-served"
    """The API server does not serve it: there are no such objects."""
    FORBIDDEN = "forbidden"
    """The API server answered 403: the reader may not list or watch it."""
    FAILING = "failing"
    """The last try ended with another error; what was seen before is kept."""
    UNKNOWN_VERSION = "unknown-version"
    """It is served, but in no version that this release can read."""
    NOT_NEEDED = "not-needed"
    """It is served and not asked for: nothing that was seen needs it now."""
    UNDECODABLE = "undecodable"
    """It was read, and objects of it cannot be understood: said to a verdict, never stored."""
