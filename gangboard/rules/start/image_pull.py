"""`image-pull`: the kubelet cannot pull the image of a container.

The reasons are those of `state.waiting` (pkg/kubelet/images/types.go). The image's name is only in the message:
`Back-off pulling image "registry.example/train:1": ErrImagePull: …`.
"""

from __future__ import annotations

import re

from gangboard.domain.advice import ChangeMethod
from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Container
from gangboard.domain.text import count, quote, sentence
from gangboard.domain.verdict import Finding
from gangboard.facts.containers import (
    IMAGE_REASONS,
    ContainerProblem,
    container_evidence,
    container_health,
    find_container_problem,
)
from gangboard.facts.findings import unit_finding
from gangboard.facts.state_since import problem_since
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule

_IMAGE = re.compile(r'[Ii]mage "(?P<image>[^"]+)"')
# Prefixes before the registry's own text, in the order of wrapping.
_PREFIXES = re.compile(
    r'^(?:Back-off pulling image "[^"]*"(?:: )?)?(?:ErrImagePull: )?'
    r"(?:rpc error: code = \w+ desc = )?"
)

_DENIED = re.compile(
    r"unauthorized|authentication required|no basic auth credentials|pull access denied|"
    r"authorization failed|403 Forbidden|requested access to the resource is denied",
    re.IGNORECASE,
)
_NOT_FOUND = re.compile(r"code = NotFound|manifest unknown|: not found\b")


def _has_problem(container: Container) -> bool:
    return container.state == "waiting" and container.reason in IMAGE_REASONS


def find(unit: Unit) -> Finding | None:
    """Return a finding while a container of the unit waits for an image that cannot be pulled."""
    problem = find_container_problem(unit, _has_problem)
    if problem is None:
        return None
    return unit_finding(
        RULE,
        unit,
        _message(problem),
        health=container_health(unit),
        advice=_advice(problem),
        evidence=container_evidence(problem),
        since=problem_since(problem),
    )


def _message(problem: ContainerProblem) -> str:
    messages, image = _messages(problem), _image(problem)
    # A text with a cause is longer than a plain `Back-off pulling image …`.
    cause = max((_PREFIXES.sub("", text) for text in messages), key=len, default="")
    subject = f"image {image}" if image else f"the image of container {problem.name}"
    reason = problem.worst.reason
    # The registry's own text follows the last mention of the image. Everything before it names the client.
    suffix = re.match(rf'.*{re.escape(image)}"?: (.+)', cause, re.DOTALL) if image else None
    quoted = quote(suffix[1] if suffix is not None else cause)
    return sentence(f"{count(problem.pods, 'pod')} cannot get {subject}: {quoted or reason}")


def _messages(problem: ContainerProblem) -> list[str]:
    return [container.message for _, container in problem.found if container.message]


def _image(problem: ContainerProblem) -> str:
    return next(
        (match["image"] for text in _messages(problem) if (match := _IMAGE.search(text))), ""
    )


def _advice(problem: ContainerProblem) -> tuple[str, ...]:
    """Return the change that a clear reason or text implies. A registry can also be down."""
    reason, text, image = problem.worst.reason, " ".join(_messages(problem)), _image(problem)
    if reason == "InvalidImageName":
        return (
            f"Correct the image reference of container {problem.name} ({ChangeMethod.RECREATE}).",
        )
    if not image:
        return ()
    if reason == "ErrImageNeverPull":
        return (
            f"Load image {image} onto the nodes of these pods: they never pull ({ChangeMethod.IN_PLACE}).",
        )
    if _DENIED.search(text):
        return (
            f"Name a secret in imagePullSecrets that may pull image {image}, or an image that the "
            f"pods may pull ({ChangeMethod.RECREATE}).",
        )
    if _NOT_FOUND.search(text):
        return (
            f"Push image {image} ({ChangeMethod.IN_PLACE}), or name one that is there ({ChangeMethod.RECREATE}).",
        )
    return ()


RULE = UnitRule("image-pull", Stage.START, "Image not pulled", 10, find, health=Health.DEGRADED)
