"""Verdict spans. A span begins and ends when the verdict of its gang changes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
from django.db.models import Q
from django.db.models.functions import Greatest

from gangboard.domain.verdict import Finding
from gangboard.store.bulk_statements import delete_in_batches
from gangboard.store.feed import FeedType, add_span_events
from gangboard.store.gangs import decode_detail
from gangboard.store.models import Gang, VerdictSpan

CHUNK = 500
"""Gangs of one statement."""


@dataclass(frozen=True, slots=True)
class _Member:
    node: str = ""


@dataclass(frozen=True, slots=True)
class SpanDetail:
    """The part of a gang's Detail that a span stores, in the same encoding.

    It has the finding of the verdict, and of the nodes named there those that ran the gang's own pods. A
    viewer of the pods may read the names of these nodes.
    """

    findings: tuple[Finding, ...] = ()
    members: tuple[_Member, ...] = ()

    @property
    def own_nodes(self) -> frozenset[str]:
        """Nodes of the gang's own pods that the finding names."""
        return frozenset(member.node for member in self.members)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(SpanDetail)


def request_digest(requests: Mapping[str, str], desired: int) -> str:
    """Return a digest of the average resource request of a member; empty if unknown.

    `requests` is the sum over all desired pods, as decimal strings in base units. Gangs with the same average
    per resource have the same digest; the division between roles does not matter.
    """
    if not requests:
        return ""
    try:
        each = [
            f"{name}={Fraction(Decimal(amount)) / max(desired, 1)}"
            for name, amount in sorted(requests.items())
        ]
    except (ArithmeticError, ValueError):  # Not a finite decimal number.
        return ""
    return hashlib.blake2b("\n".join(each).encode(), digest_size=16).hexdigest()


def unpack_span_detail(data: bytes) -> SpanDetail:
    """Return the Detail of a span; empty if none was stored."""
    return decode_detail(_decoder, data) if data else SpanDetail()


def record_verdicts(
    rows: Sequence[Mapping[str, Any]], before: Mapping[str, Mapping[str, Any]], *, at: datetime
) -> None:
    """Begin a span for each gang whose code or health has changed, and end the previous one.

    `rows` are the gangs as stored now, `before` the previous rows by uid. Call it inside `writing`.

    The open span decides. A gang without one gets one, whatever `before` contains: an older release without
    history stored it, or its owner exists again.
    """
    latest = _latest_spans([row["id"] for row in rows])
    ended: list[VerdictSpan] = []
    earlier: list[VerdictSpan] = []
    new_spans: list[VerdictSpan] = []
    for row in rows:
        span = latest.get(row["id"])
        if span is None:
            span = _span_without_history(row, before.get(row["uid"]))
            earlier += [span] if span is not None else []
        elif _is_unchanged(span, row):
            continue
        else:
            ended.append(span)
        begins = _verdict_start(row, span, at)
        if span is not None:
            span.ended_at, span.last = span.ended_at or begins, False
        new_spans.append(_make_span(row, begins))
    # The ends come first, because a gang must never have two open spans.
    VerdictSpan.objects.bulk_update(ended, ["ended_at", "last"], batch_size=CHUNK)
    VerdictSpan.objects.bulk_create([*earlier, *new_spans], batch_size=CHUNK)
    add_span_events(new_spans, FeedType.VERDICT, at=at)


def end_spans(cluster_id: int, uids: Sequence[str], *, at: datetime) -> None:
    """End the spans of gangs whose owners were deleted. Call it inside `writing`."""
    for start in range(0, len(uids), CHUNK):
        gangs = Gang.objects.filter(cluster_id=cluster_id, uid__in=uids[start : start + CHUNK])
        spans = list(VerdictSpan.objects.filter(gang_id__in=gangs.values("id"), ended_at=None))
        VerdictSpan.objects.filter(pk__in=[span.pk for span in spans]).update(
            ended_at=Greatest("began_at", at), last=True
        )
        add_span_events(spans, FeedType.DELETED, at=at)


def delete_old_spans(*, ended_before: datetime) -> int:
    """Delete the spans that ended before a time in batches, and return their number."""
    return delete_in_batches(
        VerdictSpan.objects.filter(ended_at__lt=ended_before).order_by("ended_at")
    )


def _latest_spans(gang_ids: Sequence[str]) -> dict[str, VerdictSpan]:
    """Return the open span of each gang, else the span of its last deletion."""
    latest: dict[str, VerdictSpan] = {}
    for start in range(0, len(gang_ids), CHUNK):
        spans = (
            VerdictSpan.objects.filter(
                Q(ended_at=None) | Q(last=True), gang_id__in=gang_ids[start : start + CHUNK]
            )
            .only("gang_id", "code", "health", "began_at", "ended_at", "last")
            .order_by("began_at", "pk")
        )
        latest.update((span.gang_id, span) for span in spans)
    return latest


def _is_unchanged(span: VerdictSpan, row: Mapping[str, Any]) -> bool:
    """Return whether the span is open and has the row's code and health. Numbers in sentences do not count."""
    return span.ended_at is None and (span.code, span.health) == (row["code"], row["health"])


def _span_without_history(
    row: Mapping[str, Any], old: Mapping[str, Any] | None
) -> VerdictSpan | None:
    """Return a span for the stored verdict of a gang without history, if that verdict has ended."""
    if old is None or old["gone_at"] is not None:
        return None
    if (old["code"], old["health"]) == (row["code"], row["health"]):
        return None
    return _make_span(old, old["since"])


def _verdict_start(
    row: Mapping[str, Any], before: VerdictSpan | None, observed_at: datetime
) -> datetime:
    """Return when the verdict of the row began, never before the previous span.

    The time of the state counts if it is after the start of that span. A verdict that returns after a time
    without visibility keeps its old time, and begins in the history when it was seen again.
    """
    since: datetime = min(row["since"], observed_at)
    if before is None:
        return since
    if before.ended_at is not None:
        return max(observed_at, before.ended_at)
    # After the clock was set back, the earlier span is empty but never negative.
    return since if since > before.began_at else max(observed_at, before.began_at)


def _make_span(row: Mapping[str, Any], began_at: datetime) -> VerdictSpan:
    return VerdictSpan(
        cluster_id=row["cluster_id"],
        gang_id=row["id"],
        **{
            name: row[name]
            for name in (
                *("api_group", "kind", "namespace", "name", "uid", "created_at"),
                *("health", "stage", "code", "title", "message"),
                *("queue", "desired", "accelerators"),
            )
        },
        findings=_pack_span_detail(bytes(row["detail"])),
        shape=request_digest(row["requests"], row["desired"]),
        began_at=began_at,
    )


def _pack_span_detail(detail: bytes) -> bytes:
    if not detail:
        return b""
    gang_detail = decode_detail(_decoder, detail)
    findings = gang_detail.findings[:1]
    named = set(_node_names(findings)) & {member.node for member in gang_detail.members}
    return _encoder.encode(SpanDetail(findings, tuple(_Member(node) for node in sorted(named))))


def _node_names(findings: Iterable[Finding]) -> Iterable[str]:
    for finding in findings:
        for item in finding.evidence:
            if item.source is not None and item.source.kind == "Node":
                yield item.source.name
