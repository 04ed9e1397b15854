"""The tree of the Gang page as one table: owner → Job or role → pod, with the buttons of the Jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse

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
"""Element id of the sentence about the common reason of all disabled buttons."""
MOST_OPEN = 20
"""Maximum number of Jobs or roles that an address may name as open."""
BLOCK = 64
"""Pods per fragment."""


@dataclass(frozen=True, slots=True)
class PodLine:
    """A pod with the command that prints its logs."""

    pod: MemberRow
    command_label: str
    """Empty without a command."""
    command: str
    log_href: str = ""
    """Address of its log. Empty if it has none, or if the viewer may not read it."""
    until: datetime | None = None
    """When its gang was deleted, or None for an existing gang."""


@dataclass(frozen=True, slots=True)
class TreeLine:
    """One Job or role with its pods, its button, and the last action on it unless that went well."""

    name: str
    job: JobRow | None
    """The Job, or None for a role and for pods without a known Job."""
    branch: Branch | None
    """Its pods, or None without pods."""
    offer: OfferRow | None = None
    why_id: str = ""
    last: ActionRow | None = None
    message: str = ""
    """Its problem, unless another part of the page shows it."""
    is_past: bool = False
    until: datetime | None = None
    """When its gang was deleted, or None for an existing gang."""
    relocation: OfferRow | None = None
    """The button that relocates the Job, or None if that is not possible now."""

    @property
    def key(self) -> str:
        """The key in the ids of its elements."""
        return element_key(self.job.uid if self.job is not None else self.name)

    @property
    def has_own_reason(self) -> bool:
        """Whether its own row shows the reason of a disabled button."""
        return self.why_id != WHY_ALL

    @property
    def has_details(self) -> bool:
        """Whether a disabled button links to details: its needs, and a forced try for admins."""
        return self.offer is not None and not self.offer.allowed and self.offer.plan is not None

    @property
    def since(self) -> datetime | None:
        """The time since which it has this state, or None if that is unknown."""
        job, branch = self.job, self.branch
        if self.is_past and self.until is None:
            return None
        if job is not None and job.hold is not None and job.hold.since is not None and job.held:
            return job.hold.since
        return branch.since if branch is not None else None

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes of its pods."""
        if self.job is not None:
            return self.job.nodes
        return self.branch.nodes if self.branch is not None else ()

    @property
    def named_nodes(self) -> tuple[str, ...]:
        """The nodes that its own row names: at most two, and only if its pods have no rows."""
        pods = self.branch.rows if self.branch is not None else ()
        return () if pods or len(self.nodes) > 2 else self.nodes


@dataclass(frozen=True, slots=True)
class SelectionBar:
    """The bar below the Jobs."""

    buttons: tuple[tuple[str, str], ...]
    """(verb, label) of each button for the selected Jobs."""
    meanings: tuple[tuple[str, str], ...]
    """(label, sentence) of buttons that do less than their verb suggests."""
    leaves_others_running: bool
    """Whether at least two Jobs run, so that suspending one leaves another running."""


def read_opened(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the Jobs and roles whose pods an address opens."""
    return tuple(dict.fromkeys(text[:253] for text in texts if text and "\x00" not in text))[
        :MOST_OPEN
    ]


def tree_fragments(
    detail: GangDetail, opened: Collection[str]
) -> tuple[Fragment | FragmentList, ...]:
    """Return the table with its heading and its bar."""
    lines, why_all, needs_all = tree_lines(detail, opened, hidden_reasons=_owner_reasons(detail))
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
    """Return the buttons for the selected Jobs, only those that some Job allows."""
    all_lines = tuple(lines)
    offers = [line.offer for line in all_lines if line.offer is not None and line.offer.allowed]
    labels = {verb: [offer.label for offer in offers if offer.verb == verb.value] for verb in Verb}
    meanings = dict.fromkeys((offer.label, offer.meaning) for offer in offers if offer.meaning)
    running = sum(_may_run(line.job) for line in all_lines)
    return SelectionBar(
        tuple((verb.value, shared_label(verb, texts)) for verb, texts in labels.items() if texts),
        tuple(meanings),
        bool(labels[Verb.SUSPEND]) and running > 1,
    )


def _may_run(job: JobRow | None) -> bool:
    """Return whether a Job may run, because it is neither suspended nor finished."""
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
        printed = (columns, row.shown, detail.cluster_sentence)
        yield Fragment("tree-owner", "gang/tree_owner.html", {**base, "row": row}, printed)
    for line in lines:
        key, pods = line.key, pod_lines(detail, line)
        first = {**base, "line": line, "pods": pods[:BLOCK], "closes": len(pods) <= BLOCK}
        yield Fragment(f"branch-{key}", "gang/branch.html", first, (columns, line, pods[:BLOCK]))
        for start in range(BLOCK, len(pods), BLOCK):
            block = pods[start : start + BLOCK]
            context = {**base, "pods": block}
            yield Fragment(
                f"branch-{key}-{start}", "gang/branch_more.html", context, (columns, block)
            )


def pod_lines(detail: GangDetail, line: TreeLine) -> tuple[PodLine, ...]:
    """Return the pods of a Job or role that have a row, each with its command."""
    rows = line.branch.rows if line.branch is not None else ()
    place = KubectlPlace(detail.row.cluster, detail.row.context)
    commands = (
        None if line.is_past else member_command(detail.row.namespace, pod, place) for pod in rows
    )
    return tuple(
        PodLine(
            pod,
            command.meaning if command else "",
            command.text if command else "",
            _log_href(detail, pod) if not line.is_past else "",
            line.until,
        )
        for pod, command in zip(rows, commands, strict=True)
    )


def _log_href(detail: GangDetail, pod: MemberRow) -> str:
    if not (detail.shows_logs and pod.node):
        return ""
    return f"{reverse('gang-logs', args=[detail.row.id])}?{urlencode({'pod': pod.name})}"


def tree_lines(
    detail: GangDetail, opened: Collection[str] = (), *, hidden_reasons: Collection[str] = ()
) -> tuple[tuple[TreeLine, ...], str, str]:
    """Return the Jobs and roles, and the common reason and need if all buttons are disabled for one reason.

    A Job has no button if its reason is one of `hidden_reasons`, which the page shows above the tree.
    """
    branches = {branch.name: branch for branch in make_branches(detail.members, opened=opened)}
    # The heading has the button of the owner, also if the owner is a Job without children.
    jobs = [(job, job.uid != detail.row.uid) for job in detail.jobs]
    offers = [
        _offer_unless(hidden_reasons, current_offer(job.actions, job.open_action))
        if is_child and not job.finished
        else None
        for job, is_child in jobs
    ]
    reasons = {_general_reason(offer) for offer in offers if offer is not None}
    why_all, needs_all = reasons.pop() if len(reasons) == 1 and len(offers) > 1 else ("", "")
    gone_at = detail.row.gone_at
    # Other panels show the sentence of the gang and the other findings.
    shown_elsewhere = {detail.row.message, "", *(finding.message for finding in detail.findings)}
    lines = [
        TreeLine(
            job.name,
            job,
            branches.pop(job.name, None),
            offer,
            WHY_ALL if why_all else f"why-{element_key(job.uid)}",
            unsettled_action(detail.history, job.uid) if is_child else None,
            job.message
            if job.message not in shown_elsewhere and job.state.word not in WELL
            else "",
            job.is_past,
            gone_at,
            relocation_of(job.actions, job.open_action) if is_child else None,
        )
        for (job, is_child), offer in zip(jobs, offers, strict=True)
    ]
    is_past = detail.row.members_were
    lines += [
        TreeLine(name, None, branch, is_past=is_past, until=gone_at)
        for name, branch in branches.items()
    ]
    return tuple(lines), why_all, needs_all


def _owner_reasons(detail: GangDetail) -> frozenset[str]:
    """Return the reasons of the owner's disabled button, which the page shows in the heading."""
    return frozenset(
        offer.why_not for offer in detail.actions if offer.primary and not offer.allowed
    )


def _offer_unless(reasons: Collection[str], offer: OfferRow | None) -> OfferRow | None:
    """Return a button, or None if it is disabled for a reason that the page already shows."""
    return None if offer is None or offer.why_not in reasons else offer


def _general_reason(offer: OfferRow) -> tuple[str, str]:
    """Return the reason and the need of a disabled button, without the name of its Job."""
    return for_each(offer.why_not, offer.kind, offer.name), offer.needs


def current_offer(offers: Iterable[OfferRow], busy: ActionRow | None) -> OfferRow | None:
    """Return the primary button. It is disabled while an action is not over."""
    offer = next((offer for offer in offers if offer.primary), None)
    if offer is None or busy is None or not offer.allowed:
        return offer
    return replace(offer, allowed=False, why_not=NOT_OVER, plan=None)


def relocation_of(offers: Iterable[OfferRow], busy: ActionRow | None) -> OfferRow | None:
    """Return the button that relocates a Job, or None if that is not possible, or while an action is not over."""
    allowed = (offer for offer in offers if offer.verb == Verb.RELOCATE and offer.allowed)
    return next(allowed, None) if busy is None else None


def suspends_of(jobs: Iterable[JobRow]) -> Iterable[tuple[JobRow, OfferRow]]:
    """Yield the Jobs, each with its suspend button."""
    return (
        (job, offer) for job in jobs for offer in job.actions if offer.verb == Verb.SUSPEND.value
    )


def unsettled_action(history: Iterable[ActionRow], uid: str) -> ActionRow | None:
    """Return the newest action on an object, or None if it went well, as the state then shows it."""
    newest = next((row for row in history if row.uid == uid), None)
    return None if newest is None or newest.went_well else newest
