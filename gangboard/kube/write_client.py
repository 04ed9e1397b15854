"""Writes: each is sent once, and its error says what is known about it."""

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
"""How apiserver (pkg/util/webhook/error.go, admission/plugin/webhook/errors/statuserror.go) begins
the Status of a write that a webhook kept from the store. Webhooks choose the code of a denial."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered to a write that it carried out, or would have (dry run)."""

    body: bytes
    """The object as it is now, as JSON; of a deletion the object or a Status."""
    status: int
    audit_id: str
    """Under which id the server's audit log has it; empty when it did not say."""


class WriteClient:
    """Writes to one API server, for any number of threads. Use one for each action.

    A write is never repeated by itself, and always goes over a connection of its own. All methods
    raise KubeError, whose `reach` says which of three happened: nothing was sent, the server refused
    it, or it is not known.

    Paths start with a slash and are URL-safe. `dry_run` has the server do everything but store it;
    admission takes part. `field_manager` is who then stands in `managedFields`. `deadline`: seconds
    from now to the last byte of the answer; None means the connection's own. A field that the server
    does not know is an error (`fieldValidation=Strict`).
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
        """Apply all operations (RFC 6902) to the object at `path`, or none. Bytes are sent as they are.

        A failing `test` and a path that is not there get the same 422 `Invalid`, without a word on
        which ("the server rejected our request due to an error in our request"): read to tell.
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
        """Delete the object at `path` if it is still the one with this uid; 409 `Conflict` if not.

        What it owns is collected afterwards (Background): the object itself goes at once, unless
        finalizers keep it.
        """
        options: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid},
            "propagationPolicy": "Background",
        }
        if dry_run:
            # Beside a body the server does not look at the query (endpoints/handlers/delete.go).
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
                _reach(error, method) if tls.has_written else WriteOutcome.NOT_SENT
            )
            raise
        return Answer(answer, response.status, audit_id(response.headers))


def _query(dry_run: bool, field_manager: str) -> list[tuple[str, str]]:
    pairs = [("fieldManager", field_manager), ("fieldValidation", "Strict")]
    return [("dryRun", "All"), *pairs] if dry_run else pairs


def _reach(error: KubeError, method: str) -> WriteOutcome:
    """Return what is known about a write of which a byte has left.

    A 4xx is a refusal, whoever between us and the store gives it; a 408 is a proxy that has waited
    too long. A 5xx may come after the object was stored (504 `Timeout`, 500 `InternalError` of a
    store that was slow): only a refusal by a webhook is known to come before. Deleting asks the
    webhooks again between marking the object and removing it (registry/generic/registry/store.go).
    A redirect or a page with 200 is not from an API server: who knows what that one did before.
    """
    status = error.status or 0
    if 400 <= status < 500 and status != 408:
        return WriteOutcome.ANSWERED
    before_storing = _REFUSED_BY_WEBHOOK.match(error.api_status.message)
    if status >= 500 and before_storing and method != "DELETE":
        return WriteOutcome.ANSWERED
    return WriteOutcome.UNKNOWN
