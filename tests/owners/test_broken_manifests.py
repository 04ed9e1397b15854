"""`creates` and `faults` of every kind with broken manifests. They come from people and must raise no error."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from itertools import islice
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gangboard.domain.forecast import CreationUnknownError
from gangboard.owners.trainjob.runtime import RUNTIMES
from gangboard.plugins import registry
from tests.controlplane.flux import minicluster
from tests.controlplane.grove import clique, podcliqueset, scaling_group
from tests.decode.reading import Json, model
from tests.owners.created_manifests import CREATED
from tests.owners.expansion import context
from tests.owners.refused_manifests import CASES

MOST = 50
"""Objects that are taken from one manifest. A broken number may ask for millions."""
_VOLCANO: Json = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "run"},
    "spec": {
        "minAvailable": 1,
        "tasks": [
            {"name": "a", "replicas": 2, "template": CREATED["Job"].manifest["spec"]["template"]}
        ],
    },
}
_GROVE = podcliqueset(
    "run",
    "default",
    [clique("a", 2, 1), clique("b", 1, 1)],
    groups=[scaling_group("g", "b", replicas=2, minimum=1)],
)
MANIFESTS: list[Json] = [
    *(case.manifest for case in CREATED.values()),
    *(case.manifest for case in CASES),
    minicluster("run", "default", 2, on={}),
    _VOLCANO,
    _GROVE,
]
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "a", "1Gi", "x" * 300, "A/b.c", "\x00", "ü"]),
    st.sampled_from([[], {}, [{}], [None], {"": ""}, {"a": {"b": []}}, [[1]]]),
)
_RUNTIME = model(
    RUNTIMES[0],
    {
        **CREATED["TrainJob"].before[0],
        "metadata": {"name": CREATED["TrainJob"].before[0]["metadata"]["name"], "uid": "u"},
    },
)
GIVEN = context(
    "podgroups.scheduling.k8s.io/v1beta1",
    "clustertrainingruntimes.trainer.kubeflow.org/v1alpha1",
    blueprints=[_RUNTIME],
    dependencies_met=True,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every value below `spec` and `metadata`."""
    entries = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in entries:
        if path or key in ("spec", "metadata"):
            yield (*path, key)
            yield from places(item, (*path, key))


def broken(manifest: Json, path: tuple[Any, ...], junk: Any) -> Json:
    """Return the manifest with another value at a path."""
    changed = deepcopy(manifest)
    target: Any = changed
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = junk
    return changed


@given(st.data())
def test_a_broken_manifest_raises_no_error(data: st.DataObject) -> None:
    manifest = data.draw(st.sampled_from(MANIFESTS))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(places(manifest))))
        manifest = broken(manifest, path, data.draw(JUNK))
        if not list(places(manifest)):
            break
    for fault in registry.faults_of(manifest, GIVEN):
        assert fault.field
        assert fault.sentence.endswith(".")
    kind = registry.owner_kind(manifest["apiVersion"].rpartition("/")[0], manifest["kind"])
    if kind is None:
        return
    try:
        for made in islice(kind.creates(manifest, GIVEN), MOST):
            assert {"apiVersion", "kind", "metadata", "spec"} == set(made)
    except CreationUnknownError:
        assert manifest["kind"] in ("TrainJob", "RayJob")
