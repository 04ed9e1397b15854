"""The pods of a gang by Job or role: whole ones are folded, the bad ones named, equal ones counted."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gangboard.domain.health import Health
from gangboard.domain.verdict import NOT_STARTING, MemberState
from gangboard.pages.gang.groups import group_by_scheduling
from gangboard.readmodels.kubectl import KubectlPlace, member_command
from gangboard.readmodels.members import EVERY, Branch, make_branches, member_row
from tests.factories import NOW, make_members

WAITING: dict[str, Any] = {"state": Health.WAITING, "reason": "Unschedulable"}


def branches(*members: MemberState, opened: tuple[str, ...] = ()) -> tuple[Branch, ...]:
    return make_branches([member_row(member) for member in members], opened=opened)


def test_a_complete_job_is_one_line_until_opened() -> None:
    members = make_members("a", 70, since=NOW)
    (folded,) = branches(*members)
    assert (folded.name, folded.pods, folded.ready, folded.rows) == ("a", 70, 70, ())
    assert [(item.count, item.state.label) for item in folded.folded] == [(70, "Ready")]
    for opened in (("a",), (EVERY,)):
        (branch,) = branches(*members, opened=opened)
        assert (len(branch.rows), branch.folded, branch.is_open) == (70, (), True)


def test_a_small_incomplete_job_shows_all_its_pods() -> None:
    members = (*make_members("a", 3), *make_members("a", 2, **WAITING))
    (branch,) = branches(
        *(replace(item, ref=replace(item.ref, uid=f"u{n}")) for n, item in enumerate(members))
    )
    assert (len(branch.rows), branch.folded) == (5, ())
    assert branch.worst.label == "Waiting"


def test_failing_pods_are_named_and_equal_pods_counted() -> None:
    waiting = make_members("a", 100, **WAITING)
    ready = make_members("a", 200)[100:]
    failed = make_members("a", 201, Health.FAILED, label="failed", reason="Error")[200:]
    (branch,) = branches(*waiting, *ready, *failed)
    assert [row.name for row in branch.rows] == ["a-0", "a-1", "a-2", "a-3", "a-200"]
    assert [(item.count, item.state.label, item.reason) for item in branch.folded] == [
        (96, "Waiting", "Unschedulable"),
        (100, "Ready", ""),
    ]
    assert branch.worst.label == "Failed"


def test_the_age_of_a_job_state_is_its_last_ready_or_first_failing_pod() -> None:
    early, late = NOW - timedelta(hours=2), NOW - timedelta(hours=1)
    first, second = make_members("a", 2)
    (full_branch,) = branches(replace(first, since=early), replace(second, since=late))
    assert full_branch.since == late
    short = replace(second, state=Health.WAITING, since=early)
    (broken,) = branches(replace(first, since=late), short, replace(short, since=late))
    assert broken.since == early
    (untold,) = branches(first)
    assert untold.since is None


def test_pods_without_a_job_are_grouped_by_replica() -> None:
    members = (
        *(replace(member, job="", part="llama-0") for member in make_members("llama-0", 2)),
        *(replace(member, job="", part="llama-1") for member in make_members("llama-1", 1)),
        *(replace(member, job="") for member in make_members("alone", 1)),
    )
    assert [(member.name, member.pods) for member in branches(*members)] == [
        ("llama-0", 2),
        ("llama-1", 1),
        ("", 1),
    ]


def test_succeeded_pods_are_counted_separately() -> None:
    (branch,) = branches(*make_members("a", 4, Health.SUCCEEDED, label="succeeded"))
    assert (branch.ready, branch.succeeded, branch.worst.label) == (0, 4, "Succeeded")


@pytest.mark.parametrize(
    ("fields", "command"),
    [
        ({}, "kubectl logs -n research a-0"),
        # The pod had a node, so its log from before its end exists.
        (
            {"state": Health.FAILED, "node": "n", "container": "main", "exit_code": 1},
            "kubectl logs -n research a-0 -c main",
        ),
        # It waits to be started again: only its last end has words.
        (
            {
                "state": Health.DEGRADED,
                "node": "n",
                "label": NOT_STARTING,
                "container": "main",
                "exit_code": 1,
            },
            "kubectl logs -n research a-0 -c main --previous",
        ),
        # An image that cannot be pulled: it never ran.
        (
            {"state": Health.DEGRADED, "node": "n", "label": NOT_STARTING, "container": "main"},
            "kubectl describe pod -n research a-0",
        ),
        ({"state": Health.WAITING}, "kubectl describe pod -n research a-0"),
    ],
)
def test_each_pod_has_its_log_command(fields: dict[str, Any], command: str) -> None:
    (member,) = make_members("a", 1, **fields)
    result = member_command("research", member_row(member), KubectlPlace("east", "prod/admin"))
    assert result is not None
    assert result.text == command.replace("kubectl", "kubectl --context prod/admin")


def test_a_cluster_without_a_context_is_named_beside_the_command() -> None:
    (member,) = make_members("a", 1, state=Health.WAITING, node="")
    result = member_command("research", member_row(member), KubectlPlace("east"))
    assert result is not None
    assert (result.meaning, result.text) == (
        "Describe in cluster east",
        "kubectl describe pod -n research a-0",
    )


def test_commands_contain_no_shell_metacharacters() -> None:
    (member,) = make_members("$(reboot)", 1)
    assert (
        member_command("research", member_row(member), KubectlPlace("east", "prod/admin")) is None
    )


def test_jobs_with_equal_states_share_a_line() -> None:
    ganged = [(f"w-{n}", "as a gang", "x") for n in range(5)]
    single = ("driver", "pod by pod", "y")
    first, second = group_by_scheduling([ganged[0], single, *ganged[1:]])
    assert (first.label, first.names, first.unnamed_count) == (
        "as a gang",
        ("w-0", "w-1", "w-2"),
        2,
    )
    assert (second.reason, second.names, second.unnamed_count) == ("y", ("driver",), 0)
