"""Fragments of one gang about actions: next steps, buttons, reactions of controllers, and past actions."""

from __future__ import annotations

from gangboard.domain.health import Health
from gangboard.pages.core.live.fragments import Fragment
from gangboard.pages.gang.next_steps import NextStep, make_steps_to_take
from gangboard.pages.gang.rows import GangDetail
from gangboard.pages.gang.tree import offer_now, suspends_of, unsettled
from gangboard.readmodels.action_labels import Note, notes
from gangboard.readmodels.formatting import printable

SHOWN_LABELS = 8
"""Labels that are shown at once; the others unfold."""


def steps_to_take(detail: GangDetail) -> tuple[NextStep, ...]:
    """Return its advice as steps, with the buttons of the gang and its Jobs that carry some out."""
    own = (
        offer_now(detail.actions, detail.open_action),
        *(offer_now(job.actions, job.open_action) for job in detail.jobs),
    )
    buttons = (offer for offer in own if offer is not None)
    return make_steps_to_take(detail.row.next_steps, detail.named, buttons)


def steps_context(detail: GangDetail) -> dict[str, tuple[NextStep, ...]]:
    """Return its steps for a template; those that stop gangs that run whole stand apart."""
    steps = steps_to_take(detail)
    return {
        "next_steps": tuple(step for step in steps if not step.stops_whole_gangs),
        "last_steps": tuple(step for step in steps if step.stops_whole_gangs),
    }


def owner_fragment(detail: GangDetail) -> Fragment:
    """Return the button of the owner, with the action on it that is not over."""
    # A finished gang cannot be suspended, so the page shows no button and no reason.
    over = detail.row.health in (Health.FAILED, Health.SUCCEEDED)
    offer = None if over else offer_now(detail.actions, detail.open_action)
    last = unsettled(detail.history, detail.row.uid)
    context = {"offer": offer, "last": last, "why_id": "why-owner"}
    return Fragment("owner", "gang/owner.html", context, tuple(context.values()))


def facts_fragment(detail: GangDetail) -> Fragment:
    """Return the facts of a gang, and its maker with a button."""
    maker = detail.maker
    offer = offer_now(maker.actions, maker.open_action) if maker is not None else None
    context = {
        "row": detail.row,
        "kind_facts": detail.facts,
        "queue_page": detail.queue_page,
        "is_alias": detail.queue_page != detail.row.queue,
        "maker": maker,
        "offer": offer,
        "why_id": "why-maker",
        "labels": tuple(detail.row.labels.items())[:SHOWN_LABELS],
        "more_labels": tuple(detail.row.labels.items())[SHOWN_LABELS:],
    }
    shown = (detail.row.shown, detail.facts, detail.queue_page, maker, offer)
    return Fragment("facts", "gang/facts.html", context, shown)


def reactions_fragment(detail: GangDetail) -> Fragment:
    """Return the reactions of the owner to a suspended Job, by the owner's policies."""
    reactions = notes(
        (job.name, [printable(text) for text in (*offer.plan.warnings, *offer.plan.reactions)])
        for job, offer in suspends_of(detail.jobs)
        if offer.plan is not None and offer.allowed
    )
    shown: tuple[Note, ...] = (
        reactions if any(job.uid != detail.row.uid for job in detail.jobs) else ()
    )
    kind = detail.row.kind
    return Fragment(
        "reactions", "gang/reactions.html", {"notes": shown, "kind": kind}, (kind, shown)
    )


def history_fragment(detail: GangDetail) -> Fragment:
    """Return the timeline of the gang."""
    timeline = detail.timeline
    # The top of the page already has the only verdict.
    if len(timeline) == 1 and timeline[0].message == detail.row.message and not timeline[0].until:
        timeline = ()
    return Fragment("history", "gang/timeline.html", {"timeline": timeline}, timeline)
