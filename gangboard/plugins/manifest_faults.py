"""Functions for `OwnerKind.faults`: rules of the API server that several kinds share.

Each function yields a fault for what the API server of 1.37 refuses. Its source is validation.go of pkg/apis/core and of
apimachinery.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from decimal import Decimal
from itertools import chain

from gangboard.decode.quantities import parse_amount
from gangboard.domain.forecast import Manifest, ManifestFault
from gangboard.domain.text import names
from gangboard.plugins.child_manifests import items, name_of, number, section, text

LABEL_LENGTH, SUBDOMAIN_LENGTH = 63, 253
"""Longest DNS label or label value, and longest name of an object, in characters."""
INT32_MAX = 2**31 - 1
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_OF_KUBERNETES = "kubernetes.io"
"""Domain of resources with a prefix whose limit may be above the request."""


def dns_label_fault(
    field: str, value: str, noun: str, *, starts_with_letter: bool = False
) -> Iterator[ManifestFault]:
    """Yield a fault for a text that is no DNS label. `noun` names the text, such as `Its name`."""
    if len(value) > LABEL_LENGTH:
        yield ManifestFault(
            field, f"{noun} {value} has {len(value)} characters, and {LABEL_LENGTH} are allowed."
        )
    elif not (_LABEL_1035 if starts_with_letter else _LABEL).fullmatch(value):
        first = "begins with a letter" if starts_with_letter else "begins with a letter or digit"
        yield ManifestFault(
            field,
            f"{noun} {value or '(empty)'} is no DNS label. One has lower-case letters, digits and -, "
            f"{first}, and ends with a letter or digit.",
        )


def subdomain_fault(field: str, value: str, noun: str) -> Iterator[ManifestFault]:
    """Yield a fault for a text that cannot be the name of an object."""
    if len(value) > SUBDOMAIN_LENGTH:
        yield ManifestFault(
            field,
            f"{noun} has {len(value)} characters, and {SUBDOMAIN_LENGTH} are allowed.",
        )
    elif not all(_LABEL.fullmatch(part) for part in value.split(".")):
        yield ManifestFault(
            field,
            f"{noun} {value or '(empty)'} is no DNS name. One has lower-case letters, digits, - and ., and begins "
            "and ends with a letter or digit.",
        )


def negative_fault(parent: object, path: str, field: str) -> Iterator[ManifestFault]:
    """Yield a fault for a negative number. `path` is the key in `parent`."""
    value = number(parent, path)
    if value is not None and value < 0:
        yield ManifestFault(field, f"{path} is {value}, and it must be 0 or more.")


def unknown_name_fault(
    field: str, value: str, noun: str, known: Collection[str]
) -> Iterator[ManifestFault]:
    """Yield a fault for a reference to a part of the manifest that does not exist."""
    if value not in known:
        existing = f" It has {names(known)}." if known else ""
        yield ManifestFault(field, f"There is no {noun} {value or '(empty)'}.{existing}")


def pod_template_faults(
    template: Manifest, field: str, *, restart_policies: Collection[str] = ()
) -> Iterator[ManifestFault]:
    """Yield the faults of a pod template at a field. `restart_policies` are the allowed values, if not all are."""
    spec = section(template, "spec")
    containers = items(spec, "containers")
    if not containers:
        yield ManifestFault(f"{field}.spec.containers", "The pod template has no container.")
    seen: set[str] = set()
    entries = chain(
        ((f"containers[{index}]", entry) for index, entry in enumerate(containers)),
        (
            (f"initContainers[{index}]", entry)
            for index, entry in enumerate(items(spec, "initContainers"))
        ),
    )
    for key, container in entries:
        name = text(container, "name")
        place = f"{field}.spec.{key}"
        yield from dns_label_fault(f"{place}.name", name, "The container name")
        if name in seen:
            yield ManifestFault(f"{place}.name", f"Two containers have the name {name}.")
        seen.add(name)
        yield from _resource_faults(section(container, "resources"), f"{place}.resources")
    policy = text(spec, "restartPolicy")
    if restart_policies and policy not in restart_policies:
        wanted = " or ".join(restart_policies)
        yield ManifestFault(
            f"{field}.spec.restartPolicy",
            f"restartPolicy is {policy or 'not set, which means Always'}, and it must be {wanted}.",
        )


def pod_faults(manifest: Manifest) -> Iterator[ManifestFault]:
    """Yield what the API server refuses in a pod that a person creates."""
    if name_of(manifest):
        yield from subdomain_fault("metadata.name", name_of(manifest), "Its name")
    for fault in pod_template_faults(manifest, "pod"):
        yield ManifestFault(fault.field.removeprefix("pod."), fault.sentence)


def scheduling_policy_faults(policy: Manifest, field: str) -> Iterator[ManifestFault]:
    """Yield faults of a scheduling policy of a core group at a field (the declarative rules of 1.37)."""
    members = sorted(str(key) for key, value in policy.items() if value is not None)
    if len(members) > 1:
        yield ManifestFault(field, f"It has {' and '.join(members)}, and one policy is allowed.")
    for name in ("minCount", "minGroupCount"):
        minimum = number(policy, "gang", name)
        if minimum is not None and minimum < 1:
            yield ManifestFault(
                f"{field}.gang.{name}", f"{name} is {minimum}, and it must be 1 or more."
            )


def _resource_faults(resources: Manifest, field: str) -> Iterator[ManifestFault]:
    """Yield faults of requests and limits (ValidateContainerResourceRequirements)."""
    amounts: dict[str, dict[str, Decimal]] = {"limits": {}, "requests": {}}
    for kind, parsed in amounts.items():
        for resource, quantity in section(resources, kind).items():
            place = f"{field}.{kind}[{resource}]"
            try:
                amount = parse_amount(str(resource), str(quantity))
            except ValueError as error:
                yield ManifestFault(place, f"The amount is malformed: {error}.")
                continue
            if amount < 0:
                yield ManifestFault(place, f"The amount is {quantity}, and it must be 0 or more.")
            elif _is_extended(str(resource)) and amount != amount.to_integral_value():
                yield ManifestFault(
                    place, f"The amount is {quantity}, and {resource} is counted in whole units."
                )
            parsed[str(resource)] = amount
    for resource, amount in amounts["requests"].items():
        limit = amounts["limits"].get(resource)
        place = f"{field}.requests[{resource}]"
        if limit is not None and amount > limit:
            yield ManifestFault(place, f"The request of {resource} is above its limit.")
        elif _is_extended(resource) and limit is None:
            yield ManifestFault(
                place, f"{resource} has a request and no limit. The limit must equal the request."
            )
        elif _is_extended(resource) and amount != limit:
            yield ManifestFault(
                place, f"The request of {resource} differs from its limit. They must be equal."
            )


def _is_extended(resource: str) -> bool:
    """Return whether nodes cannot overcommit a resource (IsOvercommitAllowed in pkg/apis/core/helper)."""
    domain, slash, _ = resource.partition("/")
    in_units = bool(slash) and not f".{domain}".endswith(f".{_OF_KUBERNETES}")
    return in_units or resource.startswith("hugepages-")
