"""Lines: a toy Job with a ticket that is not open waits in one."""

from __future__ import annotations

from gangboard.decode.wire import Wire, WireMeta, read_meta
from gangboard.domain.api_resource import Resource
from gangboard.domain.queue import QueueEntry
from gangboard.plugins.queue_system import QueueSystem


class _Spec(Wire):
    uid: str = ""
    line: str = ""


class _Status(Wire):
    open: bool = False


class Ticket(Wire):
    """A ticket as served."""

    metadata: WireMeta
    spec: _Spec | None = None
    status: _Status | None = None


def _build(wire: Ticket, version: str) -> QueueEntry:
    spec = wire.spec or _Spec()
    return QueueEntry(
        read_meta(wire.metadata, "toys.example", "Ticket", version),
        queue=spec.line,
        admitted=(wire.status or _Status()).open,
        owner_uid=spec.uid,
    )


class Lines(QueueSystem):
    """Lines of toys."""

    label = "Toy lines"
    owner_label = "toys.example/line"
    resources = (
        Resource("toys.example", "tickets", "Ticket", ("v1",), Ticket, QueueEntry, _build),
    )
