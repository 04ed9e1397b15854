"""A poll identifies a cluster by the uid of `kube-system`."""

from __future__ import annotations

from collections.abc import Callable

from gangboard.kube.credentials import read_kubeconfig
from gangboard.store.clusters import add_cluster
from gangboard.store.models import Gang
from tests.polling.conftest import Watching


def test_the_first_poll_stores_the_uid(watch: Callable[..., Watching]) -> None:
    one = watch()
    assert one.cluster.system_uid == ""
    one.settle()
    assert one.fresh().system_uid


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
    one = watch()
    one.cluster.system_uid = "of-the-one-before"
    one.cluster.save()
    one.window(0.5)
    assert one.fresh().problem == "other-cluster"
    assert one.cluster.system_uid == "of-the-one-before"
    assert not Gang.objects.filter(cluster=one.cluster).exists()


def test_a_cluster_without_readable_identity_is_read(watch: Callable[..., Watching]) -> None:
    one = watch()
    one.simulator.faults.forbidden(resource="namespaces")
    one.settle()
    assert (one.fresh().system_uid, one.cluster.problem) == ("", "")
