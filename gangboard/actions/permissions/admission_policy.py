"""ValidatingAdmissionPolicies that limit the actor to the fields of its levers.

There is one policy for each resource that the actor may write. It matches only requests of the actor's
account and refuses requests that it cannot evaluate (`failurePolicy: Fail`). A refusal is a 403, so
that it differs from a failed test of a JSON patch (422).
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
    cordoned_nodes,
    created_resources,
    patched_resources,
)

_API = "admissionregistration.k8s.io/v1"
_OURS = f"{HOLD_GROUP}/"
"""Prefix of the annotations that the actor may write."""
_SERVER_SIDE = ("annotations", "generation", "managedFields", "resourceVersion")
"""Metadata that an API server changes with every write. Annotations have a rule of their own."""


def admission_policies(options: PermissionOptions) -> list[Manifest]:
    """Return the policies, each followed by its binding."""
    policies: list[Manifest] = []
    nodes = cordoned_nodes(options)
    for patched in (*patched_resources(options), *((nodes,) if nodes is not None else ())):
        resource = patched.resource
        policies += _policy(
            (resource.group, resource.plural),
            ["UPDATE"],
            list(_variables(patched)),
            list(_validations(patched)),
        )
    for new in created_resources(options):
        rules = [_refusal(rule.expression, rule.message) for rule in new.rules]
        policies += _policy((new.group, new.plural), ["CREATE", "UPDATE"], [], rules)
    return policies


def _policy(
    resource: tuple[str, str],
    operations: list[str],
    variables: list[Manifest],
    validations: list[Manifest],
) -> list[Manifest]:
    group, plural = resource
    name = f"{ACTOR}-{plural}.{group}".rstrip(".")
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
    """A map in the object, and the keys of it that may change."""

    path: tuple[str, ...]
    allowed: tuple[str, ...]

    @property
    def name(self) -> str:
        """The suffix of its variables' names: `Metadata`, `SpecRunPolicy`."""
        return "".join(step[:1].upper() + step[1:] for step in self.path)

    @property
    def forbidden(self) -> str:
        """The name of the variable with the changed keys that are not allowed."""
        return f"forbidden{self.name}"

    def variables(self) -> Iterator[Manifest]:
        """Yield the new map, the old map, and the changed keys that are not allowed."""
        yield _variable(f"new{self.name}", map_at("object", self.path))
        yield _variable(f"old{self.name}", map_at("oldObject", self.path))
        differs = changed_keys(f"variables.new{self.name}", f"variables.old{self.name}")
        yield _variable(self.forbidden, other_keys(differs, self.allowed))


_METADATA = _Level(("metadata",), _SERVER_SIDE)


def _levels(patched: PatchedResource) -> Iterator[_Level]:
    """Yield the metadata and each map on the path to the levers' fields."""
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
    """Yield the rules that a write must meet."""
    kind = patched.resource.kind
    fields = " and ".join(".".join(path) for path in patched.fields)
    only = f"gangboard may change {fields} of a {kind} and nothing else"
    for level in _levels(patched):
        yield _empty_rule(level.forbidden, f"{only}: not {'.'.join(level.path)}.")
    yield _empty_rule("forbiddenAnnotations", f"{only}: not annotations besides {_OURS}*: ")
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


def _empty_rule(variable: str, message: str) -> Manifest:
    """Return the rule that a list of forbidden keys is empty. The refusal names the keys."""
    name = f"variables.{variable}"
    return _refusal(f"{name}.size() == 0", message, f"{name}.join(', ')")


def _refusal(expression: str, message: str, suffix: str = "") -> Manifest:
    """Return a rule. `suffix` is an expression whose text follows the message."""
    rule = {
        "expression": expression,
        # The server uses it if the evaluation of `suffix` fails, such as with 6,000 characters of keys.
        "message": message.rstrip(": "),
        "reason": "Forbidden",
    }
    if suffix:
        rule["messageExpression"] = f"{cel_text(message)} + {suffix}"
    return rule


def _is_one_of(allowed: Iterable[Parent]) -> str:
    """Return the condition that the owner reference `o` is of one of these kinds, in any version."""
    conditions = (
        f"o.kind == {cel_text(kind)} && o.apiVersion.startsWith({cel_text(group + '/')})"
        for group, kind in allowed
    )
    return " || ".join(conditions) or "false"


def cel_text(value: str) -> str:
    """Return a CEL string. Raises ValueError for text that needs escaping. Names of kinds and fields do not."""
    if "'" in value or "\\" in value or not value.isprintable():
        raise ValueError(f"{value!r} cannot stand in an expression")
    return f"'{value}'"


def cel_list(values: Iterable[str]) -> str:
    """Return a CEL list of strings."""
    return f"[{', '.join(map(cel_text, values))}]"


def map_at(root: str, path: Iterable[str]) -> str:
    """Return the map at `path` of `object` or `oldObject`, or an empty map.

    A policy sees both as plain maps, also for built-in kinds. It can iterate over fields that it does not
    know, so it also protects the fields of later Kubernetes releases. `dyn()` keeps the type checker from
    checking the fields of a known kind (observed on 1.35, 1.36 and 1.37: accepted, no warning in
    `status.typeChecking`).
    """
    steps = "".join(f".?{step}" for step in path)
    return f"dyn({root}){steps}.orValue({{}})"


def changed_keys(new: str, old: str) -> str:
    """Return the list of keys whose values differ between two maps, including keys of only one map."""
    return (
        f"{new}.filter(k, !(k in {old} && {old}[k] == {new}[k])) + {old}.filter(k, !(k in {new}))"
    )


def other_keys(keys: str, allowed: Iterable[str]) -> str:
    """Return the list of keys without the allowed ones."""
    return f"({keys}).filter(k, !(k in {cel_list(allowed)}))"
