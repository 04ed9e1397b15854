"""The two servers that keep the contract: the simulator and the real control plane."""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Iterator

import pytest

from simulator import Fleet, NodePool, Simulator
from simulator.hold import INSTALLATION
from tests.contract.site import Site
from tests.controlplane.clearing import clear_nodes
from tests.controlplane.client import ApiError, Client, Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import delete_nodes, make_nodes, node
from tests.controlplane.objects import namespace

SERVERS = ["simulator", pytest.param("real", marks=pytest.mark.controlplane)]
_FAIL = "test.gangboard.dev/fail-after"


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Simulator, Client]]:
    fleet = Fleet("contract", (NodePool("n", 4, gpus=4),), ())
    with Simulator(fleet, "1.37", story=False, hold=True, speed=4, bookmark_seconds=2) as simulator:
        ca = tmp_path_factory.mktemp("contract") / "ca.crt"
        ca.write_text(simulator.authority)
        client = Client(simulator.url, ca=ca, token=simulator.token)
        yield simulator, client
        client.close()
        assert simulator.clock.errors == []


@pytest.fixture(scope="package")
def held_plane(controlplane_137: ControlPlane) -> Iterator[ControlPlane]:
    """A plane with the Hold installed and served, as the simulator has it.

    It is installed once: the garbage collector learns of a new kind within half a minute.
    """
    client, created = controlplane_137.client, []
    for obj in INSTALLATION:
        try:
            client.create(obj)
        except ApiError as error:
            if error.status != 409:
                raise
        else:
            created.append(obj)
    wait(lambda: _serves_holds(client), what="Holds to be served")
    yield controlplane_137
    for obj in reversed(created):
        client.delete(obj["apiVersion"], obj["kind"], obj["metadata"]["name"])
        # A definition that is still going would make a later creation "already there".
        client.wait_gone(obj["apiVersion"], obj["kind"], obj["metadata"]["name"])


@pytest.fixture(params=SERVERS)
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """Each server in turn, with a fresh namespace and four nodes of four GPUs."""
    name = f"c-{secrets.token_hex(4)}"
    if request.param == "simulator":
        simulator, client = request.getfixturevalue("simulated")
        result = _simulated_site(simulator, client, name)
    else:
        result = _real_site(request.getfixturevalue("held_plane"), name)
    result.client.create(namespace(name))
    yield result
    # Leftover pods must not take capacity from the next test.
    result.client.delete("v1", "Namespace", name)
    if request.param == "real":
        delete_nodes(result.client)


def _serves_holds(client: Client) -> bool:
    """A definition made this moment answers 404 and then 429 until its storage is ready."""
    try:
        client.list("gangboard.dev/v1alpha1", "Hold", "default")
    except ApiError as error:
        if error.status not in (404, 429):
            raise
        return False
    return True


def _simulated_site(simulator: Simulator, client: Client, name: str) -> Site:
    def fail(pod: Json) -> None:
        simulator.kubelet.finish(pod, "failed")

    headers = {"Authorization": f"Bearer {simulator.token}"}
    return Site(client, simulator.client_context(), headers, name, fail)


def _real_site(plane: ControlPlane, name: str) -> Site:
    clear_nodes(plane.client)  # of a test whose end failed
    make_nodes(plane.client, [node(f"n{i}", cpu="32", gpus=4) for i in range(4)])

    def fail(pod: Json) -> None:
        meta = pod["metadata"]
        body = {"metadata": {"annotations": {_FAIL: "0s"}}}
        plane.client.patch("v1", "Pod", meta["name"], body, meta["namespace"])

    certificates = plane.folder / "certificates"
    context = ssl.create_default_context(cafile=str(certificates / "ca.crt"))
    context.load_cert_chain(certificates / "admin.crt", certificates / "admin.key")
    return Site(plane.client, context, {}, name, fail)
