"""Commands to copy that change or show objects of a gang."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.objects import ObjectRef
from gangboard.domain.shell import command
from gangboard.domain.text import is_or_are, listed
from gangboard.domain.traits import KindTraits

_MAX_NAMED = 3


def patch_command(
    traits: KindTraits, ref: ObjectRef, numbers: Mapping[str, int]
) -> tuple[str, ...]:
    """Return the arguments of the command that sets numbers of an object.

    Empty if its kind has no path for one of them, or if a name is not safe in a shell.
    """
    if not numbers or not numbers.keys() <= traits.number_paths.keys():
        return ()
    values = {traits.number_paths[name]: number for name, number in numbers.items()}
    return merge_patch(traits.resource, ref, values)


def resume_command(traits: KindTraits, ref: ObjectRef) -> tuple[str, ...]:
    """Return the arguments of the command that resumes an object by its suspend field, or empty as `patch_command`."""
    return merge_patch(traits.resource, ref, {traits.suspend_field or "spec.suspend": False})


def merge_patch(
    resource: str, ref: ObjectRef, values: Mapping[str, int | bool | str]
) -> tuple[str, ...]:
    """Return the arguments of the command that sets fields of an object.

    `resource` is its name in kubectl, such as `jobs.batch`. `values` is path → new value. Empty if a name is not safe in
    a shell.
    """
    names = (resource, ref.name, *([ref.namespace] if ref.namespace else []))
    namespace = " -n {}" if ref.namespace else ""
    arguments = command(f"kubectl patch {{}} {{}}{namespace} --type=merge -p", *names)
    if not arguments:
        return ()
    patch: dict[str, Any] = {}
    for path, value in values.items():
        *parents, leaf = path.split(".")
        target = patch
        for parent in parents:
            target = target.setdefault(parent, {})
        target[leaf] = value
    return (*arguments, json.dumps(patch, separators=(",", ":")))


def delete_pods(pods: Sequence[ObjectRef]) -> tuple[str, ...]:
    """Return the arguments of the command that deletes pods of one namespace, or empty as `merge_patch`."""
    names = [ref.name for ref in pods]
    return command(f"kubectl delete pods -n {{}}{' {}' * len(names)}", pods[0].namespace, *names)


def look_at_unready(pods: Iterable[ObjectRef]) -> tuple[AdvisedStep, ...]:
    """Return the step that shows why pods of one namespace are not ready. Empty without pods."""
    refs = sorted(pods, key=lambda ref: ref.name)
    if not refs:
        return ()
    names = [ref.name for ref in refs]
    examples = (
        names if len(names) <= _MAX_NAMED else [*names[: _MAX_NAMED - 1], f"{len(names) - 2} more"]
    )
    noun = "pod" if len(names) == 1 else "pods"
    describe = command(
        f"kubectl describe pods -n {{}}{' {}' * min(len(names), _MAX_NAMED)}",
        refs[0].namespace,
        *names[:_MAX_NAMED],
    )
    text = f"Check why {noun} {listed(examples)} {is_or_are(len(names))} not ready."
    return (AdvisedStep(text, AdviceKind.LOOK, describe),)
