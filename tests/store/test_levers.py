"""Permissions of clusters: the actor, the switches, the policy of the Hold, and proof results."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import Q
from django.utils import timezone

from gangboard.decode.admission_policies import BINDING, POLICY, policy_digest
from gangboard.decode.holds import HOLD
from gangboard.domain.action import PolicyState
from gangboard.domain.hold import AdmissionPolicy
from gangboard.domain.hold_manifest import BINDING_SPEC, POLICY_SPEC
from gangboard.domain.objects import Meta, ObjectRef
from gangboard.domain.owner import Owner
from gangboard.store import clusters
from gangboard.store.gang_objects import read_cluster_view
from gangboard.store.levers import (
    Served,
    read_all_levers,
    read_independent_owners,
    read_levers,
    read_served,
)
from gangboard.store.models import (
    AuditEntry,
    Cluster,
    Lease,
    LeverRecord,
    ResourceState,
    Switch,
    WatchedObject,
)
from gangboard.store.objects import pack
from gangboard.store.secrets import unseal
from tests.factories import NOW, make_cluster, make_resource, store_object

pytestmark = pytest.mark.django_db

DOCUMENT = {"server": "https://east", "token": "sesame-of-the-actor"}


@pytest.fixture
def east() -> Cluster:
    return clusters.add_cluster(name="east", document={}, server="https://east")


def install_hold(cluster: Cluster) -> None:
    """Make the rows of a poll that saw the Hold as gangboard installs it."""
    make_resource(cluster, HOLD.key)
    for resource, spec in ((POLICY, POLICY_SPEC), (BINDING, BINDING_SPEC)):
        make_resource(cluster, resource.key, version="v1")
        ref = ObjectRef(resource.group, resource.kind, "", "gangboard-hold", resource.plural)
        model = AdmissionPolicy(Meta("v1", ref, "1", 1, NOW), policy_digest(spec))
        store_object(cluster, resource.key, model)


def act(name: str = "east", **changes: Any) -> bool:
    values = {"document": DOCUMENT, "server": "https://east", "by": "ada", **changes}
    return clusters.set_actor(name=name, **values)


def test_a_new_cluster_is_read_only_and_all_switches_are_off(east: Cluster) -> None:
    levers = read_levers(east)
    assert (levers.cluster, levers.has_actor, levers.read_only) == ("east", False, "")
    assert (levers.parallelism, levers.native_honoured, levers.forced) == (False, False, False)
    assert levers.hold is PolicyState.NOT_SEEN


def test_an_actor_is_encrypted_and_audited_and_does_not_disturb_the_poll(east: Cluster) -> None:
    Lease.objects.create(cluster=east, holder="w", number=7, expires_at=NOW + timedelta(days=1))
    before, expires = east.data_version, NOW + timedelta(days=30)
    assert act(expires_at=expires)
    east.refresh_from_db()
    assert b"sesame" not in bytes(east.actor_credentials or b"")
    assert unseal(bytes(east.actor_credentials or b"")) == DOCUMENT
    assert (east.actor_expires_at, east.data_version) == (expires, before + 1)
    lease = Lease.objects.get()
    assert (lease.holder, lease.number) == ("w", 7)
    entry = AuditEntry.objects.get(event="switch")
    assert (entry.event, entry.actor_name, entry.cluster_name) == ("switch", "ada", "east")
    assert "may act from now on" in entry.sentence
    assert "sesame" not in str(entry.details) + entry.sentence
    assert read_levers(east).has_actor
    assert not act()
    assert AuditEntry.objects.first().sentence == (  # type: ignore[union-attr]
        "Cluster east: gangboard has new credentials for its actor."
    )


def test_an_actor_of_another_address_is_refused(east: Cluster) -> None:
    with pytest.raises(clusters.ClusterError, match="both identities must name the same address"):
        act(server="https://west")
    with pytest.raises(clusters.ClusterError, match="there is no cluster 'west'"):
        act("west")
    assert not AuditEntry.objects.filter(event="switch").exists()


def test_a_new_address_removes_the_actor(east: Cluster) -> None:
    act()
    clusters.replace_credentials(name="east", document={}, server="https://east")
    east.refresh_from_db()
    assert read_levers(east).has_actor
    clusters.replace_credentials(name="east", document={}, server="https://new")
    east.refresh_from_db()
    assert not read_levers(east).has_actor


def test_read_only_applies_to_a_cluster_or_to_all(east: Cluster) -> None:
    west = make_cluster("west")
    clusters.set_read_only(name="east", on=True, by="ada")
    cluster_levers = read_all_levers(Cluster.objects.all())
    assert cluster_levers[east.pk].read_only == "Cluster east is switched to read-only."
    assert cluster_levers[east.pk].read_only_command == "manage.py set_read_only east off"
    assert cluster_levers[west.pk].read_only == ""
    clusters.set_read_only(name="east", on=False, by="ada")
    clusters.set_read_only(name=None, on=True, by="bob")
    for levers in read_all_levers(Cluster.objects.all()).values():
        assert levers.read_only.startswith("gangboard is switched to read-only")
    assert Switch.objects.get().changed_by == "bob"
    clusters.set_read_only(name=None, on=False, by="bob")
    assert read_levers(west).read_only == ""
    assert [
        entry.sentence for entry in AuditEntry.objects.filter(event="switch").order_by("pk")
    ] == [
        "Cluster east: switch read-only is on.",
        "Cluster east: switch read-only is off.",
        "gangboard's switch read-only is on.",
        "gangboard's switch read-only is off.",
    ]
    west.refresh_from_db()
    assert west.data_version == 3, "every page shows the switch of all clusters"


def test_parallelism_is_switched_per_cluster(east: Cluster) -> None:
    clusters.set_parallelism(name="east", on=True, by="ada")
    east.refresh_from_db()
    assert read_levers(east).parallelism
    assert not read_levers(make_cluster("west")).parallelism
    assert AuditEntry.objects.get(event="switch").details == {"switch": "parallelism", "on": True}


def test_the_hold_stays_installed_until_a_change(east: Cluster) -> None:
    install_hold(east)
    assert read_levers(east).hold is PolicyState.INSTALLED
    ref = ObjectRef(POLICY.group, POLICY.kind, "", "gangboard-hold", POLICY.plural)
    changed = AdmissionPolicy(Meta("v1", ref, "2", 2, NOW), policy_digest({"mutations": []}))
    WatchedObject.objects.filter(resource=POLICY.key).update(data=pack(changed))
    assert read_levers(east).hold is PolicyState.CHANGED
    WatchedObject.objects.filter(resource=BINDING.key).delete()
    WatchedObject.objects.filter(resource=POLICY.key).delete()
    assert read_levers(east).hold is PolicyState.MISSING


def test_unreadable_bindings_are_not_reported_missing(east: Cluster) -> None:
    install_hold(east)
    WatchedObject.objects.filter(resource=BINDING.key).delete()
    ResourceState.objects.filter(resource=BINDING.key).update(state="forbidden")
    assert read_levers(east).hold is PolicyState.NOT_SEEN


def test_the_last_proof_counts(east: Cluster) -> None:
    early, late = NOW - timedelta(minutes=9), NOW - timedelta(minutes=2)
    record = LeverRecord.objects.create(cluster=east, lever="hold", proved_at=early)
    levers = read_levers(east)
    assert (levers.hold_proved_at, levers.hold_refuted_at) == (early, None)
    record.refuted_at = late
    record.save()
    levers = read_levers(east)
    assert (levers.hold_proved_at, levers.hold_refuted_at) == (early, late)
    LeverRecord.objects.update(proved_at=late, refuted_at=early)
    assert read_levers(east).hold_refuted_at is None


def test_the_native_lever_is_remembered_for_its_build(east: Cluster) -> None:
    LeverRecord.objects.create(cluster=east, lever="native", build="abc", proved_at=NOW)
    LeverRecord.objects.create(cluster=east, lever="native", build="", proved_at=NOW)
    assert not read_levers(east).native_honoured, "nobody knows which build this is"
    east.controller_build = "abc"
    assert read_levers(east).native_honoured
    assert read_levers(east).build == "abc"
    east.controller_build = "def"
    assert not read_levers(east).native_honoured, "JobSet was changed since"
    east.controller_build = "abc"
    LeverRecord.objects.update(refuted_at=NOW + timedelta(seconds=1))
    assert not read_levers(east).native_honoured


def test_the_number_of_queries_is_independent_of_the_clusters(
    east: Cluster, django_assert_num_queries: Any
) -> None:
    install_hold(east)
    for number in range(5):
        install_hold(make_cluster(f"more-{number}"))
    every = list(Cluster.objects.all())
    with django_assert_num_queries(4):
        levers = read_all_levers(every, forced=True)
    assert len(levers) == 6
    assert all(lever.forced and lever.hold is PolicyState.INSTALLED for lever in levers.values())


def test_served_resources_decide_the_printed_roles(east: Cluster) -> None:
    assert read_served(east) == Served("v1", frozenset()), "it was never asked"
    state = make_resource(east, POLICY.key, version="v1beta1")
    make_resource(east, "workloads.kueue.x-k8s.io", state="not-served")
    assert read_served(east) == Served("v1beta1", frozenset({"workloads.kueue.x-k8s.io"}))
    state.state, state.version = "not-served", ""
    state.save()
    assert read_served(east).policy_version == ""


def test_claims_are_listed_if_they_are_readable(east: Cluster) -> None:
    for namespace, name, claim in (
        ("a", "one", "x: Independent"),
        ("b", "two", "x: y"),
        ("a", "no", ""),
    ):
        ref = ObjectRef("jobset.x-k8s.io", "JobSet", namespace, name, f"uid-{name}")
        owner = Owner(Meta("v1alpha2", ref, "1", 1, timezone.now()), independent_claim=claim)
        store_object(east, "jobsets.jobset.x-k8s.io", owner)
    assert read_independent_owners(east.pk, Q()) == [("a", "one"), ("b", "two")]
    assert read_independent_owners(east.pk, Q(namespace="b")) == [("b", "two")]


@pytest.mark.parametrize(
    ("state", "visibility"),
    [
        (None, ""),
        ("listing", ""),
        ("forbidden", ""),
        ("failing", ""),
        ("unknown-version", ""),
        ("undecodable", ""),
        ("not-served", "not-served"),
        ("ok", "served"),
    ],
)
def test_unreadable_queues_are_not_reported_absent(
    east: Cluster, state: str | None, visibility: str
) -> None:
    if state is not None:
        make_resource(east, "workloads.kueue.x-k8s.io", state=state)
    assert read_cluster_view(east.pk).queue_visibility == visibility
