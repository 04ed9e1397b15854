"""Names that begin with another name: no object moves to the owner with the shorter name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gangboard.actions.verify.pod_checks import sibling_changes
from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.gang_units import units_of
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.facts.findings import unit_finding
from gangboard.facts.gang import Linked
from gangboard.facts.preemption import last_preemption, may_be_pod_of
from gangboard.rules.admission.job_suspended import RULE
from tests.domain_objects import (
    NOW,
    a_group,
    a_hold,
    a_job,
    a_jobset,
    a_pod,
    a_role,
    a_unit,
    ago,
    an_entry,
    an_event,
    facts_of,
)
from tests.gangs import a_gang, assemble

LONG = "x" * 63


@pytest.mark.parametrize(
    ("job", "indexed", "pod", "is_own"),
    [
        # As observed: <job>-<index>-<5 characters>, <job>-<5 characters> (jobset-kueue.md §1.5).
        ("run-w-0", True, "run-w-0-1-x7k2p", True),
        ("run-w-0", True, "run-w-0-12-x7k2p", True),
        ("run-w-0", False, "run-w-0-x7k2p", True),
        ("run-w-0", True, "run-w-0-0-1-x7k2p", False),
        ("run-w-0-0", True, "run-w-0-0-1-x7k2p", True),
        ("run-w-0", False, "run-w-0-1-x7k2p", False),
        ("run-w-0", True, "run-w-0-x7k2p", False),
        ("run-w-0", True, "run-w-01-x7k2p", False),
        ("run-w-0", True, "run-w-0-01-x7k2p", False),
        ("run-w-0", True, "run-w-0-99-x7k2p", False),  # it has 50 completions
        ("run", True, "run.w-1-x7k2p", False),
        ("run", False, "runs-x7k2p", False),
        # No vowels, no 0, 1, 3: what controllers generate never has them.
        ("run-w-0", True, "run-w-0-1-x7k2a", False),
        ("run-w-0", False, "run-w-0-worker", False),
        ("run-w-0", True, "run-w-0-1-", False),
        ("run-w-0", True, "", False),
        # The prefix before the five characters is cut to 58.
        (LONG, True, "x" * 55 + "-0-" + "x7k2p", True),
        (LONG, True, "x" * 54 + "-10-" + "x7k2p", True),
        (LONG, True, "x" * 54 + "-0-" + "x7k2p", False),
        (LONG, False, "x" * 58 + "x7k2p", True),
        ("x" * 57, False, "x" * 57 + "-x7k2p", True),
        ("x" * 58, False, "x" * 58 + "x7k2p", True),
    ],
)
def test_pod_names_are_matched_to_their_owner(
    job: str, indexed: bool, pod: str, is_own: bool
) -> None:
    assert may_be_pod_of(a_job(job, pods=50, indexed=indexed), pod) is is_own


def _waiting(job: Owner) -> list[Pod]:
    """Return its pods, all without a node. Their names and uids match no other object."""
    name = job.meta.ref.name
    return [
        a_pod(f"waits-{number}", of=job, uid=f"pod-{number}-of-{name}")
        for number in range(job.desired)
    ]


def test_a_preemption_of_a_deleted_pod_belongs_to_its_job() -> None:
    jobset = a_jobset("run", a_role("w", jobs=1), a_role("w-0", jobs=1))
    short, long = (a_job(name, of=jobset) for name in ("run-w-0", "run-w-0-0"))
    deleted = a_pod("run-w-0-0-1-x7k2p", uid="gone")
    event = replace(an_event(deleted, "Preempted"), related=ObjectRef("", "Pod", "b", "taker", "t"))
    objects: list[Linked] = [short, long, *_waiting(short), *_waiting(long)]
    facts = assemble(jobset, objects, events=[event], now=NOW)
    result = {unit.name: last_preemption(unit) for unit in units_of(facts)}
    assert result["run-w-0"] is None
    assert result["run-w-0-0"] is not None
    reported = assess(facts).memory
    assert (reported["run-w-0"].preempted_at, reported["run-w-0-0"].preempted_at) == (None, ago(30))


def test_a_name_that_two_jobs_can_have_given_is_nobodys() -> None:
    """`run-0` is Indexed and `run-0-0` is not: pod 0 of the one is called as any pod of the other."""
    jobset = a_jobset("run", a_role("a"), a_role("b"))
    first, second = a_job("run-0", of=jobset), a_job("run-0-0", of=jobset, indexed=False)
    event = an_event(a_pod("run-0-0-x7k2p", uid="gone"), "Preempted")
    objects: list[Linked] = [first, second, *_waiting(first), *_waiting(second)]
    facts = assemble(jobset, objects, events=[event], now=NOW)
    assert {last_preemption(unit) for unit in units_of(facts)} == {None}


NAMES = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
SEPARATORS = st.sampled_from(["-", ".", "", "-0-", "-0", "0", "-0-x7k2p"])
ENDS = st.from_regex(r"([a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?)?", fullmatch=True)
RANDOM = st.text("bcdfghjklmnpqrstvwxz2456789", min_size=5, max_size=5)


@st.composite
def alike(draw: st.DrawFn) -> tuple[str, str]:
    short = draw(NAMES)
    long = f"{short}{draw(SEPARATORS)}{draw(ENDS)}"
    assume(long != short)
    return short, long


def _pod_name(job: Owner, index: int, random: str) -> str:
    """As the controller generates it; short names are never cut."""
    middle = f"-{index}" if job.indexed else ""
    return f"{job.meta.ref.name}{middle}-{random}"


@given(alike(), st.booleans(), st.booleans(), st.integers(0, 3), RANDOM, st.booleans())
def test_jobs_get_no_events_of_pods_of_the_other_job(
    names: tuple[str, str],
    first: bool,
    second: bool,
    index: int,
    random: str,
    of_long: bool,
) -> None:
    jobset = a_jobset("set", a_role("a", pods=4), a_role("b", pods=4), uid="the-jobset")
    jobs = [
        a_job(name, of=jobset, pods=4, indexed=indexed)
        for name, indexed in zip(names, (first, second), strict=True)
    ]
    maker = jobs[of_long]
    deleted = a_pod(_pod_name(maker, index, random), uid="gone")
    event = an_event(deleted, "Preempted")
    pods = [
        a_pod(f"waits-{number}-{job.meta.ref.uid}", of=job) for job in jobs for number in range(4)
    ]
    facts = assemble(jobset, [*jobs, *pods], events=[event], now=NOW)
    reported = {unit.name for unit in units_of(facts) if last_preemption(unit) is not None}
    assert reported <= {maker.meta.ref.name}
    assert may_be_pod_of(maker, deleted.meta.ref.name)
    if first is second:
        assert reported == {maker.meta.ref.name}


@given(alike(), st.booleans(), RANDOM)
def test_objects_of_one_owner_never_move_to_the_other(
    names: tuple[str, str], as_jobsets: bool, random: str
) -> None:
    """Pods, events, groups, Holds and entries in queues, of two owners of one namespace."""
    graph = OwnershipGraph()
    objects: dict[str, list[Any]] = {}
    for name in names:
        owner = a_jobset(name, uid=f"owner-{name}") if as_jobsets else None
        job = a_job(f"{name}-w-0" if owner else name, uid=f"job-{name}", of=owner)
        group = a_group(f"{name}-ring", uid=f"group-{name}", of=owner or job)
        pod = a_pod(_pod_name(job, 0, random), uid=f"pod-{name}", of=job, group=f"{name}-ring")
        objects[name] = [
            *([owner] if owner else []),
            job,
            group,
            pod,
            a_hold(job, name=f"{name}-hold", uid=f"hold-{name}", owner_uid=f"owner-{name}"),
            an_entry(owner or job, f"{name}-entry", uid=f"entry-{name}"),
        ]
    event = an_event(objects[names[0]][-3], "FailedScheduling", uid="event")
    for obj in [item for name in names for item in objects[name]]:
        graph.put(obj)
    for name in names:
        root = objects[name][0].meta.ref.uid
        held = f"hold-{name}"
        own = {item.meta.ref.uid for item in objects[name]} - ({held} if not as_jobsets else set())
        assert set(graph.members(root)) == own
    assert graph.gangs_of_event(event) == {objects[names[0]][0].meta.ref.uid}
    for name, other in (names, names[::-1]):
        job = next(item for item in objects[name] if item.meta.ref.uid == f"job-{name}")
        holds = [
            entry for item in objects.values() for entry in item if entry.meta.ref.kind == "Hold"
        ]
        entries = [
            entry
            for item in objects.values()
            for entry in item
            if entry.meta.ref.kind == "Workload"
        ]
        looked = a_gang(objects[name][0], (job,), holds=tuple(holds), entries=tuple(entries))
        result = looked.hold_of(job)
        assert (result.meta.ref.uid if result else "") == (f"hold-{name}" if as_jobsets else "")
        assert {entry.meta.ref.uid for entry in looked.queue.entries} == {f"entry-{name}"}
        assert all(hold.meta.ref.uid != f"hold-{other}" for hold in looked.holds_on(job))


@given(alike(), RANDOM, st.booleans())
def test_the_end_of_one_job_explains_no_loss_of_the_other(
    names: tuple[str, str], random: str, is_long: bool
) -> None:
    ended = names[not is_long]
    pod = f"{names[is_long]}-0-{random}"
    before = {"uid-pod": [pod, 0, f"uid-{names[is_long]}"]}
    assert sibling_changes(before, (), finished=frozenset({f"uid-{ended}"})) == [
        f"Sibling pod {pod} is gone."
    ]
    assert sibling_changes(before, (), finished=frozenset({f"uid-{names[is_long]}"})) == []


def test_records_of_an_older_release_explain_no_loss() -> None:
    before = {"uid-pod": ["run-w-0-0-x7k2p", 0]}
    assert sibling_changes(before, (), finished=frozenset({"run-w-0"})) == [
        "Sibling pod run-w-0-0-x7k2p is gone."
    ]


@pytest.mark.parametrize(
    ("message", "scoped"),
    [
        ("Job run waits.", False),
        ("It waits for run.", False),
        ("Job run.x waits.", True),
        ("Job run-x waits.", True),
        ("Job a.run waits.", True),
    ],
)
def test_a_longer_name_does_not_name_the_unit(message: str, scoped: bool) -> None:
    jobset = a_jobset("set", a_role("a"), a_role("b"))
    given_: dict[str, Any] = {"name": "run", "noun": "Job", "desired": 2}
    unit = a_unit(facts_of(jobset, a_job("run", of=jobset)), **given_)
    assert unit_finding(RULE, unit, message).message == (
        f"Job run: {message}" if scoped else message
    )
