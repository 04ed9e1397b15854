"""Spans of verdicts: each begins and ends when the verdict of its gang changes."""

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
    """What a span keeps of the gang's Detail, in the Detail's own form.

    The finding of the verdict alone, and of the nodes on which the gang's pods were those that the
    finding names: with the pods their names may be told.
    """

    findings: tuple[Finding, ...] = ()
    members: tuple[_Member, ...] = ()

    @property
    def own_nodes(self) -> frozenset[str]:
        """The nodes on which its pods were, as far as the finding names them."""
        return frozenset(member.node for member in self.members)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(SpanDetail)


def request_digest(requests: Mapping[str, str], desired: int) -> str:
    """Return the digest of what one member asks for; empty when nothing is known of that.

    `requests` are those of all desired pods, decimal strings in base units. Alike are gangs whose
    members ask on average for the same of each resource; how it is divided between kinds of
    members is not in it.
    """
    if not requests:
        return ""
    try:
        each = [
            f"{name}={Fraction(Decimal(amount)) / max(desired, 1)}"
            for name, amount in sorted(requests.items())
        ]
    except (ArithmeticError, ValueError):  # not a finite decimal number
        return ""
    return hashlib.blake2b("\n".join(each).encode(), digest_size=16).hexdigest()


def unpack_span_detail(data: bytes) -> SpanDetail:
    """Return what a span keeps of its gang's Detail: empty where nothing was kept."""
    return decode_detail(_decoder, data) if data else SpanDetail()


def record_verdicts(
    rows: Sequence[Mapping[str, Any]], before: Mapping[str, Mapping[str, Any]], *, at: datetime
) -> None:
    """Begin a span for each gang whose code or health is new, and end the one before.

    `rows` are gangs as stored now, `before` the same by uid as they were. Inside `writing`.

    What decides is the open span: a gang that has none (it was stored by a release without
    history, or its owner is there again) gets one, whatever `before` says.
    """
    latest = _latest_spans([row["id"] for row in rows])
    ended: list[VerdictSpan] = []
    begun: list[VerdictSpan] = []
    news: list[VerdictSpan] = []
    for row in rows:
        span = latest.get(row["id"])
        if span is None:
            span = _unrecorded(row, before.get(row["uid"]))
            begun += [span] if span is not None else []
        elif _says(span, row):
            continue
        else:
            ended.append(span)
        begins = _begin(row, span, at)
        if span is not None:
            span.ended_at, span.last = span.ended_at or begins, False
        news.append(_span(row, begins))
    # First the ends: a gang has no two open spans at any moment.
    VerdictSpan.objects.bulk_update(ended, ["ended_at", "last"], batch_size=CHUNK)
    VerdictSpan.objects.bulk_create([*begun, *news], batch_size=CHUNK)
    add_span_events(news, FeedType.VERDICT, at=at)


def end_spans(cluster_id: int, uids: Sequence[str], *, at: datetime) -> None:
    """End the spans of gangs whose owners were seen deleted. Inside `writing`."""
    for start in range(0, len(uids), CHUNK):
        gangs = Gang.objects.filter(cluster_id=cluster_id, uid__in=uids[start : start + CHUNK])
        spans = list(VerdictSpan.objects.filter(gang_id__in=gangs.values("id"), ended_at=None))
        VerdictSpan.objects.filter(pk__in=[span.pk for span in spans]).update(
            ended_at=Greatest("began_at", at), last=True
        )
        add_span_events(spans, FeedType.DELETED, at=at)


def delete_old_spans(*, ended_before: datetime) -> int:
    """Delete the spans that ended before a time, some at a time; return how many."""
    return delete_in_batches(
        VerdictSpan.objects.filter(ended_at__lt=ended_before).order_by("ended_at")
    )


def _latest_spans(gang_ids: Sequence[str]) -> dict[str, VerdictSpan]:
    """Return the open span of each gang, else the one with which it was last seen deleted."""
    found: dict[str, VerdictSpan] = {}
    for start in range(0, len(gang_ids), CHUNK):
        spans = (
            VerdictSpan.objects.filter(
                Q(ended_at=None) | Q(last=True), gang_id__in=gang_ids[start : start + CHUNK]
            )
            .only("gang_id", "code", "health", "began_at", "ended_at", "last")
            .order_by("began_at", "pk")
        )
        found.update((span.gang_id, span) for span in spans)
    return found


def _says(span: VerdictSpan, row: Mapping[str, Any]) -> bool:
    """Whether the span is open and says what the row says; numbers in sentences do not count."""
    return span.ended_at is None and (span.code, span.health) == (row["code"], row["health"])


def _unrecorded(row: Mapping[str, Any], old: Mapping[str, Any] | None) -> VerdictSpan | None:
    """Return a span for what was stored of a gang without any history and is so no more."""
    if old is None or old["gone_at"] is not None:
        return None
    if (old["code"], old["health"]) == (row["code"], row["health"]):
        return None
    return _span(old, old["since"])


def _begin(row: Mapping[str, Any], before: VerdictSpan | None, at: datetime) -> datetime:
    """Return when the verdict of the row began, never before the one that it follows.

    The state's own time counts where it lies after the beginning of that one: a verdict that comes back after
    a while in which nobody could look keeps its old time, and begins in history when it was seen again.
    """
    since: datetime = min(row["since"], at)
    if before is None:
        return since
    if before.ended_at is not None:
        return max(at, before.ended_at)
    # A clock that was set back makes the earlier span an empty one, never a negative one.
    return since if since > before.began_at else max(at, before.began_at)


def _span(row: Mapping[str, Any], began_at: datetime) -> VerdictSpan:
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
    whole = decode_detail(_decoder, detail)
    findings = whole.findings[:1]
    named = set(_nodes(findings)) & {member.node for member in whole.members}
    return _encoder.encode(SpanDetail(findings, tuple(_Member(node) for node in sorted(named))))


def _nodes(findings: Iterable[Finding]) -> Iterable[str]:
    for finding in findings:
        for item in finding.evidence:
            if item.source is not None and item.source.kind == "Node":
                yield item.source.name
