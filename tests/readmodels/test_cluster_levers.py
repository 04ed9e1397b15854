"""Levers on the Clusters page: their readiness and the next step."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gangboard.domain.action import ClusterLevers, PolicyState
from gangboard.pages.clusters.lever_board import LeverRow, lever_board
from gangboard.pages.clusters.queries import cluster_detail, list_clusters
from gangboard.store.access import Scope, Viewer
from tests.factories import NOW, make_cluster, make_resource

READY = ClusterLevers(cluster="east", has_actor=True, hold=PolicyState.INSTALLED)
POLICIES = "mutatingadmissionpolicies.admissionregistration.k8s.io"
INSTALL = "manage.py print_rbac --cluster east | kubectl apply -f -"
SET_ACTOR = "manage.py set_actor east --kubeconfig FILE"


def row(lever: str, levers: ClusterLevers = READY, not_served: tuple[str, ...] = ()) -> LeverRow:
    rows = lever_board(levers, not_served).rows
    return next(row for row in rows if row.lever == lever)


def test_levers_are_listed_in_order_of_preference() -> None:
    rows = lever_board(READY, ()).rows
    assert [row.lever for row in rows] == [
        "suspend",
        "exclusion",
        "volcano_command",
        "kueue-active",
        "kueue-exclusion",
        "native",
        "hold",
        "hold-exclusion",
        "hold-cordon",
        "parallelism",
    ]


def test_unserved_kinds_have_no_lever() -> None:
    absent = ("workloads.kueue.x-k8s.io", "jobsets.jobset.x-k8s.io", "jobs.batch.volcano.sh")
    rows = lever_board(READY, absent).rows
    assert [row.lever for row in rows] == ["suspend", "exclusion"]


@pytest.mark.parametrize(
    ("changes", "ready", "text", "sentence"),
    [
        (
            {},
            True,
            "unproved",
            "Installed, unproved: it is proved each time before a Job is suspended.",
        ),
        ({"hold_proved_at": NOW}, True, "ready", "Installed and proved."),
        (
            {"hold_proved_at": NOW - timedelta(hours=1), "hold_refuted_at": NOW},
            False,
            "refuted",
            "Installed; not in force at the last proof.",
        ),
        (
            {"hold": PolicyState.MISSING, "hold_sentence": "the policy is not installed here"},
            False,
            "missing",
            "The policy is not installed here.",
        ),
        (
            {
                "hold": PolicyState.CHANGED,
                "hold_sentence": "the policy was changed",
                "hold_proved_at": NOW,
            },
            False,
            "missing",
            "The policy was changed.",
        ),
        (
            {"hold": PolicyState.NOT_SEEN, "hold_sentence": "only a proof can tell"},
            False,
            "unproved",
            "Only a proof can tell.",
        ),
        (
            {
                "hold": PolicyState.NOT_SEEN,
                "hold_sentence": "only a proof can tell",
                "hold_proved_at": NOW,
            },
            True,
            "ready",
            "Only a proof can tell.",
        ),
    ],
)
def test_installed_proved_and_in_force_are_distinct(
    changes: dict[str, Any], ready: bool, text: str, sentence: str
) -> None:
    result = row("hold", replace(READY, **changes))
    assert (result.ready, result.face.word, result.sentence) == (ready, text, sentence)
    assert result.proved_at == changes.get("hold_proved_at")
    assert result.refuted_at == changes.get("hold_refuted_at")


def test_a_claimed_lever_counts_after_its_proof() -> None:
    claimed = row("native", replace(READY, build="EC375E2361C61A1F"))
    assert (claimed.ready, claimed.face.word) == (False, "unproved")
    assert claimed.sentence == (
        "For JobSets that ask for Independent: this build of JobSet (EC375E2361C6) was not seen to "
        "honour it."
    )
    assert row("native", replace(READY, native_honoured=True)).ready


@pytest.mark.parametrize(
    "shut", [{"has_actor": False}, {"read_only": "Cluster east is switched to read-only."}]
)
def test_no_lever_is_ready_without_an_actor(shut: dict[str, Any]) -> None:
    everything = replace(READY, parallelism=True, native_honoured=True, hold_proved_at=NOW, **shut)
    board = lever_board(everything, ())
    assert not any(row.ready for row in board.rows)
    assert board.sentence in (
        "gangboard has no actor here, so it can only read this cluster.",
        "Cluster east is switched to read-only.",
    )


@pytest.mark.parametrize(
    ("changes", "not_served", "command"),
    [
        ({}, (), ""),
        ({"hold": PolicyState.MISSING, "has_actor": False}, (), INSTALL),
        ({"hold": PolicyState.CHANGED}, (), INSTALL),
        ({"has_actor": False}, (), SET_ACTOR),
        ({"hold": PolicyState.MISSING, "has_actor": False}, (POLICIES,), SET_ACTOR),
        ({"hold": PolicyState.MISSING}, (POLICIES,), ""),
        ({"hold": PolicyState.NOT_SEEN}, (), ""),
    ],
)
def test_the_next_step_has_one_command(
    changes: dict[str, Any], not_served: tuple[str, ...], command: str
) -> None:
    assert lever_board(replace(READY, **changes), not_served).command == command


@pytest.mark.django_db
def test_a_namespace_viewer_sees_the_levers_without_the_command(owner: Viewer) -> None:
    cluster = make_cluster("east", actor_expires_at=NOW + timedelta(days=2))
    make_resource(cluster, "holds.gangboard.dev", state="not-served")
    (state,) = list_clusters(viewer=owner, now=NOW)
    assert state.levers.command == INSTALL
    assert state.actor_expiry is not None
    assert state.actor_expiry.sentence == "The token of the actor expires in 2 d."
    assert state.actor_expiry.tone == "degraded"
    narrow = Viewer(3, "rene", (Scope(cluster.pk, "research", "operator"),))
    observed = cluster_detail("east", viewer=narrow, now=NOW)
    assert observed is not None
    assert observed.levers.rows == state.levers.rows
    assert (observed.levers.command, observed.actor_expiry, observed.claims) == ("", None, ())
