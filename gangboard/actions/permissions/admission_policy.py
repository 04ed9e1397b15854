"""ValidatingAdmissionPolicies that limit the actor to the fields of its levers.

One for each resource that it may write. They look at requests of the actor's account only, and refuse
(`failurePolicy: Fail`) what they cannot judge; nobody else's requests are touched by them. A refusal is
a 403, so that it is not taken for a failed test of a JSON patch (422).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gangboard.domain.hold import HOLD_GROUP
from gangboard.domain.hold_manifest import Manifest
from gangboard.kube.service_accounts import ACTOR, user_name
from gangboard.policy.lever_permissions import (
    Parent,
    PatchedResource,
    PermissionOptions,
    created_resources,
    patched_resources,
)

_API = "admissionregistration.k8s.io/v1"
_OURS = f"{HOLD_GROUP}/"
"""What the annotations that the actor may write begin with."""
_SERVER_SIDE = ("annotations", "generation", "managedFields", "resourceVersion")
"""Metadata that an API server changes with every write; annotations have a rule of their own."""


def admission_policies(wanted: PermissionOptions) -> list[Manifest]:
    """Return the policies, each followed by its binding."""
    found: list[Manifest] = []
    for patched in patched_resources(wanted):
        resource = patched.resource
        found += _policy(
            (resource.group, resource.plural),
            ["UPDATE"],
            list(_variables(patched)),
            list(_validations(patched)),
        )
    for new in created_resources(wanted):
        rules = [_refusal(rule.expression, rule.message) for rule in new.rules]
        found += _policy((new.group, new.plural), ["CREATE", "UPDATE"], [], rules)
    return found


def _policy(
    resource: tuple[str, str],
    operations: list[str],
    variables: list[Manifest],
    validations: list[Manifest],
) -> list[Manifest]:
    group, plural = resource
    name = f"{ACTOR}-{plural}.{group}"
    rule = {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "operations": operations,
        "resources": [plural],
    }
    condition = f"request.userInfo.username == {cel_text(user_name(ACTOR))}"
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
        yield _variable(f"new{self.name}", map_at("object", self.path))
        yield _variable(f"old{self.name}", map_at("oldObject", self.path))
        differs = changed_keys(f"variables.new{self.name}", f"variables.old{self.name}")
        yield _variable(self.forbidden, other_keys(differs, self.allowed))


_METADATA = _Level(("metadata",), _SERVER_SIDE)


def _levels(patched: PatchedResource) -> Iterator[_Level]:
    """Yield the metadata and each map on the way to the fields of the levers."""
    yield _METADATA
    above = dict.fromkeys(path[:depth] for path in patched.fields for depth in range(1, len(path)))
    for path in above:
        allowed = (field[len(path)] for field in patched.fields if field[: len(path)] == path)
        yield _Level(path, tuple(dict.fromkeys(allowed)))


def _variables(patched: PatchedResource) -> Iterator[Manifest]:
    for level in _levels(patched):
        yield from level.variables()
    yield _variable("newAnnotations", map_at("object", ("metadata", "annotations")))
    yield _variable("oldAnnotations", map_at("oldObject", ("metadata", "annotations")))
    differs = changed_keys("variables.newAnnotations", "variables.oldAnnotations")
    foreign = f"({differs}).filter(k, !k.startsWith({cel_text(_OURS)}))"
    yield _variable("forbiddenAnnotations", foreign)
    for bounds in patched.bounds:
        for name, expression in bounds.variables.items():
            yield _variable(name, expression)
    yield _variable(
        "controllers",
        "variables.oldMetadata.?ownerReferences.orValue([])"
        ".filter(o, o.?controller.orValue(false))",
    )


def _variable(name: str, expression: str) -> Manifest:
    return {"name": name, "expression": expression}


def _validations(patched: PatchedResource) -> Iterator[Manifest]:
    """Yield what a write must fulfil."""
    kind = patched.resource.kind
    fields = " and ".join(".".join(path) for path in patched.fields)
    only = f"gangboard may change {fields} of a {kind} and nothing else"
    for level in _levels(patched):
        yield _nothing_in(level.forbidden, f"{only}: not {'.'.join(level.path)}.")
    yield _nothing_in("forbiddenAnnotations", f"{only}: not annotations besides {_OURS}*: ")
    if patched.parents is not None:
        yield _refusal(
            f"variables.controllers.all(o, {_is_one_of(patched.parents)})",
            f"gangboard may not change a {kind} that something else controls: ",
            "variables.controllers.map(o, o.kind + ' ' + o.name).join(', ')",
        )
    if patched.managers is not None:
        *_, name = patched.managed_by
        old = f"variables.old{_Level(patched.managed_by[:-1], ()).name}"
        yield _refusal(
            f"{old}.?{name}.orValue({cel_text(patched.managers[0])}) in {cel_list(patched.managers)}",
            f"gangboard may not change a {kind} that another controller manages: ",
            f"{old}.{name}",
        )
    for bounds in patched.bounds:
        yield _refusal(bounds.rule.expression, bounds.rule.message)


def _nothing_in(variable: str, message: str) -> Manifest:
    """Return the rule that a list of forbidden keys is empty; the refusal names them."""
    name = f"variables.{variable}"
    return _refusal(f"{name}.size() == 0", message, f"{name}.join(', ')")


def _refusal(expression: str, message: str, more: str = "") -> Manifest:
    """Return a rule; `more` is an expression whose text follows the message."""
    found = {
        "expression": expression,
        # The server falls back to it if `more` cannot be evaluated, such as 6,000 characters of keys.
        "message": message.rstrip(": "),
        "reason": "Forbidden",
    }
    if more:
        found["messageExpression"] = f"{cel_text(message)} + {more}"
    return found


def _is_one_of(allowed: Iterable[Parent]) -> str:
    """Return the condition that the owner reference `o` is of one of these kinds, in any version."""
    found = (
        f"o.kind == {cel_text(kind)} && o.apiVersion.startsWith({cel_text(group + '/')})"
        for group, kind in allowed
    )
    return " || ".join(found) or "false"


def cel_text(value: str) -> str:
    """Return a CEL string. Raises ValueError for text that needs escaping, which no name of a kind or field does."""
    if "'" in value or "\\" in value or not value.isprintable():
        raise ValueError(f"{value!r} cannot stand in an expression")
    return f"'{value}'"


def cel_list(values: Iterable[str]) -> str:
    """Return a CEL list of strings."""
    return f"[{', '.join(map(cel_text, values))}]"


def map_at(root: str, path: Iterable[str]) -> str:
    """Return the map at `path` of `object` or `oldObject`, or an empty map.

    Both reach a policy as plain maps, also those of built-in kinds. A policy can go over their fields without knowing
    them, so it also pins fields of a later Kubernetes. `dyn()` keeps the type checker from looking for the fields of a known
    kind (observed on 1.35, 1.36 and 1.37: accepted, no warning in `status.typeChecking`).
    """
    steps = "".join(f".?{step}" for step in path)
    return f"dyn({root}){steps}.orValue({{}})"


def changed_keys(new: str, old: str) -> str:
    """Return the list of keys whose values differ between two maps, those on one side included."""
    return (
        f"{new}.filter(k, !(k in {old} && {old}[k] == {new}[k])) + {old}.filter(k, !(k in {new}))"
    )


def other_keys(keys: str, allowed: Iterable[str]) -> str:
    """Return the list of keys without those that are allowed."""
    return f"({keys}).filter(k, !(k in {cel_list(allowed)}))"
