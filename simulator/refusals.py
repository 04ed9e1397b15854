"""Refusals of the API server: Status objects with the texts of the real server."""

from __future__ import annotations

from typing import Any

from simulator.resources import Resource

Json = dict[str, Any]

_TOO_OLD_PAGE = (
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


class Refusal(Exception):  # noqa: N818 - a refusal is an answer, not an error of ours
    """A response other than success. `body` is the Status object to send."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Json | None = None,
        meta: Json | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.headers = headers or {}
        self.body: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": meta or {},
            "status": "Failure",
            "message": message,
            "reason": reason,
        }
        if details is not None:
            self.body["details"] = details
        self.body["code"] = code


def _details(resource: Resource, name: str, causes: list[Json] | None = None) -> Json:
    details: Json = {"name": name}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.plural
    if causes:
        details["causes"] = causes
    return details


class PageNotFound(Exception):  # noqa: N818 - an answer, not an error of ours
    """An unknown path: the one 404 with a plain text."""


def path_not_found() -> Refusal:
    """Return the refusal of a path that is not served."""
    message = "the server could not find the requested resource"
    return Refusal(404, "NotFound", message, details={})


def not_found(resource: Resource, name: str) -> Refusal:
    """Return the refusal for a missing object of a served resource."""
    message = f'{resource.full} "{name}" not found'
    return Refusal(404, "NotFound", message, details=_details(resource, name))


def already_exists(resource: Resource, name: str) -> Refusal:
    """Return the refusal of a name that is taken."""
    message = f'{resource.full} "{name}" already exists'
    return Refusal(409, "AlreadyExists", message, details=_details(resource, name))


def conflict(resource: Resource, name: str, reason: str) -> Refusal:
    """Return the refusal of a failed precondition on uid or resourceVersion."""
    message = f'Operation cannot be fulfilled on {resource.full} "{name}": {reason}'
    return Refusal(409, "Conflict", message, details=_details(resource, name))


def modified(resource: Resource, name: str) -> Refusal:
    """Return the refusal of an outdated resourceVersion."""
    reason = (
        "the object has been modified; please apply your changes to the latest version and "
        "try again"
    )
    return conflict(resource, name, reason)


def other_uid(resource: Resource, name: str, requested: str) -> Refusal:
    """Return the refusal of a patch for another object of the same name, which is invalid rather than a conflict."""
    reason = f'Invalid value: "{requested}": field is immutable'
    return invalid(resource, name, "metadata.uid", reason, "FieldValueInvalid")


def precondition_failed(
    resource: Resource, name: str, field: str, requested: str, actual: str
) -> Refusal:
    """Return the refusal of a deletion with a failed precondition. `what` is UID or ResourceVersion."""
    fate = "deleted and then recreated" if field == "UID" else "modified"
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    message = (
        f'Operation cannot be fulfilled on {kind} "{name}": the {field} in the precondition '
        f"({requested}) does not match the {field} in record ({actual}). The object might have been "
        f"{fate}"
    )
    details = {**_details(resource, name), "kind": resource.kind}
    return Refusal(409, "Conflict", message, details=details)


def invalid(resource: Resource, name: str, field: str, why: str, reason: str) -> Refusal:
    """Return the refusal of an invalid field value."""
    causes = [{"reason": reason, "message": why, "field": field}]
    details = _details(resource, name, causes)
    details["kind"] = resource.kind
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    message = f'{kind} "{name}" is invalid: {field}: {why}'
    return Refusal(422, "Invalid", message, details=details)


def patch_not_applicable() -> Refusal:
    """Return the refusal of a JSON patch with a failing test or a missing path."""
    message = "the server rejected our request due to an error in our request"
    return Refusal(422, "Invalid", message, details={})


def bad_request(message: str) -> Refusal:
    """Return the refusal of a malformed request."""
    return Refusal(400, "BadRequest", message)


def unsupported_media(resource: Resource) -> Refusal:
    """Return the refusal of an unsupported patch type."""
    if not resource.custom:
        message = "415: Unsupported Media Type"
        return Refusal(415, "UnsupportedMediaType", message, details={})
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )
    return Refusal(415, "UnsupportedMediaType", message)


def method_not_allowed() -> Refusal:
    """Return the refusal of a method that the path does not support."""
    message = "the server does not allow this method on the requested resource"
    return Refusal(405, "MethodNotAllowed", message, details={})


def unauthorized() -> Refusal:
    """Return the refusal of a missing or unknown token."""
    return Refusal(401, "Unauthorized", "Unauthorized")


def forbidden(
    user: str, verb: str, resource: Resource, name: str, namespace: str, *, subresource: str = ""
) -> Refusal:
    """Return the refusal of a request without permission."""
    plural = f"{resource.plural}/{subresource}" if subresource else resource.plural
    scope = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    target = f'{resource.full} "{name}"' if name else resource.full
    message = (
        f'{target} is forbidden: User "{user}" cannot {verb} resource "{plural}" '
        f'in API group "{resource.group}" {scope}'
    )
    details = _details(resource, name)
    if not name:
        del details["name"]
    return Refusal(403, "Forbidden", message, details=details)


def too_old_version(requested: int, oldest: int) -> Refusal:
    """Return the refusal of a watch from a resourceVersion whose history is gone."""
    return Refusal(410, "Expired", f"too old resource version: {requested} ({oldest})")


def too_old_token(resume: str) -> Refusal:
    """Return the refusal of a page whose snapshot is gone. `resume` continues without consistency."""
    return Refusal(410, "Expired", _TOO_OLD_PAGE, meta={"continue": resume})


def too_large_version(requested: int, current: int) -> Refusal:
    """Return the refusal of a list that requires a future resourceVersion."""
    message = f"Timeout: Too large resource version: {requested}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details: Json = {"causes": [cause], "retryAfterSeconds": 1}
    return Refusal(504, "Timeout", message, details=details)


def throttled(retry_after: int) -> Refusal:
    """Return the refusal of a throttled request."""
    return Refusal(
        429,
        "TooManyRequests",
        "Too many requests, please try again later.",
        details={"retryAfterSeconds": retry_after},
        headers={
            "Retry-After": str(retry_after),
            "X-Kubernetes-PF-FlowSchema-UID": "5b1a3c5e-6f0b-4a53-8a7a-1b9d6f1a0c11",
            "X-Kubernetes-PF-PriorityLevel-UID": "0c3be3c5-8c5e-4a0b-9f5d-2d5b8d0e7a22",
        },
    )


def webhook_down(webhook: str) -> Refusal:
    """Return the refusal by an admission webhook with `failurePolicy: Fail` that does not answer."""
    reason = (
        f'failed calling webhook "{webhook}": failed to call webhook: Post '
        f'"https://{webhook}/admit?timeout=10s": dial tcp 127.0.0.1:9: connect: connection refused'
    )
    return Refusal(
        500,
        "InternalError",
        f"Internal error occurred: {reason}",
        details={"causes": [{"message": reason}]},
    )


def generic(code: int, reason: str = "", message: str = "") -> Refusal:
    """Return any other refusal, by default with the server's usual text."""
    texts = {
        409: (
            "Conflict",
            "Operation cannot be fulfilled: the object has been modified; please apply your "
            "changes to the latest version and try again",
        ),
        422: ("Invalid", "the server rejected our request due to an error in our request"),
        500: ("InternalError", "Internal error occurred: etcdserver: request timed out"),
        502: ("BadGateway", "Bad Gateway"),
        503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
        504: ("Timeout", "Timeout: request did not complete within the allotted timeout"),
    }
    usual = texts.get(code, ("Unknown", f"an error with the code {code}"))
    return Refusal(code, reason or usual[0], message or usual[1])
