"""`image-pull`: captured on 1.37.0."""

from typing import Any

import pytest

from gangboard.domain.health import Health
from gangboard.facts.unit import Unit
from tests.domain_objects import a_container, a_job, a_pod, ago
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in


def pulling(reason: str = "ImagePullBackOff", message: str = texts.IMAGE, runs: int = 0) -> Unit:
    job = a_job("train", pods=3)
    state = a_container("main", running=False, state="waiting", reason=reason, message=message)
    fields: dict[str, Any] = {"phase": "Pending", "ready": None, "containers": (state,)}
    pods = [a_pod(f"train-{n}", of=job, on="n0", **fields) for n in range(3 - runs)]
    return unit_of(job, *pods, *[a_pod(f"up-{n}", of=job, on="n1") for n in range(runs)])


def test_a_gang_without_running_members_is_blocked() -> None:
    finding = require_finding("image-pull", pulling())
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "3 registry.example/train:1"
    assert len(finding.evidence) == 3
    assert first_code(pulling()) == "image-pull"


def test_a_gang_with_running_members_is_degraded() -> None:
    finding = require_finding("image-pull", pulling(runs=2))
    assert finding.health is Health.DEGRADED
    assert finding.message.startswith("1 pod cannot get image registry.example/train:1: ")


@pytest.mark.parametrize(
    "reason", ["ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"]
)
def test_an_empty_message_leaves_the_reason(reason: str) -> None:
    assert require_finding("image-pull", pulling(reason, "")).message == (
        f"3 pods cannot get the image of container main: {reason}."
    )


def test_an_init_container_can_lack_its_image_too() -> None:
    job = a_job("train", pods=1)
    state = a_container(
        "setup", init=True, running=False, state="waiting", reason="ErrImagePull", message=""
    )
    pod = a_pod("train-0", of=job, on="n0", ready=False, phase="Pending", containers=(state,))
    assert first_code(unit_of(job, pod)) == "image-pull"


def test_still_creating_is_starting() -> None:
    assert evaluate("image-pull", pulling("ContainerCreating", "")) is None
    assert first_code(pulling("ContainerCreating", "")) == "starting"


def test_a_pod_that_is_going_does_not_matter() -> None:
    job = a_job("train", pods=1)
    state = a_container("main", running=False, state="waiting", reason="ErrImagePull")
    terminating = a_pod("old", of=job, on="n0", phase="Pending", containers=(state,))
    assert evaluate("image-pull", unit_of(job, terminating)) is not None
    deleted = a_pod("old", of=job, on="n0", containers=(state,), deleting_since=ago(1))
    assert evaluate("image-pull", unit_of(job, deleted, a_pod("new", of=job, on="n0"))) is None


@pytest.mark.parametrize(
    ("reason", "message", "steps"),
    [
        (
            "ImagePullBackOff",
            texts.IMAGE,
            (
                "Push image registry.example/train:1 (no restart), or name one that is there "
                "(needs re-creating).",
            ),
        ),
        (
            "ErrImagePull",
            'failed to pull image "private/train:1": failed to resolve reference: pull access denied, '
            "repository does not exist or may require authorization: authorization failed",
            (
                "Name a secret in imagePullSecrets that may pull image private/train:1, or an image "
                "that the pods may pull (needs re-creating).",
            ),
        ),
        (
            "InvalidImageName",
            'Failed to apply default image tag "BAD::1": couldn\'t parse image name',
            ("Correct the image reference of container main (needs re-creating).",),
        ),
        (
            "ErrImageNeverPull",
            'Container image "train:1" is not present with pull policy of Never',
            ("Load image train:1 onto the nodes of these pods: they never pull (no restart).",),
        ),
        (
            "ErrImagePull",
            'failed to pull image "registry.example/train:1": dial tcp: lookup registry.example: no '
            "such host",
            (),
        ),
        ("ErrImagePull", "", ()),
    ],
    ids=["not there", "not allowed", "no name", "never pulled", "registry away", "no words"],
)
def test_the_next_step(reason: str, message: str, steps: tuple[str, ...]) -> None:
    assert require_finding("image-pull", pulling(reason, message)).advice_texts == steps
