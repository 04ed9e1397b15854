"""Flocks: pods name the one that they belong to by an annotation."""

from __future__ import annotations

from collections.abc import Mapping

from gangboard.decode.wire import Wire, WireMeta, read_meta
from gangboard.domain.api_resource import Resource
from gangboard.domain.group import Group, Policy
from gangboard.plugins.grouping_api import GroupingAPI


class _Spec(Wire):
    least: int = 1


class Flock(Wire):
    """A flock as served."""

    metadata: WireMeta
    spec: _Spec | None = None


def _build(wire: Flock, version: str) -> Group:
    meta = read_meta(wire.metadata, "toys.example", "Flock", version)
    return Group(meta, Policy.GANG, quorum=(wire.spec or _Spec()).least)


class Flocks(GroupingAPI):
    """Flocks of toys."""

    label = "Toys"
    group = "toys.example"
    resources = (Resource("toys.example", "flocks", "Flock", ("v1",), Flock, Group, _build),)
    annotations: Mapping[str, str] = {"toys.example/flock": "Flock"}
