"""What gangboard says of states that real control planes were brought into.

The expectations are what a person on call should be told of a state of that name (state_list in
tests/controlplane), the numbers those that the state was made with.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.diagnosis.captured import captures, verdicts

# State → (gang, code, desired, created, scheduled, ready). Profiles that differ stand apart.
EVERYWHERE: dict[str, tuple[str, str, int, int, int, int]] = {
    "job-running": ("Job/train", "running", 4, 4, 4, 4),
    "job-starting": ("Job/train", "starting", 2, 2, 2, 0),
    "job-unready": ("Job/train", "starting", 2, 2, 2, 0),
    "job-image-pull": ("Job/train", "image-pull", 2, 2, 2, 0),
    "job-container-config": ("Job/train", "container-config", 2, 2, 2, 0),
    "job-crash-loop": ("Job/train", "crash-loop", 2, 2, 2, 0),
    "job-init-crash-loop": ("Job/train", "init-failing", 2, 2, 2, 0),
    "job-suspended": ("Job/train", "suspended", 2, 0, 0, 0),
    "job-suspended-after-running": ("Job/train", "suspended", 2, 0, 0, 0),
    "job-completed": ("Job/train", "succeeded", 2, 2, 2, 0),
    "job-failed": ("Job/train", "failed", 2, 2, 0, 0),
    "job-partly-placed": ("Job/train", "partly-placed", 6, 6, 4, 4),
    "jobset-running": ("JobSet/run", "running", 5, 5, 5, 5),
    "jobset-resumed": ("JobSet/run", "running", 5, 5, 5, 5),
    "jobset-restarted": ("JobSet/run", "running", 2, 2, 2, 2),
    "jobset-restarting": ("JobSet/run", "restarting", 2, 2, 2, 0),
    "jobset-suspended": ("JobSet/run", "suspended", 5, 0, 0, 0),
    "jobset-suspended-after-running": ("JobSet/run", "suspended", 5, 0, 0, 0),
    "jobset-completed": ("JobSet/run", "succeeded", 2, 2, 2, 0),
    "jobset-failed": ("JobSet/run", "failed", 2, 2, 0, 0),
    "jobset-failed-after-restarts": ("JobSet/run", "failed", 2, 2, 0, 0),
    "jobset-depends-on": ("JobSet/run", "dependency-waiting", 3, 1, 1, 0),
    "jobset-image-pull": ("JobSet/run", "image-pull", 5, 5, 5, 1),
    "jobset-shared-group": ("JobSet/run", "running", 5, 5, 5, 5),
    "group-running": ("PodGroup/ring", "running", 3, 3, 3, 3),
    "group-basic": ("PodGroup/ring", "running", 3, 3, 3, 3),
    "group-composite": ("CompositePodGroup/serve-0", "running", 4, 4, 4, 4),
    "group-scheduling-gate": ("PodGroup/ring", "scheduling-gated", 2, 2, 0, 0),
    "group-mixed-schedulers": ("PodGroup/ring", "mixed-schedulers", 2, 2, 0, 0),
    "job-basic-running": ("Job/train", "running", 3, 3, 3, 3),
    "job-basic-partly-placed": ("Job/train", "partly-placed", 6, 6, 4, 4),
    "job-at-quorum": ("Job/train", "below-size", 6, 6, 4, 4),
}
GANGS: dict[str, tuple[str, str, int, int, int, int]] = {
    "job-quota-refused": ("Job/train", "pod-creation-refused", 4, 2, 0, 0),
    "job-member-lost": ("Job/train", "lost-members", 4, 4, 3, 3),
    "job-node-silent": ("Job/train", "node-lost", 4, 4, 4, 3),
}
PLAIN: dict[str, tuple[str, str, int, int, int, int]] = {
    # Without a gang the pods that exist run already.
    "job-quota-refused": ("Job/train", "pod-creation-refused", 4, 2, 2, 2),
}
QUORUMS = {
    "1.36/jobset-running": 4,  # two Jobs of two; the driver's single pod makes no gang
    "1.36/job-running": 4,
    "1.37/job-running": 4,
    "1.37/job-at-quorum": 2,
    "1.37/job-basic-running": None,
    "1.37/jobset-running": None,  # 1.37 makes no group for Jobs of a JobSet
    "1.37/jobset-shared-group": 5,
    "1.37/group-composite": 4,
    "plain/job-running": None,
}
# Silence becomes news when it has lasted: (state, seconds) → (gang, code).
LATER = {
    ("group-below-quorum", 60): ("PodGroup/ring", "below-quorum"),
    ("group-missing", 60): ("Pod/ring-0", "podgroup-missing"),
    ("job-scheduler-of-nobody", 120): ("Job/train", "not-attempted"),
}
MODES = {
    "1.36/jobset-running": {"gang", "not-eligible"},
    "1.37/jobset-running": {"owned"},
    "plain/jobset-running": {"pod-by-pod"},
    "1.36/job-running": {"gang"},
    "1.37/job-running": {"gang"},
    "1.37/job-basic-running": {"basic"},
    "1.37/job-suspended": {"gang"},  # a Job created suspended does get its group
    "1.36/job-suspended": {"gang"},
    "1.36/jobset-suspended": {"gang", "not-eligible"},
    "1.37/jobset-shared-group": {"brought-along"},
    "plain/job-running": {"pod-by-pod"},
}


def name(file: Path) -> str:
    return f"{file.parent.name}/{file.stem}"


FILES = {name(file): file for file in captures()}


def _cases() -> list[tuple[str, tuple[str, str, int, int, int, int]]]:
    found = []
    for key, file in FILES.items():
        special = PLAIN if file.parent.name == "plain" else GANGS
        if file.stem in special or file.stem in EVERYWHERE:
            found.append((key, special.get(file.stem) or EVERYWHERE[file.stem]))
    return found


@pytest.mark.parametrize(("key", "expected"), _cases(), ids=lambda value: str(value))
def test_a_real_state_has_one_gang_its_code_and_its_numbers(
    key: str, expected: tuple[str, str, int, int, int, int]
) -> None:
    gang, code, *numbers = expected
    found = verdicts(FILES[key])
    assert set(found) == {gang}
    verdict = found[gang]
    members = verdict.members
    assert verdict.finding.code == code, verdict.finding.message
    assert [members.desired, members.created, members.scheduled, members.ready] == numbers


@pytest.mark.parametrize("key", QUORUMS)
def test_the_quorum_of_a_real_gang(key: str) -> None:
    (verdict,) = verdicts(FILES[key]).values()
    assert verdict.members.quorum == QUORUMS[key]


@pytest.mark.parametrize("key", MODES)
def test_the_scheduling_mode_of_real_jobs(key: str) -> None:
    (verdict,) = verdicts(FILES[key]).values()
    assert {job.scheduling.mode for job in verdict.jobs} == MODES[key]


@pytest.mark.parametrize(("state", "seconds"), LATER)
@pytest.mark.parametrize("profile", ["1.36", "1.37"])
def test_silence_that_lasts(profile: str, state: str, seconds: int) -> None:
    gang, code = LATER[state, seconds]
    file = FILES[f"{profile}/{state}"]
    assert verdicts(file, seconds)[gang].finding.code == code
    assert verdicts(file)[gang].recheck_at is not None


def test_a_preempting_gang_and_its_victim_are_two() -> None:
    found = verdicts(FILES["1.37/job-preempting"])
    assert set(found) == {"Job/urgent", "Job/low"}
    assert found["Job/low"].finding.code == "lost-members"
    assert found["Job/urgent"].members.scheduled == 0


def test_pods_of_nobody_are_gangs_of_one() -> None:
    found = verdicts(FILES["plain/pods-partly-placed"])
    assert set(found) == {f"Pod/worker-{index}" for index in range(6)}
    assert [verdict.members.desired for verdict in found.values()] == [1] * 6


@pytest.mark.parametrize("key", FILES)
def test_no_rule_crashes_and_every_real_state_is_explained(key: str) -> None:
    for verdict in verdicts(FILES[key]).values():
        assert "not-observed" not in {finding.code for finding in verdict.findings}
