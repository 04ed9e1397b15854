"""Writes. Each is sent once, and its error tells whether it may have changed anything."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from gangboard import __version__
from gangboard.kube.connection import JSON, Connection
from gangboard.kube.error_translation import audit_id
from gangboard.kube.errors import KubeError, WriteOutcome

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
FIELD_MANAGER = "gangboard"

_REFUSED_BY_WEBHOOK = re.compile(
    r'(Internal error occurred: )?failed calling webhook "|admission webhook "[^"]*" denied the request'
)
"""The start of the message in the Status of a write that a webhook refused before it was stored.

Sources: apiserver, pkg/util/webhook/error.go and admission/plugin/webhook/errors/statuserror.go. Webhooks choose the
status code of a denial."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to a write that the server carried out, or would carry out (dry run)."""

    body: bytes
    """The object after the write, as JSON. After a deletion, the object or a Status."""
    status: int
    audit_id: str
    """The id of the request in the server's audit log. Empty if the response has none."""


class WriteClient:
    """Writes to one API server, for any number of threads. Create one for each action.

    A write is never repeated automatically, and always uses a new connection. All methods raise KubeError, whose
    `write_outcome` tells whether the request was not sent, was refused, or has an unknown outcome.

    - Paths start with a slash and are URL-safe.
    - `dry_run`: the server does everything except storing the result. Admission takes part.
    - `field_manager`: the name in `managedFields`.
    - `deadline`: seconds from now to the last byte of the response, by default those of the connection.

    A field that the server does not know is an error (`fieldValidation=Strict`).
    """

    def __init__(self, connection: Connection, *, action: str = "") -> None:
        """`action`: id of the action, which the server's audit log shows in the user agent."""
        self._connection = connection
        self._agent = f"gangboard/{__version__}"
        if action:
            self._agent = f"{self._agent} action/{action}"

    def merge_patch(
        self,
        path: str,
        body: bytes,
        *,
        dry_run: bool = False,
        field_manager: str = FIELD_MANAGER,
        deadline: float | None = None,
    ) -> Answer:
        """Merge `body` (JSON, RFC 7396) into the object at `path`."""
        query = _query(dry_run, field_manager)
        return self._send("PATCH", path, query, body, MERGE_PATCH, deadline)

    def json_patch(
        self,
        path: str,
        operations: Sequence[Mapping[str, Any]] | bytes,
        *,
        dry_run: bool = False,
        field_manager: str = FIELD_MANAGER,
        deadline: float | None = None,
    ) -> Answer:
        """Apply all operations (RFC 6902) to the object at `path`, or none. Bytes are sent unchanged.

        A failing `test` and a missing path get the same 422 `Invalid` with the same text ("the server rejected our
        request due to an error in our request"). Read the object to tell them apart.
        """
        body = operations if isinstance(operations, bytes) else msgspec.json.encode(operations)
        query = _query(dry_run, field_manager)
        return self._send("PATCH", path, query, body, JSON_PATCH, deadline)

    def create(
        self,
        path: str,
        body: bytes,
        *,
        dry_run: bool = False,
        field_manager: str = FIELD_MANAGER,
        deadline: float | None = None,
    ) -> Answer:
        """Create the object `body` (JSON) in the collection at `path`."""
        return self._send("POST", path, _query(dry_run, field_manager), body, JSON, deadline)

    def delete(
        self, path: str, *, uid: str, dry_run: bool = False, deadline: float | None = None
    ) -> Answer:
        """Delete the object at `path` if it still has this uid, otherwise raise a 409 `Conflict`.

        Its dependents are deleted afterwards (Background). The object itself is removed at once, unless finalizers
        keep it.
        """
        options: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid},
            "propagationPolicy": "Background",
        }
        if dry_run:
            # With a body, the server ignores the query (endpoints/handlers/delete.go).
            options["dryRun"] = ["All"]
        return self._send("DELETE", path, [], msgspec.json.encode(options), JSON, deadline)

    def _send(
        self,
        method: str,
        path: str,
        query: list[tuple[str, str]],
        body: bytes,
        content_type: str,
        deadline: float | None,
    ) -> Answer:
        headers = {"Content-Type": content_type, "User-Agent": self._agent}
        tls = self._connection.new_tls_connection()
        try:
            response, answer = self._connection.send(
                tls, method, path, query, body, headers, deadline=deadline
            )
        except KubeError as error:
            error.write_outcome = (
                _write_outcome(error, method) if tls.has_written else WriteOutcome.NOT_SENT
            )
            raise
        return Answer(answer, response.status, audit_id(response.headers))


def _query(dry_run: bool, field_manager: str) -> list[tuple[str, str]]:
    pairs = [("fieldManager", field_manager), ("fieldValidation", "Strict")]
    return [("dryRun", "All"), *pairs] if dry_run else pairs


def _write_outcome(error: KubeError, method: str) -> WriteOutcome:
    """Return the outcome of a write of which a byte was sent.

    - A 4xx is a refusal, whether by the server or by a proxy. The exception is 408, by a proxy that waited too long.
    - A 5xx may follow after the object was stored (504 `Timeout`, 500 `InternalError` of a slow store). The exception
      is a refusal by a webhook, which comes before that. A deletion asks the webhooks again between marking the
      object and removing it (registry/generic/registry/store.go).
    - A redirect, or a page with status 200, is not from an API server, so its effect is unknown.
    """
    status = error.status or 0
    if 400 <= status < 500 and status != 408:
        return WriteOutcome.ANSWERED
    before_storing = _REFUSED_BY_WEBHOOK.match(error.api_status.message)
    if status >= 500 and before_storing and method != "DELETE":
        return WriteOutcome.ANSWERED
    return WriteOutcome.UNKNOWN
