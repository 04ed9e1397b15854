"""Verdicts on states that real control planes were brought into.

The expectations are the expected message for the on-call engineer in that state (state_list in
tests/controlplane). The numbers are those of its creation.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gangboard.domain.health import Health
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
    "workload-running": ("Workload/ring", "running", 4, 4, 4, 4),
    "workload-basic": ("Workload/ring", "running", 3, 3, 3, 3),
    "workload-of-a-job": ("Job/train", "running", 3, 3, 3, 3),
    "workload-scheduling-gate": ("Workload/ring", "scheduling-gated", 2, 2, 0, 0),
    "workload-mixed-schedulers": ("Workload/ring", "mixed-schedulers", 2, 2, 0, 0),
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
    "1.35/workload-running": 4,
    "1.35/workload-basic": None,
    "1.35/workload-replicas": 4,  # two replicas of two
    "1.35/workload-of-a-job": 3,
}
# Silence becomes news when it has lasted: (state, seconds) → (gang, code).
LATER = {
    ("group-below-quorum", 60): ("PodGroup/ring", "below-quorum"),
    ("group-missing", 60): ("Pod/ring-0", "podgroup-missing"),
    ("job-scheduler-of-nobody", 120): ("Job/train", "not-attempted"),
}
LATER_ON_1_35 = {
    "workload-below-quorum": ("Workload/ring", "below-quorum", "2 of the 4 pods"),
    "workload-replicas": ("Workload/ring", "below-quorum", "Group ring/workers/1 has 1 of the 2 pods"),
    "workload-missing": ("Pod/ring-0", "podgroup-missing", "Workload ring, which does not exist"),
    "workload-entry-missing": (
        "Workload/ring", "podgroup-missing", "podGroup workers, which Workload ring does not have",
    ),
    "workload-without-pods": ("Workload/ring", "pods-not-created", "podGroup driver of Workload ring"),
}  # fmt: skip
# With the nodes in sight: state → (gang, code, words of the sentence).
PLACEMENT_ON_1_35 = {
    "workload-at-the-gate": ("Workload/ring", "exceeds-capacity", ("24 GPUs", "16")),
    "workload-gate-timeout": ("Workload/ring", "exceeds-capacity", ("24 GPUs", "16")),
    "workload-no-matching-node": ("Workload/ring", "no-matching-node", ("3 pods", "pool=none")),
    "workload-of-two-jobs": ("Job/train-1", "no-matching-node", ("2 pods", "8 GPUs")),
    "workload-preempting": ("Workload/urgent", "preempting", ("2 pods wait",)),
}
MODES = {
    "1.35/workload-of-a-job": {"brought-along"},
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
    result = []
    for key, file in FILES.items():
        special = PLAIN if file.parent.name == "plain" else GANGS
        if file.stem in special or file.stem in EVERYWHERE:
            result.append((key, special.get(file.stem) or EVERYWHERE[file.stem]))
    return result


@pytest.mark.parametrize(("key", "expected"), _cases(), ids=lambda value: str(value))
def test_a_captured_state_has_one_gang_with_its_code_and_numbers(
    key: str, expected: tuple[str, str, int, int, int, int]
) -> None:
    gang, code, *numbers = expected
    result = verdicts(FILES[key])
    assert set(result) == {gang}
    verdict = result[gang]
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


@pytest.mark.parametrize("state", LATER_ON_1_35)
def test_silence_that_lasts_on_1_35(state: str) -> None:
    gang, code, text = LATER_ON_1_35[state]
    file = FILES[f"1.35/{state}"]
    finding = verdicts(file, 130)[gang].finding
    assert (finding.code, finding.health) == (code, Health.BLOCKED)
    assert text in finding.message
    assert verdicts(file)[gang].recheck_at is not None


@pytest.mark.parametrize("state", PLACEMENT_ON_1_35)
def test_the_shortage_on_kubernetes_135_is_explained(state: str) -> None:
    gang, code, text = PLACEMENT_ON_1_35[state]
    finding = verdicts(FILES[f"1.35/{state}"], with_room=True)[gang].finding
    assert finding.code == code
    assert all(word in finding.message for word in text), finding.message


@pytest.mark.parametrize("state", ["workload-at-the-gate", "workload-gate-timeout"])
def test_capacity_kept_by_gated_members_is_mentioned(state: str) -> None:
    """Four of six fit and keep the four nodes, which look empty to everybody else."""
    verdict = verdicts(FILES[f"1.35/{state}"], with_room=True)["Workload/ring"]
    evidence = verdict.finding.evidence
    assert [item.value[:6] for item in evidence if item.label == "pods at the gate"] == ["4 of 6"]
    assert {item.value for item in evidence if item.label == "kept node"} <= {
        "n0",
        "n1",
        "n2",
        "n3",
    }
    assert sum(pod.label == "at the gate" for pod in verdict.pods) == 4


def test_replicas_of_one_entry_are_separate_gangs() -> None:
    result = verdicts(FILES["1.35/workload-of-two-jobs"])
    assert set(result) == {"Job/train-0", "Job/train-1"}
    assert result["Job/train-0"].finding.code == "running"
    assert result["Job/train-1"].members.scheduled == 0


def test_a_preempting_gang_and_its_victim_are_two() -> None:
    result = verdicts(FILES["1.37/job-preempting"])
    assert set(result) == {"Job/urgent", "Job/low"}
    assert result["Job/low"].finding.code == "lost-members"
    assert result["Job/urgent"].members.scheduled == 0


def test_pods_without_an_owner_are_gangs_of_one() -> None:
    result = verdicts(FILES["plain/pods-partly-placed"])
    assert set(result) == {f"Pod/worker-{index}" for index in range(6)}
    assert [verdict.members.desired for verdict in result.values()] == [1] * 6


@pytest.mark.parametrize("key", FILES)
def test_no_rule_crashes_and_every_real_state_is_explained(key: str) -> None:
    for verdict in verdicts(FILES[key]).values():
        assert "not-observed" not in {finding.code for finding in verdict.findings}
