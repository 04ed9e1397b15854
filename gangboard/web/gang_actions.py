"""What the Gang page shows of acting: buttons of the Jobs and the owner, who will react, what was done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gangboard.domain.action import Verb
from gangboard.readmodels.action_rows import ActionRow, OfferRow
from gangboard.readmodels.gang_page import GangDetail, JobRow
from gangboard.readmodels.printable import printable
from gangboard.web.forms import element_key
from gangboard.web.live.fragments import Fragment
from gangboard.web.preview import Note, notes

NOT_OVER = "An action on it is not over yet."
WHY_ALL = "why-jobs"
"""Id of the sentence that says why the buttons of all Jobs are off."""


@dataclass(frozen=True, slots=True)
class JobLine:
    """One Job with its button, and the last action on it when there is something to tell of it."""

    job: JobRow
    offer: OfferRow | None
    why_id: str
    last: ActionRow | None

    @property
    def says_why(self) -> bool:
        """Whether the reason of an off-button stands in its own row."""
        return self.why_id != WHY_ALL

    @property
    def has_details(self) -> bool:
        """Whether an off-button leads to more: what it needs, and what an admin may try."""
        return self.offer is not None and not self.offer.allowed and self.offer.plan is not None

    @property
    def first_nodes(self) -> tuple[str, ...]:
        """The nodes that are named at once."""
        return self.job.shown_nodes

    @property
    def further_nodes(self) -> tuple[str, ...]:
        """The others, folded."""
        return self.job.nodes[len(self.job.shown_nodes) :]


def jobs_fragment(detail: GangDetail) -> Fragment:
    """Return the table of Jobs."""
    lines, why_all, needs_all = _lines(detail)
    context = {
        "lines": lines,
        "why_all": why_all,
        "why_all_id": WHY_ALL,
        "needs_all": needs_all,
        "any_allowed": any(line.offer is not None and line.offer.allowed for line in lines),
        "gang_id": detail.row.id,
        "cluster": detail.row.cluster,
    }
    return Fragment("jobs", "gang/jobs.html", context, tuple(context.values()))


def owner_fragment(detail: GangDetail) -> Fragment:
    """Return the button of the owner, with the action on it that is not over."""
    offer = _button(detail.actions, detail.open_action)
    last = _last(detail.history, detail.row.uid)
    context = {"offer": offer, "last": last, "why_id": "why-owner"}
    return Fragment("owner", "gang/owner.html", context, tuple(context.values()))


def facts_fragment(detail: GangDetail) -> Fragment:
    """Return what is plain about a gang, and what makes such gangs with its button."""
    maker = detail.maker
    offer = _button(maker.actions, maker.open_action) if maker is not None else None
    context = {
        "row": detail.row,
        "kind_facts": detail.facts,
        "maker": maker,
        "offer": offer,
        "why_id": "why-maker",
    }
    shown = (detail.row.shown, detail.facts, maker, offer)
    return Fragment("facts", "gang/facts.html", context, shown)


def reactions_fragment(detail: GangDetail) -> Fragment:
    """Return what the owner will do with a suspended Job, as its own policies say."""
    found = notes(
        (job.name, [printable(text) for text in (*offer.plan.warnings, *offer.plan.reactions)])
        for job, offer in _suspends(detail.jobs)
        if offer.plan is not None and offer.allowed
    )
    shown: tuple[Note, ...] = found if any(job.uid != detail.row.uid for job in detail.jobs) else ()
    kind = detail.row.kind
    return Fragment(
        "reactions", "gang/reactions.html", {"notes": shown, "kind": kind}, (kind, shown)
    )


def history_fragment(detail: GangDetail) -> Fragment:
    """Return what was done to the gang and its Jobs, and where its pods were and are."""
    timeline = detail.timeline
    return Fragment("history", "gang/timeline.html", {"timeline": timeline}, timeline)


def _lines(detail: GangDetail) -> tuple[tuple[JobLine, ...], str, str]:
    """Return the Jobs; why no button of theirs is on and what it needs, where that is one for all."""
    # The owner's own button stands in the heading; a Job that is a gang by itself has only that.
    jobs = [(job, job.uid != detail.row.uid) for job in detail.jobs]
    offers = [_button(job.actions, job.open_action) if own else None for job, own in jobs]
    reasons = {_for_each(offer) for offer in offers if offer is not None}
    why_all, needs_all = reasons.pop() if len(reasons) == 1 and len(offers) > 1 else ("", "")
    lines = tuple(
        JobLine(
            job,
            offer,
            WHY_ALL if why_all else f"why-{element_key(job.uid)}",
            _last(detail.history, job.uid) if own else None,
        )
        for (job, own), offer in zip(jobs, offers, strict=True)
    )
    return lines, why_all, needs_all


def _for_each(offer: OfferRow) -> tuple[str, str]:
    """Return why a button is off and what it needs, without the name of its Job."""
    return offer.why_not.replace(f"{offer.kind} {offer.name}", f"Each {offer.kind}"), offer.needs


def _button(offers: Iterable[OfferRow], busy: ActionRow | None) -> OfferRow | None:
    """Return the button that changes something; it is off while an action is not over."""
    offer = next((offer for offer in offers if offer.primary), None)
    if offer is None or busy is None or not offer.allowed:
        return offer
    return replace(offer, allowed=False, why_not=NOT_OVER, plan=None)


def _suspends(jobs: Iterable[JobRow]) -> Iterable[tuple[JobRow, OfferRow]]:
    return (
        (job, offer) for job in jobs for offer in job.actions if offer.verb == Verb.SUSPEND.value
    )


def _last(history: Iterable[ActionRow], uid: str) -> ActionRow | None:
    """Return the newest action on an object unless it went as it should: that shows in its state."""
    newest = next((row for row in history if row.uid == uid), None)
    return None if newest is None or newest.went_well else newest
