"""What a Hold of gangboard must be like, for the policy on the actor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gangboard.domain.hold import (
    HOLD_GROUP,
)
from gangboard.plugins.lever import Made, Rule

_MANAGED_BY = "app.kubernetes.io/managed-by"
_OURS = f"{HOLD_GROUP}/"


def makes(parents: Sequence[tuple[str, str]]) -> Made:
    """Return what a Hold of gangboard must be like; the CRD's schema says the rest."""
    rules = (
        Rule(
            "request.operation == 'CREATE'",
            "gangboard makes and deletes Holds and never changes one",
        ),
        Rule(
            "object.spec.ownerUID != '' && object.spec.?by.orValue('') != ''"
            " && object.spec.?reason.orValue('') != ''",
            "a Hold of gangboard says in spec whose Job it is about, who wants it and why",
        ),
        Rule(
            "object.metadata.?ownerReferences.orValue([]).size() == 1"
            " && object.metadata.ownerReferences.all(o,"
            f" o.uid == object.spec.ownerUID && ({_is_one_of(parents)}))",
            "a Hold of gangboard belongs to the owner whose uid is in spec.ownerUID, and to nobody "
            "else",
        ),
        Rule(
            "object.metadata.?finalizers.orValue([]).size() == 0"
            f" && object.metadata.?labels.orValue({{}}).all(k, k == '{_MANAGED_BY}')"
            " && object.metadata.?annotations.orValue({})"
            f".all(k, k.startsWith('{_OURS}'))",
            f"a Hold of gangboard has no finalizer, no label besides {_MANAGED_BY} and no annotation "
            f"besides {_OURS}*",
        ),
    )
    return Made(HOLD_GROUP, "holds", "Hold", ("create", "delete", "get", "list"), rules)


def _is_one_of(parents: Iterable[tuple[str, str]]) -> str:
    """Return the condition that the owner reference `o` is of one of these kinds, in any version."""
    found = (
        f"o.kind == '{kind}' && o.apiVersion.startsWith('{group}/')" for group, kind in parents
    )
    return " || ".join(found) or "false"
