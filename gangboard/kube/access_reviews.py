"""Access reviews: the permissions of an account by the API server itself (authorization.k8s.io/v1).

No request changes anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import msgspec

from gangboard.kube.connection import Connection
from gangboard.kube.errors import KubeError, KubeErrorCode

_ROOT = "/apis/authorization.k8s.io/v1"


class _Rule(msgspec.Struct, rename="camel"):
    verbs: list[str] | None = None
    api_groups: list[str] | None = None
    resources: list[str] | None = None
    resource_names: list[str] | None = None

    def allows(self, group: str, plural: str, verb: str) -> bool:
        return not self.resource_names and all(
            {value, "*"} & set(listed or ())
            for value, listed in (
                (group, self.api_groups),
                (plural, self.resources),
                (verb, self.verbs),
            )
        )


@dataclass(frozen=True, slots=True)
class NamespaceRules:
    """The permissions of the account in one namespace."""

    rules: tuple[_Rule, ...]
    """The rules of authorizers that can list them. An operation outside of them may be allowed nevertheless."""

    def allows(self, group: str, plural: str, verb: str) -> bool:
        """Return whether a rule allows the verb on all objects of the resource."""
        return any(rule.allows(group, plural, verb) for rule in self.rules)


class _AccessStatus(msgspec.Struct):
    allowed: bool


class _AccessReview(msgspec.Struct):
    status: _AccessStatus


class _RulesStatus(msgspec.Struct, rename="camel"):
    resource_rules: list[_Rule] | None = None


class _RulesReview(msgspec.Struct):
    status: _RulesStatus


def is_allowed(connection: Connection, group: str, plural: str, verb: str) -> bool:
    """Return whether the account may do this in every namespace. Raises KubeError."""
    attributes = {"group": group, "resource": plural, "verb": verb}
    spec = {"resourceAttributes": attributes}
    return _review(connection, "SelfSubjectAccessReview", spec, _AccessReview).status.allowed


def namespace_rules(connection: Connection, namespace: str) -> NamespaceRules:
    """Return the permissions of the account in a namespace. Raises KubeError."""
    spec = {"namespace": namespace}
    status = _review(connection, "SelfSubjectRulesReview", spec, _RulesReview).status
    return NamespaceRules(tuple(status.resource_rules or ()))


T = TypeVar("T")


def _review(connection: Connection, kind: str, spec: object, answer: type[T]) -> T:
    path = f"{_ROOT}/{kind.lower()}s"
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    try:
        return msgspec.json.decode(connection.review(path, msgspec.json.encode(body)), type=answer)
    except (msgspec.DecodeError, RecursionError) as error:
        raise KubeError(
            KubeErrorCode.NOT_JSON,
            f"{connection.host} answered POST {path} with JSON that is not a {kind}.",
        ) from error
