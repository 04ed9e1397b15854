"""One gang as plain text for a terminal, with everything on its page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gangboard.domain.health import Health
from gangboard.pages.gang.history import DeletedGang
from gangboard.pages.gang.rows import GangDetail, JobRow
from gangboard.readmodels.fit import FitReasonRow, FitShape
from gangboard.readmodels.formatting import age_text, printable, verdict_age_text
from gangboard.readmodels.freshness import Freshness
from gangboard.store.access import Viewer
from gangboard.store.models import Cluster, Gang

FORMAT = "CLUSTER/NAMESPACE/KIND[.GROUP]/NAME"
_INDENT = "  "


class NotFoundError(LookupError):
    """The gang does not exist, or there is more than one. The text is a sentence or two for a person."""


@dataclass(frozen=True, slots=True)
class GangAddress:
    """The address with which a person names a gang."""

    cluster: str
    namespace: str
    kind: str
    api_group: str | None
    """The API group, or None if the address has none. It is empty for the core group, written as `Pod.`."""
    name: str


def read_address(text: str) -> GangAddress:
    """Parse `CLUSTER/NAMESPACE/KIND[.GROUP]/NAME`. Raises ValueError with a sentence."""
    segments = text.split("/")
    if len(segments) != 4 or not all(segments) or "\x00" in text:
        raise ValueError(f"{text!r} is not {FORMAT}, such as east/research/JobSet/llama-ft")
    cluster, namespace, kind, name = segments
    kind, dot, group = kind.partition(".")
    return GangAddress(cluster, namespace, kind, group if dot else None, name)


def find_gang(address: GangAddress, *, viewer: Viewer) -> str:
    """Return the id of the gang. A deleted gang counts only if no other has its name.

    Raises NotFoundError, which lists the existing gangs.
    """
    gangs = Gang.objects.filter(
        viewer.gang_filter(),
        cluster__name=address.cluster,
        namespace=address.namespace,
        name=address.name,
    )
    named = list(gangs.order_by("-first_seen_at"))
    matches = [gang for gang in named if gang.kind.lower() == address.kind.lower()]
    if address.api_group is not None:
        matches = [gang for gang in matches if gang.api_group == address.api_group]
    living = [gang for gang in matches if gang.gone_at is None]
    groups = sorted({gang.api_group for gang in living or matches})
    if len(groups) > 1:
        addresses = " or ".join(
            f"{address.cluster}/{address.namespace}/{matches[0].kind}.{group}/{address.name}"
            for group in groups
        )
        raise NotFoundError(
            f"there is more than one {matches[0].kind} of that name: write {addresses}"
        )
    if matches:
        return (living or matches)[0].pk
    raise NotFoundError(_not_found_sentence(address, named, viewer))


def explain_deleted(gang: DeletedGang, now: datetime) -> str:
    """Return the last state of a gang that was deleted more than an hour ago."""
    age = age_text(gang.observed_at, now)
    return f"Deleted {age} ago. Last state: {gang.face.label}. Its page has its history."


def _not_found_sentence(address: GangAddress, named: list[Gang], viewer: Viewer) -> str:
    clusters = list(Cluster.objects.filter(viewer.cluster_filter()).values_list("name", flat=True))
    if address.cluster not in clusters:
        names = ", ".join(clusters) or "none"
        return f"there is no cluster {address.cluster!r}; the clusters are: {names}"
    group = f".{address.api_group}" if address.api_group else ""
    gang_label = f"{address.kind}{group} {address.namespace}/{address.name}"
    text = f"no gang {gang_label} is known in cluster {address.cluster}"
    if named:
        kinds = ", ".join(sorted({f"{gang.kind}.{gang.api_group}" for gang in named}))
        return f"{text}; of that name there is: {printable(kinds)}"
    return f"{text}. A gang is named by its topmost owner: the JobSet, not its Jobs or pods"


def explain(detail: GangDetail, *, freshness: Freshness, now: datetime) -> tuple[str, ...]:
    """Return the lines of the report, unwrapped."""
    blocks = (
        _head(detail, now),
        _list("Next steps", detail.row.advice),
        _evidence(detail),
        _members(detail),
        _fit(detail.fit),
        _other_findings(detail),
        _wait(detail),
        _timeline(detail),
        _freshness(detail, freshness, now),
    )
    lines: list[str] = []
    for block in map(list, blocks):
        if block:
            lines += [*([""] if lines else []), *block]
    return tuple(lines)


def _head(detail: GangDetail, now: datetime) -> Iterator[str]:
    row = detail.row
    version = f"{row.api_group}/{row.api_version}".strip("/")
    yield f"{row.kind} {row.namespace}/{row.name} in cluster {row.cluster} ({version})"
    # An unknown health has no stage.
    stage = "" if row.health == Health.UNKNOWN else f" · stage {row.stage}"
    if row.gone_at is not None:
        yield f"Deleted {age_text(row.gone_at, now)} ago. Last state: {row.face.label}."
    age = verdict_age_text(row.since, row.gone_at or now, first_seen=row.since_first_seen)
    yield f"{row.face.icon} {row.last_face.label}{stage} · {row.code} · for {age}"
    yield ""
    yield row.message


def _list(title: str, texts: Iterable[str]) -> Iterator[str]:
    lines = tuple(texts)
    if lines:
        yield title
        yield from (f"{_INDENT}- {text}" for text in lines)


def _evidence(detail: GangDetail) -> Iterator[str]:
    if detail.verdict is not None and detail.verdict.evidence:
        yield "Evidence"
        evidence: dict[str, list[str]] = {}
        for item in detail.verdict.evidence:
            evidence.setdefault(item.label, []).append(item.value)
        yield from _columns([(label, ", ".join(values)) for label, values in evidence.items()])


def _members(detail: GangDetail) -> Iterator[str]:
    row, members = detail.row, detail.row.members
    if not row.members_known:
        counts = "not known"
    else:
        quorum = "" if members.quorum is None else f", quorum {members.quorum}"
        ready = f"{'was ' if row.members_were else ''}{members.ready} of {members.desired} ready"
        counts = (
            f"{ready}{quorum}; {members.created} created, {members.scheduled} scheduled, "
            f"{members.succeeded} succeeded, {members.failed} failed, {members.held} held"
        )
    facts = [("Members", counts)]
    if row.requests_shown:
        facts.append(("Asks for", ", ".join(f"{text} {name}" for name, text in row.requests_shown)))
    facts += [("Queue", row.queue or "none"), ("Priority", row.priority or "none given")]
    if row.max_restarts is not None or row.restarts:
        most = "" if row.max_restarts is None else f" of {row.max_restarts}"
        facts.append(("Restarts", f"{row.restarts}{most}"))
    yield "Gang"
    yield from _columns(facts)
    if detail.jobs:
        yield ""
        yield "Jobs"
        yield from _columns([_job(job) for job in detail.jobs])


def _job(job: JobRow) -> tuple[str, ...]:
    nodes = ", ".join(job.shown_nodes) + (f" and {job.more_nodes} more" if job.more_nodes else "")
    ready = f"{'was ' if job.is_past else ''}{job.ready}/{job.desired} ready"
    return (job.name, job.state.label, ready, " · ".join(filter(None, (nodes, job.message))))


def _fit(shapes: tuple[FitShape, ...]) -> Iterator[str]:
    if not shapes:
        return
    yield "Where the waiting pods could go (counts each shape alone)"
    for shape in shapes:
        name = shape.shape or shape.unit
        request = f"; one asks for {shape.asks}" if shape.asks else ""
        yield f"{_INDENT}{name}: {shape.waiting} waiting{request}"
        if shape.why:
            yield f"{_INDENT * 2}unknown: {shape.why}"
            continue
        yield (
            f"{_INDENT * 2}fit now: {'at most ' if shape.unsupported else ''}{shape.fits_now}; "
            f"fit if empty: {shape.fits_empty}"
        )
        if shape.unsupported:
            yield f"{_INDENT * 2}not checked: {', '.join(shape.unsupported)}"
        width = len(str(shape.nodes))
        counts = [
            (shape.open_nodes, "can take one more pod"),
            *((row.nodes, f"full: {row.text}{_reason_details(row)}") for row in shape.saturated),
            *((row.nodes, f"excluded: {row.text}{_reason_details(row)}") for row in shape.excluded),
            (shape.nodes, "nodes in all"),
        ]
        yield from (f"{_INDENT * 2}{number:>{width}}  {text}" for number, text in counts)
        if shape.blockers:
            yield from _blockers(shape)


def _blockers(shape: FitShape) -> Iterator[str]:
    """Yield what keeps nodes out, with all its nodes and those that it alone keeps out."""
    yield f"{_INDENT * 2}{shape.blocker_sentence}"
    for row in shape.blockers:
        alone = "unknown" if row.only_nodes is None else row.only_nodes
        names = ", ".join(row.examples) + (", …" if row.examples and row.more > 0 else "")
        where = f" ({names})" if names else ""
        yield f"{_INDENT * 3}{row.text}: {row.nodes}, by it alone {alone}{where}"
    if shape.more_blockers:
        yield f"{_INDENT * 3}and {shape.more_blockers} more"


def _reason_details(row: FitReasonRow) -> str:
    names = ", ".join(row.examples) + (", …" if row.examples and row.more > 0 else "")
    detail = f" {row.detail}" if row.detail else ""
    return f"{detail} ({names})" if names else detail


def _other_findings(detail: GangDetail) -> Iterator[str]:
    if not detail.other_findings:
        return
    yield "Also found"
    for finding in detail.other_findings:
        unit = f" {finding.unit}:" if finding.unit else ""
        yield f"{_INDENT}{finding.face.label} · {finding.code}:{unit} {finding.message}"
        yield from (f"{_INDENT * 2}- {text}" for text in finding.advice)


def _timeline(detail: GangDetail) -> Iterator[str]:
    if detail.timeline:
        yield "Timeline, newest first"
    for entry in detail.timeline:
        state = f"{entry.face.label} · " if entry.kind != "action" else ""
        lasted = f" for {entry.duration}" if entry.duration else ""
        by = f" (by {entry.actor})" if entry.actor else ""
        message = f": {entry.message}" if entry.message else ""
        yield f"{_INDENT}{_exact(entry.at)}  {state}{entry.title}{lasted}{by}{message}"


def _wait(detail: GangDetail) -> Iterator[str]:
    wait, typical = detail.gang_history.wait, detail.gang_history.typical
    if wait is None:
        return
    by_stage = ", ".join(f"{stage.text} {stage.label}" for stage in wait.parts)
    since = "" if wait.from_creation else f", counted from {_exact(wait.started_at)}"
    yield f"{wait.verb} {wait.text} {wait.until}{since}{': ' if by_stage else ''}{by_stage}"
    if typical is not None and typical.median_seconds is not None:
        yield f"{_INDENT}Typical wait (same queue, size and requests per member): {typical.text} ({typical.cases} gangs)"
    elif typical is not None:
        yield f"{_INDENT}Typical wait: unknown, too few similar gangs have run."


def _freshness(detail: GangDetail, freshness: Freshness, now: datetime) -> Iterator[str]:
    if freshness.contact_at is None:
        yield f"Cluster {freshness.cluster} {freshness.has_not_once}."
        return
    yield (
        f"As of {age_text(detail.row.observed_at, now)} ago ({_exact(detail.row.observed_at)}). "
        f"Cluster {freshness.cluster} is {freshness.label}: it answered "
        f"{age_text(freshness.contact_at, now)} ago."
    )
    if detail.cluster_sentence:
        yield detail.cluster_sentence


def _exact(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _columns(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield rows with aligned columns. The last column has no fixed width."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [text.ljust(width) for text, width in zip(row[:-1], widths, strict=True)]
        yield (_INDENT + "  ".join([*cells, row[-1]])).rstrip()
