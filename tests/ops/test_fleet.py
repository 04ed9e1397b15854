"""Which clusters `up` takes for the simulated ones of an earlier run, and forgets."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
import yaml
from django.core.management import call_command

from gangboard.ops.simulated_clusters import real_clusters, remove_simulated
from gangboard.store.models import Cluster
from simulator.certificates import make_identity
from tests.kube.certificates import issue
from tests.ops.kubeconfigs import write_kubeconfig

pytestmark = pytest.mark.django_db

LOCAL = "https://127.0.0.1:6443"
SIMULATOR = make_identity().authority


def add(name: str, folder: Path, *, authority: bytes | None, server: str = LOCAL) -> None:
    """Watch a cluster that has this authority, as an admin would."""
    path = write_kubeconfig(folder / name, server=server)
    if authority is not None:
        document = yaml.safe_load(path.read_text())
        text = base64.b64encode(authority).decode()
        document["clusters"][0]["cluster"]["certificate-authority-data"] = text
        path.write_text(yaml.safe_dump(document))
    call_command("add_cluster", name, "--kubeconfig", path, "--without-trying")


def test_a_cluster_of_an_earlier_run_is_removed(tmp_path: Path) -> None:
    add("sim-east", tmp_path, authority=SIMULATOR)
    assert real_clusters() == []
    assert remove_simulated() == ["sim-east"]


def test_a_users_cluster_of_that_name_stays(tmp_path: Path) -> None:
    """A local cluster of their own: its address is of this machine, its authority is not ours."""
    add(
        "sim-east",
        tmp_path,
        authority=issue("kubernetes", is_authority=True).certificate_pem.encode(),
    )
    add("sim-west", tmp_path, authority=None)
    assert real_clusters() == ["sim-east", "sim-west"]
    assert remove_simulated() == []
    assert Cluster.objects.count() == 2


@pytest.mark.parametrize(
    ("name", "server"), [("east", LOCAL), ("sim-east", "https://east.example.com")]
)
def test_a_simulator_added_by_a_user_stays(tmp_path: Path, name: str, server: str) -> None:
    add(name, tmp_path, authority=SIMULATOR, server=server)
    assert real_clusters() == [name]


def test_a_cluster_that_cannot_be_decrypted_stays(tmp_path: Path) -> None:
    add("sim-east", tmp_path, authority=SIMULATOR)
    Cluster.objects.update(credentials=b"sealed with another key")
    assert real_clusters() == ["sim-east"]
