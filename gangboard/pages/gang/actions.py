"""Fragments of a gang about actions: next steps, buttons, reactions of controllers, and past actions."""

from __future__ import annotations

from gangboard.domain.health import Health
from gangboard.domain.owner import SubmitterSource
from gangboard.pages.core.live.fragments import Fragment
from gangboard.pages.gang.next_steps import NextStep, make_steps_to_take
from gangboard.pages.gang.rows import GangDetail
from gangboard.pages.gang.tree import current_offer, relocation_of, suspends_of, unsettled_action
from gangboard.readmodels.action_labels import Note, notes
from gangboard.readmodels.formatting import printable

SHOWN_LABELS = 8
"""Labels that the page shows at first. The others unfold."""


def steps_to_take(detail: GangDetail) -> tuple[NextStep, ...]:
    """Return its advice as steps, with the buttons of the gang and its Jobs that carry them out."""
    offers = (
        current_offer(detail.actions, detail.open_action),
        *(current_offer(job.actions, job.open_action) for job in detail.jobs),
    )
    own = (offer for offer in offers if offer is not None)
    return make_steps_to_take(detail.row.next_steps, detail.named, own)


def steps_context(detail: GangDetail) -> dict[str, tuple[NextStep, ...]]:
    """Return its steps for a template. Steps that stop running gangs as a whole are separate."""
    steps = steps_to_take(detail)
    return {
        "next_steps": tuple(step for step in steps if not step.stops_whole_gangs),
        "last_steps": tuple(step for step in steps if step.stops_whole_gangs),
    }


def owner_fragment(detail: GangDetail) -> Fragment:
    """Return the button of the owner, and its last action unless that went well."""
    # A finished gang cannot be suspended, so the page shows no button and no reason.
    is_over = detail.row.health in (Health.FAILED, Health.SUCCEEDED)
    offer = None if is_over else current_offer(detail.actions, detail.open_action)
    last = unsettled_action(detail.history, detail.row.uid)
    relocation = None if is_over else relocation_of(detail.actions, detail.open_action)
    context = {"offer": offer, "relocation": relocation, "last": last, "why_id": "why-owner"}
    return Fragment("owner", "gang/owner.html", context, tuple(context.values()))


def facts_fragment(detail: GangDetail) -> Fragment:
    """Return the facts of a gang, and its maker with a button."""
    maker = detail.maker
    offer = current_offer(maker.actions, maker.open_action) if maker is not None else None
    context = {
        "row": detail.row,
        "kind_facts": detail.facts,
        "queue_page": detail.queue_page,
        "is_alias": detail.queue_page != detail.row.queue,
        "maker": maker,
        "offer": offer,
        "why_id": "why-maker",
        "is_manager": detail.row.submitter_source == SubmitterSource.MANAGER,
        "labels": tuple(detail.row.labels.items())[:SHOWN_LABELS],
        "more_labels": tuple(detail.row.labels.items())[SHOWN_LABELS:],
    }
    printed = (detail.row.shown, detail.facts, detail.queue_page, maker, offer)
    return Fragment("facts", "gang/facts.html", context, printed)


def reactions_fragment(detail: GangDetail) -> Fragment:
    """Return the reactions of the owner to a suspended Job, as its policies determine them."""
    reactions = notes(
        (job.name, [printable(text) for text in (*offer.plan.warnings, *offer.plan.reactions)])
        for job, offer in suspends_of(detail.jobs)
        if offer.plan is not None and offer.allowed
    )
    has_child_jobs = any(job.uid != detail.row.uid for job in detail.jobs)
    printed: tuple[Note, ...] = reactions if has_child_jobs else ()
    kind = detail.row.kind
    return Fragment(
        "reactions", "gang/reactions.html", {"notes": printed, "kind": kind}, (kind, printed)
    )


def history_fragment(detail: GangDetail) -> Fragment:
    """Return the timeline of the gang."""
    timeline = detail.timeline
    # The top of the page already has the only verdict.
    if len(timeline) == 1 and timeline[0].message == detail.row.message and not timeline[0].until:
        timeline = ()
    return Fragment("history", "gang/timeline.html", {"timeline": timeline}, timeline)
