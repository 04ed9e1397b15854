"""Which Jobs are in which groups."""

from __future__ import annotations

from gangboard.domain.health import Health
from gangboard.domain.verdict import JobState, MemberState
from gangboard.pages.gang.groups import MatrixCell, group_matrix
from tests.factories import make_job, make_members

NONE = MatrixCell(0, 0)


def jobs(**options: str) -> tuple[JobState, ...]:
    """Return Jobs by name, each of the role that is given."""
    return tuple(make_job(name, part=fragment) for name, fragment in options.items())


def members(
    job: str, number: int, group: str, state: Health = Health.RUNNING
) -> tuple[MemberState, ...]:
    return make_members(job, number, state, group=group)


def test_a_group_may_span_two_roles() -> None:
    result = group_matrix(
        jobs(init="init", leader="leader", worker="worker"),
        (
            *members("init", 1, "alone"),
            *members("leader", 1, "together"),
            *members("worker", 2, "together"),
            *members("worker", 1, "together", Health.WAITING),
        ),
    )
    assert result is not None
    assert (result.of_roles, result.columns) == (False, ("init", "leader", "worker"))
    assert [(row.group, row.cells) for row in result.rows] == [
        ("alone", (MatrixCell(1, 1), NONE, NONE)),
        ("together", (NONE, MatrixCell(1, 1), MatrixCell(3, 2))),
    ]


def test_pods_without_a_group_come_last() -> None:
    result = group_matrix(
        jobs(init="init", leader="leader", worker="worker"),
        (
            *members("init", 1, ""),
            *members("leader", 1, "together"),
            *members("worker", 3, "together"),
        ),
    )
    assert result is not None
    assert [row.group for row in result.rows] == ["together", ""]
    assert result.rows[1].cells == (MatrixCell(1, 1), NONE, NONE)


def test_groups_of_one_role_each_need_no_table() -> None:
    assert (
        group_matrix(
            jobs(a="leader", b="worker", c="worker"),
            (*members("a", 1, "one"), *members("b", 2, "other"), *members("c", 2, "other")),
        )
        is None
    )


def test_pods_without_a_group_form_no_group() -> None:
    result = jobs(a="leader", b="worker")
    assert group_matrix(result, (*members("a", 1, ""), *members("b", 2, ""))) is None


def test_more_than_twelve_jobs_are_shown_by_role() -> None:
    many = tuple(make_job(f"w-{index}", part="worker") for index in range(12))
    pods = (
        *(pod for job in many for pod in members(job.ref.name, 2, "ring")),
        *members("leader", 1, "ring", Health.WAITING),
    )
    result = group_matrix((make_job("leader", part="leader"), *many), pods)
    assert result is not None
    assert (result.of_roles, result.columns) == (True, ("leader", "worker"))
    assert result.rows[0].cells == (MatrixCell(1, 0), MatrixCell(24, 24))
