"""ValidatingAdmissionPolicies that limit the actor to the fields of its levers.

One for each resource that it may write. They look at requests of the actor's account only, and refuse
(`failurePolicy: Fail`) what they cannot judge; nobody else's requests are touched by them. A refusal is
a 403, so that it is not taken for a failed test of a JSON patch (422).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gangboard.actions.permissions import cel
from gangboard.actions.permissions.levered import Levered, Parent, levered, parents
from gangboard.actions.permissions.names import ACTOR, Manifest, Wanted, user_name
from gangboard.decode.holds import HOLD
from gangboard.domain.hold import HOLD_GROUP, PAUSED_PARALLELISM
from gangboard.domain.registry import Resource

_API = "admissionregistration.k8s.io/v1"
_OURS = f"{HOLD_GROUP}/"
"""What the annotations that the actor may write begin with."""
_SERVER_SIDE = ("annotations", "generation", "managedFields", "resourceVersion")
"""Metadata that an API server changes with every write; annotations have a rule of their own."""
_NOTE = f"[?{cel.text(PAUSED_PARALLELISM)}].orValue('')"
_PARALLELISM = {
    "newParallelism": "variables.newSpec.?parallelism.orValue(1)",
    "oldParallelism": "variables.oldSpec.?parallelism.orValue(1)",
    "newNote": f"variables.newAnnotations{_NOTE}",
    "oldNote": f"variables.oldAnnotations{_NOTE}",
}
"""Variables of the rule about parallelism; the API's default is 1."""
_MANAGED_BY = "app.kubernetes.io/managed-by"


def limits(wanted: Wanted) -> list[Manifest]:
    """Return the policies, each followed by its binding."""
    found: list[Manifest] = []
    for one in levered(wanted):
        found += _policy(one.resource, ["UPDATE"], list(_variables(one)), list(_validations(one)))
    found += _policy(HOLD, ["CREATE", "UPDATE"], [], list(_of_holds(parents(wanted))))
    return found


def _policy(
    resource: Resource,
    operations: list[str],
    variables: list[Manifest],
    validations: list[Manifest],
) -> list[Manifest]:
    name = f"{ACTOR}-{resource.key}"
    rule = {
        "apiGroups": [resource.group],
        "apiVersions": ["*"],
        "operations": operations,
        "resources": [resource.plural],
    }
    condition = f"request.userInfo.username == {cel.text(user_name(ACTOR))}"
    spec: Manifest = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "is-the-actor", "expression": condition}],
    }
    if variables:
        spec["variables"] = variables
    spec["validations"] = validations
    binding = {"policyName": name, "validationActions": ["Deny"]}
    return [
        _manifest("ValidatingAdmissionPolicy", name, spec),
        _manifest("ValidatingAdmissionPolicyBinding", name, binding),
    ]


def _manifest(kind: str, name: str, spec: Manifest) -> Manifest:
    return {"apiVersion": _API, "kind": kind, "metadata": {"name": name}, "spec": spec}


@dataclass(frozen=True, slots=True)
class _Level:
    """A map inside the object of which only some keys may change."""

    path: tuple[str, ...]
    allowed: tuple[str, ...]

    @property
    def name(self) -> str:
        """`Metadata`, `SpecRunPolicy`: the end of its variables' names."""
        return "".join(step[:1].upper() + step[1:] for step in self.path)

    @property
    def forbidden(self) -> str:
        """Name of the variable with what would change and may not."""
        return f"forbidden{self.name}"

    def variables(self) -> Iterator[Manifest]:
        """Yield the map as it was and as it would be, and what may not change of it and would."""
        yield _variable(f"new{self.name}", cel.part("object", self.path))
        yield _variable(f"old{self.name}", cel.part("oldObject", self.path))
        differs = cel.changed(f"variables.new{self.name}", f"variables.old{self.name}")
        yield _variable(self.forbidden, cel.without(differs, self.allowed))


_METADATA = _Level(("metadata",), _SERVER_SIDE)


def _levels(one: Levered) -> Iterator[_Level]:
    """Yield the metadata and each map on the way to the lever's field."""
    yield _METADATA
    for depth in range(1, len(one.field)):
        more = ("parallelism",) if one.parallelism and depth == 1 else ()
        yield _Level(one.field[:depth], (one.field[depth], *more))


def _variables(one: Levered) -> Iterator[Manifest]:
    for level in _levels(one):
        yield from level.variables()
    yield _variable("newAnnotations", cel.part("object", ("metadata", "annotations")))
    yield _variable("oldAnnotations", cel.part("oldObject", ("metadata", "annotations")))
    differs = cel.changed("variables.newAnnotations", "variables.oldAnnotations")
    foreign = f"({differs}).filter(k, !k.startsWith({cel.text(_OURS)}))"
    yield _variable("forbiddenAnnotations", foreign)
    if one.parallelism:
        for name, expression in _PARALLELISM.items():
            yield _variable(name, expression)
    yield _variable(
        "controllers",
        "variables.oldMetadata.?ownerReferences.orValue([])"
        ".filter(o, o.?controller.orValue(false))",
    )


def _variable(name: str, expression: str) -> Manifest:
    return {"name": name, "expression": expression}


def _validations(one: Levered) -> Iterator[Manifest]:
    """Yield what a write must fulfil."""
    kind = one.resource.kind
    fields = " and spec.parallelism" if one.parallelism else ""
    only = f"gangboard may change {'.'.join(one.field)}{fields} of a {kind} and nothing else"
    for level in _levels(one):
        yield _nothing_in(level.forbidden, f"{only}: not {'.'.join(level.path)}.")
    yield _nothing_in("forbiddenAnnotations", f"{only}: not annotations besides {_OURS}*: ")
    if one.parents is not None:
        yield _refusal(
            f"variables.controllers.all(o, {_is_one_of(one.parents)})",
            f"gangboard may not change a {kind} that something else controls: ",
            "variables.controllers.map(o, o.kind + ' ' + o.name).join(', ')",
        )
    if one.managers is not None:
        yield _refusal(
            f"variables.oldSpec.?managedBy.orValue({cel.text(one.managers[0])})"
            f" in {cel.texts(one.managers)}",
            f"gangboard may not change a {kind} that another controller manages: ",
            "variables.oldSpec.managedBy",
        )
    if one.parallelism:
        yield _parallelism(kind)


def _nothing_in(variable: str, message: str) -> Manifest:
    """Return the rule that a list of forbidden keys is empty; the refusal names them."""
    name = f"variables.{variable}"
    return _refusal(f"{name}.size() == 0", message, f"{name}.join(', ')")


def _refusal(expression: str, message: str, more: str = "") -> Manifest:
    """Return a rule; `more` is an expression whose text follows the message."""
    found = {
        "expression": expression,
        # What is said where the text of `more` cannot be had, such as 6,000 characters of keys.
        "message": message.rstrip(": "),
        "reason": "Forbidden",
    }
    if more:
        found["messageExpression"] = f"{cel.text(message)} + {more}"
    return found


def _is_one_of(allowed: Iterable[Parent]) -> str:
    """Return the condition that the owner reference `o` is of one of these kinds, in any version."""
    found = (
        f"o.kind == {cel.text(parent.kind)} && o.apiVersion.startsWith({cel.text(parent.group + '/')})"
        for parent in allowed
    )
    return " || ".join(found) or "false"


def _parallelism(kind: str) -> Manifest:
    """Return the rule: to 0 while the old value is written down, or back to what is written there.

    The note changes only together with the value: else any number could be written into it first.
    """
    new, old, note, old_note = (f"variables.{name}" for name in _PARALLELISM)
    return _refusal(
        f"{new} == {old} ? {note} == {old_note} : "
        f"({new} == 0 ? {note} == string({old}) : {old} == 0 && {old_note} == string({new}))",
        f"gangboard may set spec.parallelism of a {kind} to 0 with the old value in "
        f"{PAUSED_PARALLELISM}, or back to that value, and nothing else",
    )


def _of_holds(owners: tuple[Parent, ...]) -> Iterator[Manifest]:
    """Yield what a Hold of gangboard must be like; the CRD's schema says the rest."""
    yield _refusal(
        "request.operation == 'CREATE'", "gangboard makes and deletes Holds and never changes one"
    )
    yield _refusal(
        "object.spec.ownerUID != '' && object.spec.?by.orValue('') != ''"
        " && object.spec.?reason.orValue('') != ''",
        "a Hold of gangboard says in spec whose Job it is about, who wants it and why",
    )
    yield _refusal(
        "object.metadata.?ownerReferences.orValue([]).size() == 1"
        " && object.metadata.ownerReferences.all(o,"
        f" o.uid == object.spec.ownerUID && ({_is_one_of(owners)}))",
        "a Hold of gangboard belongs to the owner whose uid is in spec.ownerUID, and to nobody else",
    )
    yield _refusal(
        "object.metadata.?finalizers.orValue([]).size() == 0"
        f" && object.metadata.?labels.orValue({{}}).all(k, k == {cel.text(_MANAGED_BY)})"
        " && object.metadata.?annotations.orValue({})"
        f".all(k, k.startsWith({cel.text(_OURS)}))",
        f"a Hold of gangboard has no finalizer, no label besides {_MANAGED_BY} and no annotation "
        f"besides {_OURS}*",
    )
