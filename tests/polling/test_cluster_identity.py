"""A poll identifies a cluster by the uid of `kube-system`."""

from __future__ import annotations

from collections.abc import Callable

from gangboard.kube.credentials import read_kubeconfig
from gangboard.store.clusters import add_cluster
from gangboard.store.models import Gang
from tests.polling.conftest import Watching


def test_the_first_poll_stores_the_uid(watch: Callable[..., Watching]) -> None:
    watching = watch()
    assert watching.cluster.system_uid == ""
    watching.settle()
    assert watching.fresh().system_uid


def test_a_cluster_with_a_second_name_is_not_read_and_the_first_name_is_shown(
    watch: Callable[..., Watching],
) -> None:
    first = watch("west")
    first.settle()
    credentials = read_kubeconfig(first.simulator.kubeconfig_text())
    second = Watching(
        first.simulator,
        add_cluster(name="west2", document=credentials.to_document(), server=credentials.server),
    )
    second.window(0.5)
    assert second.fresh().problem == "same-cluster"
    assert second.cluster.sentence.startswith("west is this cluster already")
    assert not Gang.objects.filter(cluster=second.cluster).exists()


def test_another_cluster_behind_the_address_is_not_merged(watch: Callable[..., Watching]) -> None:
    watching = watch()
    watching.cluster.system_uid = "of-the-one-before"
    watching.cluster.save()
    watching.window(0.5)
    assert watching.fresh().problem == "other-cluster"
    assert watching.cluster.system_uid == "of-the-one-before"
    assert not Gang.objects.filter(cluster=watching.cluster).exists()


def test_a_cluster_without_readable_identity_is_read(watch: Callable[..., Watching]) -> None:
    watching = watch()
    watching.simulator.faults.forbidden(resource="namespaces")
    watching.settle()
    assert (watching.fresh().system_uid, watching.cluster.problem) == ("", "")
