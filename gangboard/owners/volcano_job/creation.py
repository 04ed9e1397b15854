"""Objects that Volcano creates from the manifest of a Job, and what its webhook refuses.

Source: job_controller_util.go, job_controller_actions.go and webhooks/admission/jobs of v1.14.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from typing import Any

from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.plugins.child_manifests import (
    child,
    items,
    name_of,
    namespace_of,
    number,
    pod_from,
    section,
    size,
    template_requests,
    text,
    texts,
)
from gangboard.plugins.manifest_faults import dns_label_fault, negative_fault, pod_template_faults

TASK = "volcano.sh/task-spec"
_DEFAULT_QUEUE, _SCHEDULER = "default", "volcano"


def children(manifest: Manifest, context: CreationContext) -> Iterator[dict[str, Any]]:
    """Yield the PodGroup of a Job and the pods of its tasks.

    The controller creates the pods once the queue has admitted the PodGroup. Tasks with `dependsOn` wait for others. The
    name of the real PodGroup ends with the uid of the Job.
    """
    spec, name = section(manifest, "spec"), name_of(manifest)
    tasks = [(_task_name(task, index), task) for index, task in enumerate(items(spec, "tasks"))]
    queue = text(spec, "queue") or _DEFAULT_QUEUE
    yield child(
        "scheduling.volcano.sh/v1beta1",
        "PodGroup",
        name,
        {
            "minMember": _minimum(spec),
            "minTaskMember": {
                task_name: size(task, "minAvailable", default=size(task, "replicas", default=0))
                for task_name, task in tasks
            },
            "minResources": _minimum_resources(spec),
            "queue": queue,
            **_priority_class(spec),
        },
    )
    for task_name, task in tasks:
        if texts(task, "dependsOn", "name") and not context.dependencies_met:
            continue
        for index in range(size(task, "replicas", default=0)):
            yield _pod(manifest, task_name, task, index, queue)


def _pod(
    manifest: Manifest, task_name: str, task: Manifest, index: int, queue: str
) -> dict[str, Any]:
    """Return a pod of a task (createJobPod)."""
    spec, name = section(manifest, "spec"), name_of(manifest)
    marks = {
        "volcano.sh/task-index": str(index),
        "volcano.sh/job-name": name,
        TASK: task_name,
        "volcano.sh/queue-name": queue,
    }
    template = section(task, "template")
    pod = section(template, "spec")
    scheduler = text(pod, "schedulerName") or text(spec, "schedulerName") or _SCHEDULER
    return pod_from(
        template,
        f"{name}-{task_name}-{index}",
        labels={**marks, "volcano.sh/job-namespace": namespace_of(manifest)},
        annotations={**marks, "scheduling.k8s.io/group-name": name},
        spec={
            "schedulerName": scheduler,
            **({} if text(pod, "priorityClassName") else _priority_class(spec)),
        },
    )


def _task_name(task: Manifest, index: int) -> str:
    """Return the name of a task, or the webhook's default."""
    return text(task, "name") or f"default{index}"


def _minimum(spec: Manifest) -> int:
    """Return `minAvailable`, or the webhook's default of all pods."""
    total = sum(size(task, "replicas", default=0) for task in items(spec, "tasks"))
    return size(spec, "minAvailable", default=0) or total


def _priority_class(spec: Manifest) -> dict[str, str]:
    name = text(spec, "priorityClassName")
    return {"priorityClassName": name} if name else {}


def _minimum_resources(spec: Manifest) -> dict[str, str]:
    """Return the requests of the first `minAvailable` pods, in the order of the tasks (calcPGMinResources)."""
    total: dict[str, Decimal] = {}
    left = _minimum(spec)
    for task in items(spec, "tasks"):
        pods = min(left, size(task, "replicas", default=0))
        left -= pods
        for resource, amount in template_requests(section(task, "template")):
            total[resource] = total.get(resource, Decimal(0)) + amount * pods
    return {resource: str(amount) for resource, amount in total.items()}


def faults(manifest: Manifest) -> Iterator[ManifestFault]:
    """Yield what the webhook refuses (validateJobCreate in admit_job.go)."""
    spec, name = section(manifest, "spec"), name_of(manifest)
    tasks = items(spec, "tasks")
    yield from dns_label_fault("metadata.name", name, "Its name")
    yield from negative_fault(spec, "minAvailable", "spec.minAvailable")
    yield from negative_fault(spec, "maxRetry", "spec.maxRetry")
    if not tasks:
        yield ManifestFault("spec.tasks", "It has no task.")
    seen: set[str] = set()
    for index, task in enumerate(tasks):
        place, task_name = f"spec.tasks[{index}]", _task_name(task, index)
        yield from negative_fault(task, "replicas", f"{place}.replicas")
        yield from dns_label_fault(
            f"{place}.name", f"{name}-{task_name}-{index}", "The name of its pods"
        )
        if task_name in seen:
            yield ManifestFault(f"{place}.name", f"Two tasks have the name {task_name}.")
        seen.add(task_name)
        replicas, least = size(task, "replicas", default=0), number(task, "minAvailable")
        if least is not None and least > replicas:
            yield ManifestFault(
                f"{place}.minAvailable",
                f"minAvailable is {least}, and it must not be above replicas, which is {replicas}.",
            )
        yield from pod_template_faults(section(task, "template"), f"{place}.template")
    yield from _dependency_faults(tasks)
    total = sum(size(task, "replicas", default=0) for task in tasks)
    least_of_all = number(spec, "minAvailable") or 0
    if least_of_all > total:
        yield ManifestFault(
            "spec.minAvailable",
            f"minAvailable is {least_of_all}, and all tasks together have {total} replicas.",
        )


def _dependency_faults(tasks: Sequence[Manifest]) -> Iterator[ManifestFault]:
    """Yield the dependencies of tasks that are not a directed acyclic graph (topoSort in util.go)."""
    graph = {
        _task_name(task, index): texts(task, "dependsOn", "name")
        for index, task in enumerate(tasks)
    }
    for index, task in enumerate(tasks):
        for name in texts(task, "dependsOn", "name"):
            if name not in graph:
                yield ManifestFault(
                    f"spec.tasks[{index}].dependsOn.name", f"The Job has no task {name}."
                )
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = ", ".join(error.args[1])
        yield ManifestFault("spec.tasks", f"Tasks wait for each other in a circle: {circle}.")
