"""The findings of one gang: ranked, without repeats, with one for all running units, and cut to fit into a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from gangboard.diagnosis.members import weight
from gangboard.domain.health import Health, Stage
from gangboard.domain.queue import QueueCode
from gangboard.domain.text import all_of, count, is_or_are, natural_key, sentence_case
from gangboard.domain.verdict import NAMED_IN_ADVICE, Evidence, Finding
from gangboard.facts.gang import Gang
from gangboard.facts.job_holds import idle_hold_evidence
from gangboard.facts.unit import Unit

# Worst first. Rank 4 is for symptoms. A gang that cannot be observed may be in a bad state, so UNKNOWN stands
# before all healthy states.
HEALTH_RANKS = {
    Health.FAILED: 0,
    Health.BLOCKED: 1,
    Health.DEGRADED: 2,
    Health.WAITING: 3,
    Health.UNKNOWN: 5,
    Health.STARTING: 6,
    Health.SUSPENDED: 7,
    Health.RUNNING: 8,
    Health.SUCCEEDED: 9,
}
_SYMPTOM = 4
"""Rank of a symptom: the finding about another unit is nearer to the cause."""
# Findings whose sentence counts all Jobs of the gang, although the rule runs for each unit.
_GANG_WIDE = frozenset(
    {(Stage.RUN, "job-suspended"), *((Stage.ADMISSION, code) for code in QueueCode)}
)
_RUNNING = "running"

MAX_TEXT_LENGTH = 4_000
"""Most characters of one text of a finding."""
MAX_EVIDENCE = 50
"""Most evidence from the gang's own namespace in one finding."""
MAX_FINDINGS_BYTES = 200_000
"""Approximate size of all findings of a gang: their characters, and `_FRAME` for each finding and fact."""
_FRAME = 200
"""Bytes for the names, times and references of a finding or fact."""


@dataclass(frozen=True, slots=True)
class UnitFinding:
    """A finding about a unit, with the findings that explain it."""

    finding: Finding
    unit: Unit | None = None
    """None if the finding is about the whole gang."""
    behind: tuple[Finding, ...] = ()
    """The reasons why a lost member does not come back. They follow the finding and are not ranked themselves."""


class GangFindings(NamedTuple):
    """The findings of a gang in order."""

    all_findings: tuple[Finding, ...]
    row_findings: tuple[Finding, ...]
    """The findings that fit into a row, and one with the number of the rest."""
    of_jobs: Mapping[str, Finding]
    """Unit name → the finding in the row of a Job."""


def gang_findings(
    gang: Gang,
    unit_findings: Sequence[UnitFinding],
    by_unit: Mapping[str, Finding],
    additional: Sequence[Finding],
) -> GangFindings:
    """Return the findings of a gang without repeats: the worst unit first, additional ones last.

    `by_unit` has the finding about each unit alone, before units were merged.
    """
    all_findings = _ranked_findings(gang, unit_findings, additional, len(by_unit))
    row_findings = first_findings(all_findings)
    return GangFindings(
        all_findings, row_findings, findings_of_jobs(by_unit, all_findings, row_findings)
    )


def _ranked_findings(
    gang: Gang, unit_findings: Sequence[UnitFinding], additional: Sequence[Finding], units: int
) -> tuple[Finding, ...]:
    """Return all findings in order without repeats. `units` is the number of units with a finding."""
    staged = _with_stopped_parts_in_run(gang, unit_findings)
    ranked = sorted(_with_running_joined(gang, staged, units), key=_rank)
    explained = [
        finding
        for unit_finding in ranked
        for finding in (unit_finding.finding, *unit_finding.behind)
    ]
    return _with_idle_holds(gang, _without_repeats([*explained, *additional]))


def _rank(
    unit_finding: UnitFinding,
) -> tuple[int, bool, float, float, tuple[tuple[str, int], ...]]:
    """Return the sort key: worst health, cause before symptom, then the larger request, then the name."""
    finding = unit_finding.finding
    rank = HEALTH_RANKS[finding.health]
    if finding.symptom:
        rank = max(rank, _SYMPTOM)
    accelerators, cores = weight(unit_finding.unit) if unit_finding.unit is not None else (0, 0)
    return rank, finding.symptom, -float(accelerators), -float(cores), natural_key(finding.unit)


def _without_repeats(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings without repeats of an earlier one for another unit."""
    unique: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        is_of_gang = (finding.stage, finding.code) in _GANG_WIDE
        key = finding.code, "" if is_of_gang else finding.message
        earlier = unique.get(key)
        if earlier is None:
            unique[key] = finding
        elif earlier.unit != finding.unit:
            dues = [due for due in (earlier.recheck_at, finding.recheck_at) if due is not None]
            unique[key] = replace(earlier, unit="", recheck_at=min(dues, default=None))
    return tuple(unique.values())


def _with_idle_holds(gang: Gang, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return the findings, and add Holds without effect to the evidence of the first one."""
    idle = () if gang.owner.finish is not None else idle_hold_evidence(gang)
    if not idle:
        return findings
    first, *rest = findings
    return replace(first, evidence=(*first.evidence, *idle)), *rest


# Stopped parts


def _with_stopped_parts_in_run(
    gang: Gang, unit_findings: Sequence[UnitFinding]
) -> Sequence[UnitFinding]:
    """Return the unit findings. A stopped part has the stage `run` while another part of the gang has nodes.

    The gang has then passed the earlier stages. A finding about a stopped part leads only if all other parts run
    or have succeeded.
    """
    if not any(map(_is_stopped_part, unit_findings)) or not _has_pods_of_active_parts(gang):
        return unit_findings
    return [
        replace(unit_finding, finding=replace(unit_finding.finding, stage=Stage.RUN))
        if _is_stopped_part(unit_finding)
        else unit_finding
        for unit_finding in unit_findings
    ]


def _is_stopped_part(unit_finding: UnitFinding) -> bool:
    return unit_finding.unit is not None and unit_finding.finding.health is Health.SUSPENDED


def _has_pods_of_active_parts(gang: Gang) -> bool:
    """Return whether a pod holds a node, other than those of suspended Jobs, which are about to be deleted."""
    stopped = {
        pod.meta.ref.uid
        for job in gang.jobs
        if job.suspended
        for pod in gang.pods_by_job[job.meta.ref.uid]
    }
    return not gang.pods_on_nodes <= stopped


# Units that run


def _with_running_joined(
    gang: Gang, unit_findings: Sequence[UnitFinding], units: int
) -> Sequence[UnitFinding]:
    """Return the unit findings, with one finding for all running units."""
    running = [
        (unit_finding.unit, unit_finding.finding)
        for unit_finding in unit_findings
        if unit_finding.unit is not None and _is_running(unit_finding)
    ]
    if not running:
        return unit_findings
    rest = [
        unit_finding
        for unit_finding in unit_findings
        if unit_finding.finding.code != _RUNNING or unit_finding.behind
    ]
    return [*rest, UnitFinding(_running_finding(gang, running, units))]


def _is_running(unit_finding: UnitFinding) -> bool:
    return unit_finding.finding.code == _RUNNING and not unit_finding.behind


def _running_finding(gang: Gang, running: Sequence[tuple[Unit, Finding]], total: int) -> Finding:
    """Return the finding for the running units. `total` is the number of all units."""
    first = running[0][1]
    if total == 1:
        return first
    units = [unit for unit, _ in running]
    ready = sum([len(unit.ready) for unit in units])
    desired = sum([unit.wanted for unit in units])
    evidence = (
        Evidence("pods ready", str(ready), gang.owner.meta.ref),
        Evidence("pods asked for", str(desired), gang.owner.meta.ref),
    )
    if len(units) == total:
        message = _all_run(ready, sum([unit.succeeded for unit in units]), desired)
    else:
        run = "is" if len(units) == 1 else "are"
        message = f"{len(units)} of {total} {_noun(units)}s {run} whole."
    return replace(first, unit="", message=message, evidence=evidence, since=_since(running))


def _since(running: Sequence[tuple[Unit, Finding]]) -> datetime | None:
    """Return when the last of them became complete.

    Returns None if a start is unknown, or if a finished unit started last: the active ones may be older.
    """
    starts = [
        (bool(unit.expected_pods), finding.since)
        for unit, finding in running
        if finding.since is not None
    ]
    if len(starts) < len(running):
        return None
    active = [since for is_active, since in starts if is_active]
    latest = max(since for _, since in starts)
    return latest if not active or latest in active else None


def _all_run(ready: int, succeeded: int, desired: int) -> str:
    if not succeeded:
        return f"{sentence_case(all_of(ready, 'pod'))} are ready."
    if not ready:
        return f"{sentence_case(all_of(succeeded, 'pod'))} have succeeded."
    have = "has" if succeeded == 1 else "have"
    return f"{ready} of {desired} pods {is_or_are(ready)} ready, {succeeded} {have} succeeded."


def _noun(units: Sequence[Unit]) -> str:
    nouns = {unit.noun for unit in units}
    return nouns.pop() if len(nouns) == 1 else "part"


# Limits


def bounded_finding(finding: Finding, namespace: str) -> Finding:
    """Return the finding with its long texts and its evidence cut. `namespace` is the gang's.

    Evidence from another namespace, or without one, stays: pages use it to remove names that a viewer may not
    see.
    """
    is_long = (
        len(finding.evidence) > MAX_EVIDENCE or max(map(len, _texts(finding))) > MAX_TEXT_LENGTH
    )
    if not is_long:
        return finding
    own = [item for item in finding.evidence if _is_own(item, namespace)]
    left_out = set(map(id, own[MAX_EVIDENCE:]))
    evidence = [
        replace(item, value=cut_text(item.value))
        for item in finding.evidence
        if id(item) not in left_out
    ]
    if left_out:
        evidence.append(Evidence("not shown", f"{len(left_out):,} more like these"))
    return replace(
        finding,
        message=cut_text(finding.message),
        advice=tuple(replace(step, text=cut_text(step.text)) for step in finding.advice),
        evidence=tuple(evidence),
    )


def _is_own(item: Evidence, namespace: str) -> bool:
    if item.label == NAMED_IN_ADVICE:
        return False
    return item.source is None or item.source.namespace == namespace


def _texts(finding: Finding) -> list[str]:
    return [finding.message, *finding.advice_texts, *[item.value for item in finding.evidence]]


def cut_text(text: str) -> str:
    """Return the text, cut after a word, because pages can only remove whole names for a viewer."""
    if len(text) <= MAX_TEXT_LENGTH:
        return text
    beginning = text[:MAX_TEXT_LENGTH].rpartition(" ")[0]
    return f"{beginning}… ({len(text) - len(beginning):,} more characters)"


def first_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings that fit into a row, and a finding with the number of the rest."""
    free_bytes, number = MAX_FINDINGS_BYTES, 0
    for finding in findings:
        free_bytes -= sum(map(len, _texts(finding))) + _FRAME * (1 + len(finding.evidence))
        if free_bytes < 0 and number:
            break
        number += 1
    if number == len(findings):
        return tuple(findings)
    rest = len(findings) - number
    remainder = replace(
        findings[number],
        message=f"{count(rest, 'more finding')} about other parts of it, of this kind or less severe.",
        unit="",
        advice=(),
        evidence=(),
    )
    return (*islice(findings, number), remainder)


def findings_of_jobs(
    by_unit: Mapping[str, Finding], findings: Sequence[Finding], row_findings: Sequence[Finding]
) -> dict[str, Finding]:
    """Return unit name → finding for the rows of Jobs. A finding outside of `row_findings` keeps only its health.

    Evidence and advice are in the gang's finding, not with each Job.
    """
    messages = {finding.message for finding in row_findings}
    left_out = (
        {finding.message for finding in findings} - messages
        if len(row_findings) < len(findings)
        else set()
    )
    return {
        name: replace(
            finding,
            message="" if finding.message in left_out else finding.message,
            advice=(),
            evidence=(),
        )
        for name, finding in by_unit.items()
    }
