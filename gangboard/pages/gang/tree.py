"""The tree of the Gang page: owner → Job or role → pod as one table, with the buttons of the Jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from gangboard.domain.action import Verb
from gangboard.domain.text import for_each
from gangboard.pages.core.forms import element_key
from gangboard.pages.core.live.fragments import Fragment, FragmentList
from gangboard.pages.gang.rows import GangDetail, JobRow
from gangboard.readmodels.action_labels import shared_label
from gangboard.readmodels.action_rows import ActionRow, OfferRow
from gangboard.readmodels.kubectl import KubectlPlace, member_command
from gangboard.readmodels.members import EVERY, WELL, Branch, MemberRow, make_branches

NOT_OVER = "An action on it is not over yet."
WHY_ALL = "why-jobs"
"""Id of the sentence that says why the buttons of all Jobs are off."""
MOST_OPEN = 20
"""Jobs or roles that an address may name as open."""
BLOCK = 64
"""Pods that are drawn, and replaced, together."""


@dataclass(frozen=True, slots=True)
class PodLine:
    """A pod with the command that prints its logs."""

    pod: MemberRow
    command_label: str
    """Empty where no command can be offered."""
    command: str


@dataclass(frozen=True, slots=True)
class TreeLine:
    """One Job or role with its pods, its button, and the last action on it when there is something to tell."""

    name: str
    job: JobRow | None
    """None for a role, and for pods without a known Job."""
    branch: Branch | None
    """None if it has no pod."""
    offer: OfferRow | None = None
    why_id: str = ""
    last: ActionRow | None = None
    says: str = ""
    """Its trouble, if no other part of the page has it."""
    is_past: bool = False

    @property
    def key(self) -> str:
        """Return its part of the ids of elements."""
        return element_key(self.job.uid if self.job is not None else self.name)

    @property
    def says_why(self) -> bool:
        """Whether the reason of an off-button stands in its own row."""
        return self.why_id != WHY_ALL

    @property
    def has_details(self) -> bool:
        """Whether a button that is off leads to more: its needs, and a trial for admins."""
        return self.offer is not None and not self.offer.allowed and self.offer.plan is not None

    @property
    def since(self) -> datetime | None:
        """Return since when it is in this state, or None if that is not known."""
        job, branch = self.job, self.branch
        if self.is_past:
            return None
        if job is not None and job.hold is not None and job.hold.since is not None and job.held:
            return job.hold.since
        return branch.since if branch is not None else None

    @property
    def nodes(self) -> tuple[str, ...]:
        """Where its pods are."""
        if self.job is not None:
            return self.job.nodes
        return self.branch.nodes if self.branch is not None else ()

    @property
    def named_nodes(self) -> tuple[str, ...]:
        """Nodes that its own row names: those of pods that have no row are one or two."""
        shown = self.branch.rows if self.branch is not None else ()
        return () if shown or len(self.nodes) > 2 else self.nodes


@dataclass(frozen=True, slots=True)
class SelectionBar:
    """The bar below the Jobs."""

    buttons: tuple[tuple[str, str], ...]
    """(verb, word) of each button for the Jobs that are ticked."""
    meanings: tuple[tuple[str, str], ...]
    """(word, sentence) of buttons that do less than their verb says."""
    others_run: bool
    """At least two Jobs run, so one that is suspended leaves one that runs on."""


def read_opened(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the Jobs and roles of which an address asks for all pods."""
    return tuple(dict.fromkeys(text[:253] for text in texts if text and "\x00" not in text))[
        :MOST_OPEN
    ]


def tree_fragments(
    detail: GangDetail, opened: Collection[str]
) -> tuple[Fragment | FragmentList, ...]:
    """Return the table with its heading and its bar."""
    lines, why_all, needs_all = tree_lines(detail, opened, above=_said_by_owner(detail))
    any_allowed = any(line.offer is not None and line.offer.allowed for line in lines)
    bar = _bar(lines)
    base = {
        "any_allowed": any_allowed,
        "bar": bar,
        "gang_id": detail.row.id,
        "cluster": detail.row.cluster,
        "why_all": why_all,
        "why_all_id": WHY_ALL,
        "needs_all": needs_all,
    }
    head = _heading(detail, lines, opened)
    return (
        Fragment("tree-head", "gang/tree_head.html", head, tuple(head.values())),
        Fragment("tree-why", "gang/tree_why.html", base, (why_all, needs_all)),
        FragmentList("jobs", tuple(_bodies(detail, lines, base))),
        Fragment("tree-bar", "gang/tree_bar.html", base, (any_allowed, bar)),
    )


def _bar(lines: Iterable[TreeLine]) -> SelectionBar:
    """Return the buttons for the Jobs that are ticked: only those that can do something."""
    shown = tuple(lines)
    offers = [line.offer for line in shown if line.offer is not None and line.offer.allowed]
    labels = {verb: [offer.label for offer in offers if offer.verb == verb.value] for verb in Verb}
    meanings = dict.fromkeys((offer.label, offer.meaning) for offer in offers if offer.meaning)
    running = sum(_runs(line.job) for line in shown)
    return SelectionBar(
        tuple((verb.value, shared_label(verb, words)) for verb, words in labels.items() if words),
        tuple(meanings),
        bool(labels[Verb.SUSPEND]) and running > 1,
    )


def _runs(job: JobRow | None) -> bool:
    """Whether a Job may run: it is neither suspended nor finished."""
    return job is not None and not (job.suspended or job.held or job.finished)


def _heading(
    detail: GangDetail, lines: tuple[TreeLine, ...], opened: Collection[str]
) -> dict[str, object]:
    row = detail.row
    return {
        "jobs": sum(line.job is not None for line in lines),
        "pods": row.members.desired or len(detail.members),
        "known": row.members_known,
        "opens": any(line.branch is not None and line.branch.hides for line in lines),
        "is_open": bool(opened),
        "every": EVERY,
    }


def _bodies(
    detail: GangDetail, lines: tuple[TreeLine, ...], base: dict[str, object]
) -> Iterable[Fragment]:
    columns = base["any_allowed"]
    yield Fragment("tree-columns", "gang/tree_columns.html", base, columns)
    if len(lines) != 1 or lines[0].job is None or lines[0].job.uid != detail.row.uid:
        row = detail.row
        shown = (columns, row.shown, detail.cluster_sentence)
        yield Fragment("tree-owner", "gang/tree_owner.html", {**base, "row": row}, shown)
    for line in lines:
        key, pods = line.key, pod_lines(detail, line)
        first = {**base, "line": line, "pods": pods[:BLOCK], "closes": len(pods) <= BLOCK}
        yield Fragment(f"branch-{key}", "gang/branch.html", first, (columns, line, pods[:BLOCK]))
        for start in range(BLOCK, len(pods), BLOCK):
            block = pods[start : start + BLOCK]
            more = {**base, "pods": block}
            yield Fragment(f"branch-{key}-{start}", "gang/branch_more.html", more, (columns, block))


def pod_lines(detail: GangDetail, line: TreeLine) -> tuple[PodLine, ...]:
    """Return the pods of a Job or role that are named, each with its command."""
    rows = line.branch.rows if line.branch is not None else ()
    place = KubectlPlace(detail.row.cluster, detail.row.context)
    commands = (
        None if line.is_past else member_command(detail.row.namespace, pod, place) for pod in rows
    )
    return tuple(
        PodLine(pod, command.meaning if command else "", command.text if command else "")
        for pod, command in zip(rows, commands, strict=True)
    )


def tree_lines(
    detail: GangDetail, opened: Collection[str] = (), *, above: Collection[str] = ()
) -> tuple[tuple[TreeLine, ...], str, str]:
    """Return Jobs and roles, and the reason and the need if all their buttons are off for the same reason.

    A Job has no button where that is off for a reason that stands `above` the tree.
    """
    branches = {branch.name: branch for branch in make_branches(detail.members, opened=opened)}
    # The owner's own button stands in the heading; a Job that is a gang by itself has only that.
    jobs = [(job, job.uid != detail.row.uid) for job in detail.jobs]
    offers = [
        _offer_unless(above, offer_now(job.actions, job.open_action))
        if own and not job.finished
        else None
        for job, own in jobs
    ]
    reasons = {_for_each(offer) for offer in offers if offer is not None}
    why_all, needs_all = reasons.pop() if len(reasons) == 1 and len(offers) > 1 else ("", "")
    # The sentence of the gang and the other findings stand in panels of their own.
    shown = {detail.row.message, "", *(finding.message for finding in detail.findings)}
    lines = [
        TreeLine(
            job.name,
            job,
            branches.pop(job.name, None),
            offer,
            WHY_ALL if why_all else f"why-{element_key(job.uid)}",
            unsettled(detail.history, job.uid) if own else None,
            job.message if job.message not in shown and job.state.word not in WELL else "",
            job.past,
        )
        for (job, own), offer in zip(jobs, offers, strict=True)
    ]
    past = detail.row.members_were
    lines += [TreeLine(name, None, branch, is_past=past) for name, branch in branches.items()]
    return tuple(lines), why_all, needs_all


def _said_by_owner(detail: GangDetail) -> frozenset[str]:
    """Return why the owner has no button, which then holds for each of its Jobs with the same reason."""
    return frozenset(
        offer.why_not for offer in detail.actions if offer.primary and not offer.allowed
    )


def _offer_unless(reasons: Collection[str], offer: OfferRow | None) -> OfferRow | None:
    """Return a button, or None if it is off for a reason that stands elsewhere on the page."""
    return None if offer is None or offer.why_not in reasons else offer


def _for_each(offer: OfferRow) -> tuple[str, str]:
    """Return the reason and the need of a button that is off, without the name of its Job."""
    return for_each(offer.why_not, offer.kind, offer.name), offer.needs


def offer_now(offers: Iterable[OfferRow], busy: ActionRow | None) -> OfferRow | None:
    """Return the button that changes something; it is off while an action is not over."""
    offer = next((offer for offer in offers if offer.primary), None)
    if offer is None or busy is None or not offer.allowed:
        return offer
    return replace(offer, allowed=False, why_not=NOT_OVER, plan=None)


def suspends_of(jobs: Iterable[JobRow]) -> Iterable[tuple[JobRow, OfferRow]]:
    """Yield the Jobs with the button that suspends each."""
    return (
        (job, offer) for job in jobs for offer in job.actions if offer.verb == Verb.SUSPEND.value
    )


def unsettled(history: Iterable[ActionRow], uid: str) -> ActionRow | None:
    """Return the newest action on an object unless it went as it should: that shows in its state."""
    newest = next((row for row in history if row.uid == uid), None)
    return None if newest is None or newest.went_well else newest
