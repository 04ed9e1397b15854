"""The evidence about one gang as Markdown for a ticket, with everything on its page for this viewer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from gangboard.domain.shell import command_line
from gangboard.domain.text import count
from gangboard.pages.gang.rows import GangDetail, JobRow
from gangboard.readmodels.advice import AdviceStepRow
from gangboard.readmodels.fit import EqualShapes, fold_equal_shapes
from gangboard.readmodels.formatting import age_text, verdict_age_text
from gangboard.readmodels.gangs import GangRow
from gangboard.readmodels.members import Branch, make_branches

MOST_TIMELINE = 20
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#&])")
"""Characters with a meaning in Markdown or its HTML. Names and numbers contain none of them but `_`."""
_TOKEN = re.compile(r"\S+")
_LINKED = re.compile(r"[@#]|://|www\.", re.IGNORECASE)
"""GitHub and GitLab turn words with these into mentions, references and links, even when escaped."""


def bundle_text(detail: GangDetail, now: datetime) -> str:
    """Return the document. Every text from a cluster is escaped, because pod owners control it."""
    sections = (
        _head(detail, now),
        _list("Next step", [_step(step) for step in detail.row.next_steps]),
        _evidence(detail),
        _tree(detail, detail.row.gone_at or now),
        _fit(detail),
        _other_findings(detail),
        _timeline(detail),
        _groups(detail),
        _events(detail),
        _facts(detail.row, detail),
        _commands(detail),
    )
    blocks = ("\n".join(lines) for section in sections if (lines := list(section)))
    return "\n\n".join(blocks) + "\n"


def _head(detail: GangDetail, now: datetime) -> Iterator[str]:
    row = detail.row
    version = f"{row.api_group}/{row.api_version}".strip("/")
    yield f"# {_text(row.kind)} {_text(f'{row.namespace}/{row.name}')} in cluster {_text(row.cluster)}"
    yield ""
    if row.gone_at is not None:
        yield f"Deleted at {_time(row.gone_at)}. Last state: {row.face.label}."
        yield ""
    age = verdict_age_text(row.since, row.gone_at or now, first_seen=row.since_first_seen)
    yield f"**{row.last_face.label}** ({_code(row.code)}) for {age}: {_text(row.message)}"
    yield ""
    yield f"As of {_time(row.observed_at)}, written {_time(now)}. {_code(version)}, uid {_code(row.uid)}."
    if row.stale and detail.cluster_sentence:
        yield f"May be out of date: {_text(detail.cluster_sentence)}"


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from (f"## {title}", "", *(f"{n}. {line}" for n, line in enumerate(lines, 1)))


def _step(step: AdviceStepRow) -> str:
    """Return a step of advice. Its command is formatted as code, so that people can copy it."""
    command = command_line(step.command)
    before, code, after = step.sentence.partition(command) if command else (step.sentence, "", "")
    return _text(before) + _code(code) + _text(after)


def _evidence(detail: GangDetail) -> Iterator[str]:
    if detail.verdict is None or not detail.verdict.evidence:
        return
    yield from _table(
        "Evidence",
        ("What", "Seen"),
        ((_text(item.label), _code(item.value)) for item in detail.verdict.evidence),
    )


def _tree(detail: GangDetail, end: datetime) -> Iterator[str]:
    branches = {branch.name: branch for branch in make_branches(detail.members)}
    rows: list[tuple[str, ...]] = []
    for job in detail.jobs:
        rows += _branch(job, branches.pop(job.name, None), end)
    for branch in branches.values():
        rows += _branch(None, branch, end)
    members = detail.row.members
    title = f"Jobs and pods: {members.ready} of {members.desired} ready" if rows else ""
    if detail.row.members_were or not detail.row.members_known:
        title = "Jobs and pods when last read"
    yield from _table(title, ("Name", "State", "Node", "Since", "Restarts"), rows)


def _branch(job: JobRow | None, branch: Branch | None, end: datetime) -> Iterator[tuple[str, ...]]:
    """Yield the lines of a Job or role and of its pods, with their ages at `end`."""
    if job is not None:
        hold = job.hold
        was, were = ("was ", "were ") if job.is_past else ("", "")
        held = f", {was}held by {hold.by}: {hold.reason}" if hold and hold.by else ""
        state = f"{job.state.label}, {job.ready} of {job.desired} {were}ready{held}"
        yield f"**{_text(job.name)}**", _text(state), "", "", str(job.restarts)
    elif branch is not None:
        state = f"{branch.worst.label}, {branch.ready} of {branch.pods} ready"
        if branch.is_past:
            state = f"{branch.worst.label}, {count(branch.pods, 'pod')} when last read"
        yield f"**{_text(branch.name or 'pods without a Job')}**", _text(state), "", "", ""
    for pod in branch.rows if branch is not None else ():
        state = ", ".join(filter(None, (pod.state.label, pod.reason, pod.end_text)))
        since = age_text(pod.since, end) if pod.since is not None else ""
        yield _code(pod.name), _text(state), _text(pod.node), since, str(pod.restarts)
    if branch is not None and branch.rows:
        for alike in branch.folded:
            state = ", ".join(filter(None, (alike.state.label, alike.reason)))
            yield f"{alike.count} more", _text(state), "", "", ""


def _fit(detail: GangDetail) -> Iterator[str]:
    yield from _table(
        "Where the waiting pods could go",
        ("Request of one pod", "Who", "Waiting", "Fit now", "Fit if empty", "Nodes"),
        (_fit_row(row) for row in fold_equal_shapes(detail.fit)),
    )


def _fit_row(row: EqualShapes) -> tuple[str, ...]:
    shape = row.shape
    names = ", ".join(row.names) + (f" and {row.more} more" if row.more else "")
    each = " each" if row.count > 1 else ""
    first = (_text(shape.asks or shape.title), _text(names), f"{shape.waiting}{each}")
    if shape.why:
        return (*first, "unknown", "", _text(shape.why))
    most = "at most " if shape.unsupported else ""
    reasons = [f"{reason.nodes} {reason.text}" for reason in shape.reasons]
    nodes = ", ".join([f"{shape.open_nodes} with free capacity", *reasons])
    return (*first, f"{most}{shape.fits_now}", str(shape.fits_empty), _text(nodes))


def _other_findings(detail: GangDetail) -> Iterator[str]:
    texts = [
        f"{finding.unit}: {finding.message}" if finding.unit else finding.message
        for finding in detail.other_findings
    ]
    yield from _list("Also found", [_text(text) for text in texts])


def _timeline(detail: GangDetail) -> Iterator[str]:
    rows = (
        (
            _time(entry.at),
            entry.duration,
            _text(": ".join(filter(None, (entry.title, entry.message)))),
            _text(entry.actor),
        )
        for entry in detail.timeline[:MOST_TIMELINE]
    )
    yield from _table("History, newest first", ("From", "Lasted", "What", "By"), rows)


def _groups(detail: GangDetail) -> Iterator[str]:
    rows = (
        (
            _code(f"{row.kind} {row.name}"),
            _text(row.policy_label),
            "" if row.quorum is None else str(row.quorum),
            _text(row.placed.message or row.placed.reason) if row.placed is not None else "",
        )
        for row in detail.groups
    )
    yield from _table("Groups", ("Group", "Policy", "Quorum", "Scheduler status"), rows)


def _events(detail: GangDetail) -> Iterator[str]:
    rows = (
        (
            _time(event.last_seen) if event.last_seen is not None else "",
            _text(event.regarding),
            _text(event.reason),
            _code(event.note),
            event.times or "once",
        )
        for event in detail.events
    )
    yield from _table("Events", ("Last seen", "About", "Reason", "Note", "Times"), rows)


def _facts(row: GangRow, detail: GangDetail) -> Iterator[str]:
    restarts = f"{row.restarts}" + ("" if row.max_restarts is None else f" of {row.max_restarts}")
    facts = [
        ("Queue", row.queue or "none"),
        ("Priority", row.priority or "none given"),
        *row.requests_shown,
        ("Restarts", restarts),
        *((fact.label, fact.text) for fact in detail.facts),
    ]
    if row.created_at is not None:
        facts.append(("Created", _time(row.created_at)))
    yield from _table("Facts", ("What", "Value"), ((_text(a), _text(b)) for a, b in facts))


def _commands(detail: GangDetail) -> Iterator[str]:
    if detail.commands:
        # Names in commands are safe in a shell, so they cannot end the code block.
        lines = (
            line for command in detail.commands for line in (f"# {command.meaning}", command.text)
        )
        yield from ("## Commands", "", "```sh", *lines, "```")


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    lines = list(rows)
    if not lines:
        return
    yield from (f"## {title}", "", _row(columns), _row(["---"] * len(columns)))
    yield from map(_row, lines)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    """Return the text escaped for Markdown. Words that a tracker would link become code."""
    return _TOKEN.sub(_escape, text)


def _escape(token: re.Match[str]) -> str:
    if _LINKED.search(token[0]):
        return _code(token[0])
    return _SPECIAL.sub(r"\\\1", token[0])


def _code(text: str) -> str:
    """Return the text as code, in which renderers detect no links, mentions or HTML.

    A bar ends a table cell even inside code, and renderers disagree about a backslash before it. The
    text is therefore split into code spans with escaped bars between them.
    """
    return r"\|".join(_code_span(span) for span in text.split("|"))


def _code_span(text: str) -> str:
    if not text:
        return ""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    blank = " " if "`" in text or text.isspace() else ""
    return f"{fence}{blank}{text}{blank}{fence}"


def _time(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
