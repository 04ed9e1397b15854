"""Containers that fail to start or exit with an error, with evidence and advice.

Texts of the kubelet (kubelet_pods.go, security_context.go, volume/configmap, volume/secret) and of container runtimes
(`exec: "x": executable file not found in $PATH`) name the object to create or correct. The kubelet retries by itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gangboard.domain.advice import AdviceKind, AdvisedStep, ChangeMethod
from gangboard.domain.health import Health
from gangboard.domain.pod import Container, Pod
from gangboard.domain.shell import command
from gangboard.domain.text import count, names
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit

_SHOWN = 3
OUT_OF_MEMORY = "OOMKilled"
CRASH_LOOP = "CrashLoopBackOff"
IMAGE_REASONS = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
"""Reasons of `state.waiting` about images (pkg/kubelet/images/types.go)."""
BENIGN_REASONS = frozenset({"", "ContainerCreating", "PodInitializing", "RestartingAllContainers"})
"""Reasons of `state.waiting` of containers that come up by themselves (pkg/kubelet/kubelet_pods.go of 1.37)."""


@dataclass(frozen=True, slots=True)
class ContainerProblem:
    """Container name with the pods in which this container has a problem."""

    name: str
    found: tuple[tuple[Pod, Container], ...]

    @property
    def pods(self) -> int:
        """Number of these pods."""
        return len(self.found)

    @property
    def worst(self) -> Container:
        """State of the container in the pod where it restarted most often."""
        return self.worst_pair[1]

    @property
    def worst_pair(self) -> tuple[Pod, Container]:
        """The pod where it restarted most often, with its state there."""
        return max(self.found, key=lambda pair: pair[1].restarts)

    @property
    def where(self) -> str:
        """Text such as `Container main of 3 pods`."""
        return f"Container {self.name} of {count(self.pods, 'pod')}"


def find_container_problem(
    unit: Unit, has_problem: Callable[[Container], bool]
) -> ContainerProblem | None:
    """Return the container that has the problem in most pods of the unit, or None.

    It considers pods that are on a node and not being deleted. A running container has no problem.
    """
    if not unit.halted_containers:
        return None
    pairs = [
        (pod, container) for pod, container in unit.halted_containers if has_problem(container)
    ]
    if not pairs:
        return None
    often = Counter(container.name for _, container in pairs)
    name = min(often, key=lambda name: (-often[name], name))
    return ContainerProblem(name, tuple(pair for pair in pairs if pair[1].name == name))


def container_health(unit: Unit) -> Health:
    """Return degraded, or blocked if no member of the gang runs."""
    return Health.DEGRADED if unit.gang.ready else Health.BLOCKED


def container_evidence(problem: ContainerProblem) -> tuple[Evidence, ...]:
    """Return the state of the container in the first few pods, as the kubelet reports it."""
    return tuple(
        Evidence(
            f"{pod.meta.ref.name} {container.name}",
            f"{container.reason or container.state}: {container.message}".rstrip(": "),
            pod.meta.ref,
        )
        for pod, container in problem.found[:_SHOWN]
    )


def crash_advice(problem: ContainerProblem) -> tuple[AdvisedStep, ...]:
    """Return the next step for a container that exits repeatedly."""
    pod, container = problem.worst_pair
    ended = container.state == "terminated"
    reason = container.reason if ended else container.last_reason
    # The logs of a waiting container are those of its previous instance. After its first exit there is none.
    return (exit_advice(pod, container.name, reason, earlier=not ended or container.restarts > 0),)


def exit_advice(pod: Pod, container: str, reason: str, *, earlier: bool) -> AdvisedStep:
    """Return the next step after an exit with this reason: more memory, or the command that shows the logs.

    `earlier` selects the logs of the previous instance. There is no command if a name is not safe in a shell.
    """
    if reason == OUT_OF_MEMORY:
        return AdvisedStep(
            f"Give container {container} more memory, or let it use less ({ChangeMethod.RECREATE})."
        )
    ref, previous = pod.meta.ref, " --previous" if earlier else ""
    logs = command(
        f"kubectl logs -n {{}} {{}} -c {{}}{previous}", ref.namespace, ref.name, container
    )
    subject = "it" if logs else f"container {container} of pod {ref.name}"
    return AdvisedStep(f"Read what {subject} wrote last.", AdviceKind.LOOK, logs)


@dataclass(frozen=True, slots=True)
class ContainerExit:
    """Exit of a container in some failed pods."""

    container: str
    code: int
    reason: str
    pods: tuple[Pod, ...]

    @property
    def advice(self) -> tuple[AdvisedStep, ...]:
        """The next step. Empty if no kubelet can still have the logs."""
        known = [pod for pod in self.pods if not pod.reason and pod.disruption is None]
        return tuple(
            exit_advice(pod, self.container, self.reason, earlier=False) for pod in known[:1]
        )


def common_exit(pods: Iterable[Pod]) -> ContainerExit | None:
    """Return the exit with an error that most failed pods share, or None if no pod has one."""
    exits: dict[tuple[str, int, str], list[Pod]] = {}
    for pod in pods:
        if pod.phase != "Failed":
            continue
        for container in pod.containers:
            if container.exit_code:
                ending = container.name, container.exit_code, container.reason
                exits.setdefault(ending, []).append(pod)
    if not exits:
        return None
    (name, code, reason), containers = max(
        exits.items(), key=lambda item: (len(item[1]), str(item[0]))
    )
    return ContainerExit(name, code, reason, tuple(containers))


def last_exit_text(container: Container) -> str:
    """Return `exit code 137 (OOMKilled)` of its last exit. Empty if it has never exited."""
    code, reason = container.last_exit_code, container.last_reason
    if container.state == "terminated":
        code, reason = container.exit_code, container.reason
    if code is None:
        return ""
    return f"exit code {code}" + (f" ({reason})" if reason else "")


_KINDS = {"secret": "Secret", "config": "ConfigMap", "configmap": "ConfigMap"}
_ABSENT = re.compile(r'\b(secret|configmap) "([\w.-]{1,253})" not found', re.IGNORECASE)
_NO_KEY = re.compile(r"couldn't find key (\S{1,253}) in (Secret|ConfigMap) ([\w.-]+/[\w.-]+)")
_NO_FILE = re.compile(
    r'volume "([\w.-]{1,253})".{0,300}references non-existent (secret|config) key: (\S{1,253})'
)
_NO_COMMAND = re.compile(
    r'exec: "([^"]{1,200})": (?:executable file not found|stat [^:]+: no such file or directory)'
)
_POD_SUFFIX = re.compile(r' \(pod: "[^"]{1,600}", container: [\w-]{1,63}\)$')
_AS_ROOT = "container has runAsNonRoot and image will run as root"
_USER_NAME = "image has non-numeric user"
_RETRY_TEXT = "the kubelet tries again by itself"


def missing_object_advice(text: str, namespace: str) -> str:
    """Return the sentence that names the Secret, ConfigMap or key to create, or an empty text."""
    absent = dict.fromkeys(
        f"{_KINDS[kind.lower()]} {namespace}/{name}" for kind, name in _ABSENT.findall(text)
    )
    if absent:
        return f"Create {names(absent)}: {_RETRY_TEXT}."
    key = _NO_KEY.search(text)
    if key is not None:
        return f"Add key {key[1]} to {key[2]} {key[3]}: {_RETRY_TEXT}."
    file = _NO_FILE.search(text)
    if file is not None:
        return f"Add key {file[3]} to the {_KINDS[file[2]]} of volume {file[1]}: {_RETRY_TEXT}."
    return ""


def error_cause(text: str) -> str:
    """Return the cause in the text, without the prefix of the runtime and the name of the pod."""
    command = _NO_COMMAND.search(text)
    return command[0] if command is not None else _POD_SUFFIX.sub("", text)


def template_error_advice(text: str, container: str) -> str:
    """Return the sentence that names the error in a container's own spec, or an empty text."""
    command = _NO_COMMAND.search(text)
    if command is not None:
        return (
            f"Correct the command of container {container}, or name an image that has "
            f"{command[1]} ({ChangeMethod.RECREATE})."
        )
    if _AS_ROOT in text:
        return (
            f"Set runAsUser of container {container} to a user other than 0, or name an image "
            f"whose user is not root ({ChangeMethod.RECREATE})."
        )
    if _USER_NAME in text:
        return f"Set runAsUser of container {container} to the number of its user ({ChangeMethod.RECREATE})."
    return ""
