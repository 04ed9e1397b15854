"""`container-config`: captured on 1.37.0."""

from typing import Any

from gangboard.domain.facts import Unit
from gangboard.domain.health import Health
from tests.diagnosis.building import a_container, a_job, a_pod
from tests.rules.asking import ask, first, found, unit_of


def stuck(reason: str = "CreateContainerConfigError", others: int = 0) -> Unit:
    job = a_job("train", pods=2 + others)
    state = a_container(
        "main", running=False, state="waiting", reason=reason, message='secret "token" not found'
    )
    fields: dict[str, Any] = {"phase": "Pending", "ready": None, "containers": (state,)}
    pods = [a_pod(f"train-{n}", of=job, on="n0", **fields) for n in range(2)]
    return unit_of(job, *pods, *[a_pod(f"up-{n}", of=job, on="n1") for n in range(others)])


def test_a_secret_that_is_not_there() -> None:
    finding = found("container-config", stuck())
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "Container main of 2 pods cannot be created: CreateContainerConfigError: secret "
        '"token" not found.'
    )
    assert finding.evidence[0].value == 'CreateContainerConfigError: secret "token" not found'
    assert first(stuck()) == "container-config"


def test_others_run() -> None:
    assert found("container-config", stuck(others=1)).health is Health.DEGRADED


def test_other_reasons() -> None:
    assert ask("container-config", stuck("ContainerCreating")) is None
    assert first(stuck("ErrImagePull")) == "image-pull"
    assert first(stuck("CrashLoopBackOff")) == "crash-loop"
