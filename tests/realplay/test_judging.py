"""Each invariant finds a history that breaks it, and none complains about an undisturbed relocation."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pkgutil import resolve_name
from typing import Any

import pytest

from tests.realplay import audit_log
from tests.realplay.audit_log import Sent
from tests.realplay.cases import Case, DeedKind, FollowUp, make_batches, make_case
from tests.realplay.deeds import Done
from tests.realplay.history import Change, History, Hold, Job, JobSet, Pod, Seen, with_requirement
from tests.realplay.judging import broken
from tests.realplay.planted.bugs import BUGS
from tests.realplay.play import JOB, Played, Record

CASE = Case(
    seed=1,
    number=0,
    jobs=2,
    pods=1,
    nodes=3,
    pods_per_node=1,
    racks=False,
    group=False,
    max_restarts=None,
    grace=0,
    own_affinity=False,
    leaves_rack=False,
    request_after=0.0,
    follow_up=FollowUp.NONE,
)
ASKED, ENDED, RESTED = 10.0, 20.0, 30.0
NOT_N0 = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["n0"]}
NOTE = '{"key":"kubernetes.io/hostname","values":["n0"]}'
EXCLUDED = (with_requirement("{}", NOT_N0),)

OWN = Job("job", JOB, False, False, 1, (), "", "")
MOVED = replace(OWN, terms=EXCLUDED, exclusion=NOTE, action="a1")
HELD = replace(OWN, is_suspended=True, action="a1")
SIBLING = replace(OWN, uid="sibling", name="run-w-1")
POD = Pod("p0", JOB, "job", "0", "n0", is_ready=True, is_ending=False, is_finished=False)
NEW_POD = replace(POD, uid="p1", node="n2")
SIBLING_POD = replace(POD, uid="s0", job="run-w-1", job_uid="sibling", node="n1")
HOLD = Hold("hold", "h", JOB, "a1")
JOBSET = JobSet("set", "run", False, False, 0)
BEGINNING: tuple[tuple[float, Seen], ...] = (
    (1.0, JOBSET),
    (1.0, OWN),
    (1.0, SIBLING),
    (2.0, POD),
    (2.0, SIBLING_POD),
)
MOVE: tuple[tuple[float, Seen | str], ...] = (
    (11.0, HOLD),
    (12.0, HELD),
    (12.5, "p0"),
    (13.0, replace(HELD, terms=EXCLUDED, exclusion=NOTE)),
    (14.0, "hold"),
    (15.0, MOVED),
    (15.5, NEW_POD),
)


def _record(*changes: tuple[float, Seen | str], **options: Any) -> Record:
    """Return the record of one relocation. A text is the uid of a deleted object."""
    entries = sorted((*BEGINNING, *changes), key=lambda entry: entry[0])
    history = History(
        [
            Change(at, state, None) if isinstance(state, str) else Change(at, state.uid, state)
            for at, state in entries
        ]
    )
    actions = [_played()]
    return Record(CASE, "ns", history, ASKED, actions=actions, rested_at=[RESTED], **options)


def _played(state: str = "verified", message: str = "", **options: Any) -> Played:
    message = message or f"Job {JOB} was on n0, runs on n2 now; siblings untouched."
    finished_at = datetime.fromtimestamp(ENDED, UTC).isoformat()
    row = {
        "id": "a1",
        "state": state,
        "message": message,
        "finished_at": finished_at,
        "after": {"nodes": "n2"},
    }
    return Played("relocate", row, ASKED, frozenset({"n0"}), NOT_N0, **options)


def _with(record: Record, *actions: Played) -> Record:
    return replace(record, actions=list(actions))


def test_an_undisturbed_relocation_breaks_nothing() -> None:
    assert broken(_record(*MOVE)) == {}


@pytest.mark.parametrize(
    ("invariant", "record"),
    [
        (
            "every_action_ends",
            _with(
                _record(*MOVE),
                replace(_played(), row={**_played().row, "state": "sent", "finished_at": None}),
            ),
        ),
        ("the_jobset_comes_to_rest", _record(*MOVE, problems=["not within 90 s"])),
        ("siblings_are_untouched", _record(*MOVE, (16.0, "s0"))),
        ("no_index_runs_twice", _record((11.0, MOVED), (11.0, NEW_POD), (12.0, "p0"))),
        ("no_hold_is_left", _record(*MOVE, (16.0, replace(HOLD, uid="other")))),
        ("no_job_stays_suspended", _record(*MOVE, (25.0, replace(MOVED, is_suspended=True)))),
        ("verified_is_true", _record(*MOVE[:-1], (15.5, replace(NEW_POD, node="n0")))),
        ("verified_is_true", _record(*MOVE[:-1], (15.5, replace(NEW_POD, is_ready=False)))),
        ("verified_is_true", _record(*MOVE[:-2], (15.0, OWN), (15.5, NEW_POD))),
        ("verified_is_true", _record(*MOVE[:-1], (15.5, replace(NEW_POD, node="n1")))),
        (
            "a_failure_tells_what_is_true",
            _with(_record(*MOVE), _played("refused", "It cannot be. Nothing was sent.")),
        ),
        (
            "a_failure_tells_what_is_true",
            _with(
                _record((11.0, HOLD), (12.0, HELD), (12.5, "p0")),
                _played("failed", f"The server failed. Job {JOB} was resumed."),
            ),
        ),
        (
            "a_failure_tells_what_is_true",
            _with(
                _record(),
                _played("failed", "Its pods did not end. It stays suspended."),
            ),
        ),
        (
            "a_failure_tells_what_is_true",
            _with(_record(), _played("gone", f"Job {JOB} was created again meanwhile.")),
        ),
        (
            "no_right_is_missing",
            _with(_record(), _played("failed", 'jobs "j" is forbidden: User "a" cannot get it.')),
        ),
        (
            "what_fits_is_not_refused",
            _with(_record(), _played("refused", "Nothing else fits: it has 1 pod.")),
        ),
        ("what_fits_is_not_refused", _with(_record(*MOVE), _played(fits=False))),
        (
            "what_fits_is_not_refused",
            _with(_record(), _played("failed", "The server was away.", in_calm=True)),
        ),
        (
            "the_exclusion_is_as_noted",
            _record(*MOVE, (25.0, replace(MOVED, exclusion=""))),
        ),
        (
            "the_exclusion_goes",
            _with(_record(*MOVE), replace(_played(), requirement=None, left=frozenset())),
        ),
    ],
)
def test_a_broken_invariant_is_found(invariant: str, record: Record) -> None:
    assert invariant in broken(record)


@pytest.mark.parametrize(
    ("deed", "changes"),
    [
        (DeedKind.PAUSE_JOBSET, (*MOVE, (16.0, "s0"))),
        (DeedKind.DELETE_HOLD, (*MOVE, (15.6, POD), (17.0, "p0"))),
    ],
)
def test_what_people_did_is_no_fault_of_gangboard(
    deed: DeedKind, changes: tuple[tuple[float, Seen | str], ...]
) -> None:
    names = {"siblings_are_untouched", "no_index_runs_twice"}
    assert names & broken(_record(*changes)).keys()
    assert not names & broken(_record(*changes, deeds=[Done(deed, 11.0)])).keys()


def test_a_case_without_an_action_has_its_cause() -> None:
    record = _with(_record(problems=["ApiError: 503"]))
    assert broken(record) == {"the_jobset_comes_to_rest": ["ApiError: 503"]}


def test_a_restarted_jobset_may_replace_pods() -> None:
    record = _record(*MOVE, (16.0, "s0"), (16.0, replace(JOBSET, restarts=1)))
    assert "siblings_are_untouched" not in broken(record)


def test_requests_of_the_audit_log() -> None:
    record = _record(*MOVE)
    write = Sent("a1", "patch", f"/apis/batch/v1/namespaces/ns/jobs/{JOB}", "{}")
    removal = Sent("a1", "delete", "/apis/gangboard.dev/v1alpha1/namespaces/ns/holds/h", "{}")
    assert audit_log.broken(record, [write, removal, removal]) == {}
    assert audit_log.broken(record, None) == {}
    assert "no_write_is_sent_twice" in audit_log.broken(record, [write, write])
    sibling = replace(write, path=write.path.replace(JOB, "run-w-1"))
    assert "only_the_job_and_its_hold_are_written" in audit_log.broken(record, [write, sibling])
    assert "every_write_is_recorded" in audit_log.broken(record, [])


def test_a_seed_repeats_its_cases() -> None:
    once, again = list(make_batches(7, 12)), list(make_batches(7, 12))
    assert once == again
    assert once != list(make_batches(8, 12))
    assert [case.number for batch in once for case in batch.cases] == list(range(12))


def test_the_cases_of_a_hundred_seeds_differ() -> None:
    cases = [make_case(seed, 0) for seed in range(100)]
    assert all(case.jobs * case.pods <= case.nodes * case.pods_per_node for case in cases)
    assert {case.follow_up for case in cases} == set(FollowUp)
    assert {deed.kind for case in cases for deed in case.deeds} == set(DeedKind)
    assert {case.leaves_rack for case in cases} == {True, False}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_replaces_a_function_of_gangboard(bug: str) -> None:
    name, replacement = BUGS[bug]
    assert callable(resolve_name(f"gangboard.{name}"))
    assert resolve_name(f"gangboard.{name}") is not replacement
