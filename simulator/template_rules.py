"""Rules of the API server for changes of a Job's pod template (validation of batch/v1, 1.36 and 1.37)."""

from __future__ import annotations

import copy
import json

from simulator import refusals
from simulator.job_status import has_condition
from simulator.resources import JOBS, Resource
from simulator.store import Json

_MUTABLE = ("nodeSelector", "tolerations", "schedulingGates")
"""Fields of the pod spec that may change while a Job is suspended and has no active pod."""


def check(resource: Resource, old: Json, new: Json) -> None:
    """Refuse a change of a template that is immutable now. The stored object decides."""
    if resource != JOBS or old["spec"].get("template") == new["spec"].get("template"):
        return
    if not _is_mutable(old):
        raise _immutable(new, "spec.template", new["spec"]["template"])
    if _fixed_fields(old) != _fixed_fields(new):
        raise _immutable(new, "spec.template.spec", new["spec"]["template"]["spec"])


def _is_mutable(job: Json) -> bool:
    status = job.get("status", {})
    was_stopped = not status.get("startTime") or has_condition(job, "Suspended")
    return bool(job["spec"].get("suspend")) and was_stopped and not status.get("active")


def _fixed_fields(job: Json) -> Json:
    """Return the pod spec without the fields that may change, such as the affinity to nodes."""
    spec: Json = copy.deepcopy(job["spec"]["template"]["spec"])
    for name in _MUTABLE:
        spec.pop(name, None)
    spec.get("affinity", {}).pop("nodeAffinity", None)
    if not spec.get("affinity"):
        spec.pop("affinity", None)
    return spec


def _immutable(job: Json, field: str, value: Json) -> refusals.Refusal:
    why = f"Invalid value: {json.dumps(value)}: field is immutable"
    return refusals.invalid(JOBS, job["metadata"]["name"], field, why, "FieldValueInvalid")
