"""`container-config`: captured on 1.37.0."""

from typing import Any

import pytest

from gangboard.domain.health import Health
from gangboard.facts.unit import Unit
from tests.domain_objects import a_container, a_job, a_pod
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in

ABSENT = 'secret "token" not found'


def stuck(
    reason: str = "CreateContainerConfigError", others: int = 0, message: str = ABSENT
) -> Unit:
    job = a_job("train", pods=2 + others)
    state = a_container("main", running=False, state="waiting", reason=reason, message=message)
    fields: dict[str, Any] = {"phase": "Pending", "ready": None, "containers": (state,)}
    pods = [a_pod(f"train-{n}", of=job, on="n0", **fields) for n in range(2)]
    return unit_of(job, *pods, *[a_pod(f"up-{n}", of=job, on="n1") for n in range(others)])


def test_a_missing_secret() -> None:
    finding = require_finding("container-config", stuck())
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "2"
    assert finding.evidence[0].value == 'CreateContainerConfigError: secret "token" not found'
    assert first_code(stuck()) == "container-config"


def test_a_gang_with_running_members_is_degraded() -> None:
    assert require_finding("container-config", stuck(others=1)).health is Health.DEGRADED


def test_an_unknown_reason_is_an_error_with_its_text() -> None:
    """The kubelet hands on whatever error its runtime gave it (convertToAPIContainerStatuses)."""
    unit = stuck("FrobnicatorJammed", message="the frobnicator is jammed")
    assert first_code(unit) == "container-config"
    finding = require_finding("container-config", unit)
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "2"
    without = require_finding("container-config", stuck("FrobnicatorJammed", message=""))
    assert without.message == "Container main of 2 pods waits: FrobnicatorJammed."


@pytest.mark.parametrize(
    "reason", ["", "ContainerCreating", "PodInitializing", "RestartingAllContainers"]
)
def test_common_waiting_reasons_are_starts(reason: str) -> None:
    assert first_code(stuck(reason, message="")) == "starting"


def test_other_waiting_reasons_have_their_own_codes() -> None:
    assert evaluate("container-config", stuck("ContainerCreating")) is None
    assert first_code(stuck("ErrImagePull")) == "image-pull"
    assert first_code(stuck("CrashLoopBackOff")) == "crash-loop"


@pytest.mark.parametrize(
    ("reason", "message", "steps"),
    [
        (
            "CreateContainerConfigError",
            'secret "token" not found',
            ("Create Secret team-a/token: the kubelet tries again by itself.",),
        ),
        (
            "CreateContainerConfigError",
            'configmap "train-config" not found',
            ("Create ConfigMap team-a/train-config: the kubelet tries again by itself.",),
        ),
        (
            "CreateContainerConfigError",
            "couldn't find key HF_TOKEN in Secret team-a/token",
            ("Add key HF_TOKEN to Secret team-a/token: the kubelet tries again by itself.",),
        ),
        (
            "CreateContainerConfigError",
            'container has runAsNonRoot and image will run as root (pod: "p_team-a(1)", container: '
            "main)",
            (
                "Set runAsUser of container main to a user other than 0, or name an image whose user "
                "is not root (needs re-creating).",
            ),
        ),
        (
            "CreateContainerConfigError",
            "container has runAsNonRoot and image has non-numeric user (nginx), cannot verify user is "
            "non-root",
            ("Set runAsUser of container main to the number of its user (needs re-creating).",),
        ),
        (
            "RunContainerError",
            "failed to create containerd task: failed to create shim task: OCI runtime create failed: "
            'exec: "trian": executable file not found in $PATH: unknown',
            (
                "Correct the command of container main, or name an image that has trian (needs re-creating).",
            ),
        ),
        ("CreateContainerError", "context deadline exceeded", ()),
        ("RunContainerError", "", ()),
    ],
)
def test_the_next_step(reason: str, message: str, steps: tuple[str, ...]) -> None:
    assert require_finding("container-config", stuck(reason, message=message)).advice_texts == steps
