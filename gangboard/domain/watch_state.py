"""How a resource of a cluster can be seen: stored with it, shown with it, asked before a verdict."""

from __future__ import annotations

from enum import StrEnum


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
