"""Adding, re-pointing and removing clusters."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from gangboard.store import clusters, people
from gangboard.store.models import Cluster, Gang, Grant, Lease, ResourceState, WatchedObject
from gangboard.store.secrets import unseal

pytestmark = pytest.mark.django_db

DOCUMENT = {"server": "https://east", "token": "sesame"}


@pytest.fixture
def east() -> Cluster:
    return clusters.add_cluster(name="east", document=DOCUMENT, server="https://east")


def test_an_added_cluster_keeps_its_credentials_encrypted() -> None:
    expires = datetime(2027, 1, 1, tzinfo=UTC)
    cluster = clusters.add_cluster(
        name="east", document=DOCUMENT, server="https://east", expires_at=expires
    )
    cluster.refresh_from_db()
    assert b"sesame" not in bytes(cluster.credentials)
    assert unseal(bytes(cluster.credentials)) == DOCUMENT
    assert (cluster.server, cluster.credentials_expire_at) == ("https://east", expires)


@pytest.mark.parametrize("name", ["", "East", "a_b", "-a", "a-", "a.b", "a" * 64, "a\n", "é"])
def test_the_name_must_be_a_dns_label(name: str) -> None:
    with pytest.raises(clusters.ClusterError, match="cannot be the name of a cluster"):
        clusters.add_cluster(name=name, document=DOCUMENT, server="https://east")
    assert not Cluster.objects.exists()


@pytest.mark.parametrize("name", ["a", "0", "a-b", "a" * 63])
def test_valid_kubernetes_names_are_accepted(name: str) -> None:
    clusters.add_cluster(name=name, document=DOCUMENT, server="https://east")
    assert clusters.cluster_names() == [name]


def test_a_name_is_unique(east: Cluster) -> None:
    with pytest.raises(clusters.ClusterError, match="there is a cluster 'east' already"):
        clusters.add_cluster(name="east", document=DOCUMENT, server="https://other")
    assert Cluster.objects.get().server == "https://east"


def test_a_second_name_for_a_cluster_is_refused_with_the_first(
    east: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    Cluster.objects.update(system_uid="u-1")
    refuse, looked = clusters.refuse_second_name, []

    def too_early(name: str, uid: str) -> None:
        looked.append(name)
        if len(looked) > 1:
            refuse(name, uid)

    monkeypatch.setattr(clusters, "refuse_second_name", too_early)
    with pytest.raises(clusters.ClusterError) as caught:
        clusters.add_cluster(name="other", document=DOCUMENT, server=east.server, uid="u-1")
    assert caught.value.code == "same-cluster"


def test_a_reserved_api_word_is_not_a_name() -> None:
    with pytest.raises(clusters.ClusterError, match="the API uses this word"):
        clusters.add_cluster(name="trials", document=DOCUMENT, server="https://east")


def test_a_new_address_relists_everything_and_fences_off_the_current_poller(
    east: Cluster,
) -> None:
    ResourceState.objects.create(
        cluster=east,
        resource="pods",
        state="ok",
        resource_version="41",
        decoder_version=1,
        listed_at=timezone.now(),
    )
    Lease.objects.create(
        cluster=east, holder="worker-1", number=7, expires_at=timezone.now() + timedelta(hours=1)
    )
    Cluster.objects.update(discovered_at=timezone.now(), data_version=3)
    clusters.replace_credentials(name="east", document={"token": "new"}, server="https://moved")
    after = Cluster.objects.get()
    assert unseal(bytes(after.credentials)) == {"token": "new"}
    assert (after.server, after.discovered_at, after.data_version) == ("https://moved", None, 4)
    state = ResourceState.objects.get()
    # No object is skipped because its version is the same: see `invalidate_other_decoders`.
    assert (state.resource_version, state.decoder_version) == ("", 0)
    lease = Lease.objects.get()
    assert (lease.number, lease.holder, lease.expires_at) == (8, "", None)


def test_new_credentials_for_the_same_address_keep_the_stored_data(east: Cluster) -> None:
    ResourceState.objects.create(cluster=east, resource="pods", state="ok", resource_version="41")
    clusters.replace_credentials(name="east", document={"token": "new"}, server="https://east")
    assert ResourceState.objects.get().resource_version == "41"


def test_new_credentials_without_a_context_keep_the_context_at_the_same_address(
    east: Cluster,
) -> None:
    Cluster.objects.update(context="prod/admin")
    for server, context, expected in (
        ("https://east", "", "prod/admin"),
        ("https://east", "ops", "ops"),
        ("https://moved", "", ""),
    ):
        clusters.replace_credentials(name="east", document={}, server=server, context=context)
        assert Cluster.objects.get().context == expected


def test_a_removed_cluster_deletes_its_data(east: Cluster) -> None:
    people.create_user(name="ada", role="viewer", cluster_name="east")
    WatchedObject.objects.create(
        cluster=east,
        resource="pods",
        uid="u",
        namespace="n",
        name="p",
        resource_version="1",
        data=b"",
    )
    now = timezone.now()
    Gang.objects.create(
        id="1",
        cluster=east,
        uid="u",
        severity=0,
        since=now,
        observed_at=now,
        first_seen_at=now,
        detail=b"",
        memory=b"",
    )
    clusters.remove_cluster(name="east")
    for model in (Cluster, WatchedObject, Gang, Grant):
        assert not model._default_manager.exists()


def test_the_error_for_an_unknown_cluster_lists_the_existing_ones(east: Cluster) -> None:
    unknown = "there is no cluster 'west'; the clusters are: east"
    with pytest.raises(clusters.ClusterError, match=unknown):
        clusters.remove_cluster(name="west")
    with pytest.raises(clusters.ClusterError, match=unknown):
        clusters.replace_credentials(name="west", document={}, server="")
