"""Commands to copy that change or show objects of a gang."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
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
    return _merge_patch(traits, ref, values)


def resume_command(traits: KindTraits, ref: ObjectRef) -> tuple[str, ...]:
    """Return the arguments of the command that resumes an object by its suspend field, or empty as `patch_command`."""
    return _merge_patch(traits, ref, {traits.suspend_field or "spec.suspend": False})


def _merge_patch(
    traits: KindTraits, ref: ObjectRef, values: Mapping[str, int | bool]
) -> tuple[str, ...]:
    """Return the arguments of a merge patch. `values` is path → new value."""
    arguments = command(
        "kubectl patch {} {} -n {} --type=merge -p", traits.resource, ref.name, ref.namespace
    )
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
