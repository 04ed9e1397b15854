"""Manifests with values of the wrong type or size in any place never end a check in a defect."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from gangboard.decode.manifests import Document
from gangboard.plugins import registry
from gangboard.plugins.manifest_shapes import shape_of
from gangboard.polling.checks.engine import check_cluster
from gangboard.polling.cluster_cache import resources
from tests.check_manifests import CASES
from tests.polling.checks.fleet import NOW, gpu_node, make_fleet
from tests.random_sets import sized

pytestmark = pytest.mark.django_db

VALUES: tuple[Any, ...] = (
    None,
    "",
    "x" * 300,
    "a\x00b",
    -1,
    0,
    2**31,
    2**70,
    1.5,
    True,
    [],
    {},
    [None],
    [{}],
    {"a": None},
    [["x"]],
)
OF_EACH = sized(40, 2000)


def paths(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values below a value."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    found = []
    for key, item in items:
        found.append((*above, key))
        found += paths(item, (*above, key))
    return found


def damaged(manifest: Any, chance: random.Random) -> Any:
    """Return a manifest with one to three other values."""
    changed = copy.deepcopy(manifest)
    for _ in range(chance.randint(1, 3)):
        possible = [path for path in paths(changed) if path[0] not in ("apiVersion", "kind")]
        if not possible:
            break
        *above, last = chance.choice(possible)
        target = changed
        for key in above:
            target = target[key]
        if isinstance(target, dict) and chance.random() < 0.2:
            del target[last]
        else:
            target[last] = copy.deepcopy(chance.choice(VALUES))
    return changed


def test_damaged_manifests_have_an_answer() -> None:
    keys = tuple(resource.key for resource in resources())
    cluster = make_fleet(gpu_node("n0"), gpu_node("n1"), served=keys)
    chance = random.Random(1)
    kinds = {case.manifest[-1]["kind"]: case for case in CASES}
    assert len(kinds) >= 10
    assert all(
        registry.owner_kind(item["apiVersion"].rpartition("/")[0], item["kind"])
        or item["kind"] in ("Pod", "PodGroup")
        for case in kinds.values()
        for item in case.manifest
    )
    for case in kinds.values():
        for _ in range(OF_EACH):
            documents = [
                shape_of(Document(number, damaged(item, chance)))
                for number, item in enumerate((*case.before, *case.manifest), start=1)
                if item["kind"] != "Pod" or item in case.manifest
            ]
            result = check_cluster(cluster, documents, NOW)
            assert result.gangs or result.why_unknown
