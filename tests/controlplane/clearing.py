"""Clean up between tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tests.controlplane.client import Client, Json, wait
from tests.controlplane.nodes import delete_nodes


def delete_namespace(client: Client, name: str) -> None:
    """Delete a namespace; returns when its pods are gone, the rest of it follows by itself."""
    # From here on no controller can create new pods in it.
    client.delete("v1", "Namespace", name)

    def empty() -> bool:
        return _force_away(client, lambda _pod: True, name)

    wait(empty, timeout=60.0, what=f"pods of {name} to be gone")


def empty_namespaces(client: Client, names: Iterable[str]) -> None:
    """Delete what this client created in these namespaces, and all pods. The namespaces stay.

    A cluster sends more than a hundred requests until a namespace is deleted: half of all requests of some files.
    """
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(partial(_empty_namespace, client), names))


def _empty_namespace(client: Client, name: str) -> None:
    """Return once two looks in a row show no pod: a controller that lags behind can make pods once more."""
    for version, kind in client.created_in(name):
        client.delete_all(version, kind, name)
    looks: list[bool] = []

    def is_empty() -> bool:
        pods = client.list("v1", "Pod", name)
        looks.append(not pods)
        for version, kind in (*_makers_of(pods), *([("v1", "Pod")] if pods else [])):
            client.delete_all(version, kind, name)
        return looks[-2:] == [True, True]

    wait(is_empty, timeout=60.0, every=0.1, what=f"pods of {name} to be gone")


def _makers_of(pods: Iterable[Json]) -> set[tuple[str, str]]:
    """Return the (apiVersion, kind) of the objects that made these pods, and would make them again."""
    return {
        (owner["apiVersion"], owner["kind"])
        for pod in pods
        for owner in pod["metadata"].get("ownerReferences", ())
        if owner.get("controller")
    }


def clear_nodes(client: Client) -> None:
    """Delete all nodes and their pods, so that their names can be used again.

    A pod stays for a minute if only its node is deleted, and would use capacity on the next n0.

    """
    delete_nodes(client)
    wait(
        lambda: _force_away(client, lambda pod: "nodeName" in pod["spec"]),
        timeout=60.0,
        what="pods of deleted nodes to be gone",
    )


def _force_away(
    client: Client, which: Callable[[Json], object], namespace: str | None = None
) -> bool:
    """Delete those pods immediately (without a kubelet). Return True if there were none."""
    result = [pod for pod in client.list("v1", "Pod", namespace) if which(pod)]
    for pod in result:
        nodes = pod["metadata"]
        client.delete("v1", "Pod", nodes["name"], nodes["namespace"], grace=0)
    return not result
