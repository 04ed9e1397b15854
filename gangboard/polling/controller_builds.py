"""Which builds of controllers a cluster has, where the effect of a lever depends on the build."""

from __future__ import annotations

from gangboard.kube.errors import KubeError
from gangboard.kube.openapi import LONGEST_HASH, schema_hash
from gangboard.logs import get_logger
from gangboard.plugins import registry
from gangboard.polling.cluster_cache import ClusterCache
from gangboard.polling.discovery_schedule import run_in_thread
from gangboard.store.observations import save_controller_build

log = get_logger(__name__)


def read_builds(cache: ClusterCache) -> None:
    """Begin to read the builds in a thread, unless that is under way: no list waits for them."""
    if cache.build is None:
        cache.build = run_in_thread("schema", lambda: _builds(cache))


def store_builds(cache: ClusterCache) -> None:
    """Store the builds if they have been read. Raises LeaseLostError."""
    build = cache.build
    if build is None or not build.done():
        return
    cache.build = None
    found = build.result()
    if found is not None:
        save_controller_build(cache.lease, found)


def _builds(cache: ClusterCache) -> str | None:
    """Return what tells these builds from others; None when that cannot be read now.

    Of several controllers it is a part of the hash of each.
    """
    kinds = registry.kinds_told_by_build()
    found: list[str] = []
    try:
        for kind in kinds:
            group, watched = kind.resource.group, cache.watched[kind.resource.key]
            found.append(schema_hash(cache.connection, group, watched.version))
    except KubeError as error:
        log.warning("schema not read", cluster=cache.cluster_name, why=error.sentence)
        return None
    return "".join(one[: LONGEST_HASH // len(kinds)] for one in found)
