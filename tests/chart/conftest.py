"""All tests of the chart but those of its files need Helm."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from tests.controlplane.build import build, manifests
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.conditions import is_true
from tests.controlplane.fixtures import require_built


@pytest.fixture(scope="session")
def helm_is_built() -> None:
    """Skip the test where Helm is not built, or fail it in CI."""
    require_built(("helm",))


@pytest.fixture(scope="module")
def charted_kinds(controlplane_137: ControlPlane) -> Iterator[None]:
    """Serve the kinds of Prometheus' operator and of the Gateway API with their own CRDs."""
    build(["charted"])  # only copies files
    client = controlplane_137.client
    crds = [yaml.load(file.read_text(), Loader=yaml.CSafeLoader) for file in manifests("charted")]
    created = client.create_all(crds)
    for crd in created:
        name = crd["metadata"]["name"]
        client.wait_for(
            crd["apiVersion"], crd["kind"], name, until=lambda one: is_true(one, "Established")
        )
    yield
    for crd in created:
        client.delete(crd["apiVersion"], crd["kind"], crd["metadata"]["name"])
