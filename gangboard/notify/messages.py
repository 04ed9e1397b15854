"""The message of a delivery: title and text for people, a JSON document for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gangboard.notify.items import Item, count_more
from gangboard.notify.news import News, rank_items, read_news
from gangboard.public_address import public_url
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Rule

MOST_LISTED = 10
"""Maximum number of changes in one message to people. The others are counted."""
PAGE = "/notifications/"
ADMINS = Viewer(0, "gangboard", (Scope(None, "", "admin"),), may_act=False)
"""The viewer of rules of all admins."""
LONGEST_LINE = 1500


@dataclass(frozen=True, slots=True)
class Message:
    """One message in both formats."""

    title: str
    body: str
    document: Mapping[str, Any]


def make_message(
    rule: Rule, items: Sequence[Item], *, viewer: Viewer, now: datetime, everything: bool
) -> Message | None:
    """Return the message about the items that the viewer may see, else None.

    With `everything`, for programs, it contains all items. For people it contains the worst MOST_LISTED.
    """
    listed = [item for item in items if item["type"] != "more"]
    ranked = listed if everything else rank_items(listed, viewer=viewer)
    news = read_news(ranked if everything else ranked[:MOST_LISTED], viewer=viewer, now=now)
    if not news:
        return None
    readable = len(news) if everything or len(ranked) <= MOST_LISTED else len(ranked)
    number = readable + count_more(items)
    return Message(
        _title(rule, news, number),
        _body(rule, news, readable, number),
        _document(rule, news, now),
    )


def make_test_message(channel: str, *, now: datetime) -> Message:
    """Return the message that tests a channel."""
    text = f"This is a test of the channel {channel}. Messages of gangboard arrive here."
    return Message(
        "gangboard: a test",
        f"{text}\n\n{public_url()}{PAGE}",
        {"type": "gangboard.test", "timestamp": now.isoformat(), "data": {"channel": channel}},
    )


def _title(rule: Rule, news: Sequence[News], number: int) -> str:
    return news[0].subject[:200] if number == 1 else f"{rule.name}: {number:,} changes"


def _body(rule: Rule, news: Sequence[News], readable: int, number: int) -> str:
    """Return the text for people. `readable` of the `number` changes were ranked."""
    paragraphs = [_paragraph(entry) for entry in news]
    if number > len(news):
        first = f"the first {readable:,} of " if readable < number else ""
        worst = f"These are the worst {len(news)} of {first}{number:,}."
        paragraphs.append(f"{worst} All gangs: {public_url()}/")
    if rule.gang_id:
        paragraphs.append("This rule sends one message. No further message follows.")
    else:
        paragraphs.append(f"Rule: {rule.name}. Mute it: {public_url()}{PAGE}rules/{rule.pk}/mute/")
    return "\n\n".join(paragraphs)


def _paragraph(news: News) -> str:
    lines = [news.subject, news.sentence]
    if news.now:
        lines.append(f"Since then: {news.now}.")
    if news.next_step:
        lines.append(f"Next: {news.next_step}")
    return "\n".join(line[:LONGEST_LINE] for line in (*lines, f"{public_url()}{news.path}") if line)


def _document(rule: Rule, news: Sequence[News], now: datetime) -> Mapping[str, Any]:
    return {
        "type": "gangboard.notification",
        "timestamp": now.isoformat(),
        "data": {
            "rule": {"id": rule.pk, "name": rule.name, "trigger": rule.trigger},
            "events": [
                {
                    "number": entry.number,
                    "type": entry.type,
                    "at": entry.at.isoformat(),
                    "cluster": entry.cluster,
                    "namespace": entry.namespace,
                    "kind": entry.kind,
                    "name": entry.name,
                    "gang_id": entry.gang_id,
                    "health": entry.health,
                    "code": entry.code,
                    "accelerators": entry.accelerators,
                    "message": entry.sentence,
                    "next_step": entry.next_step,
                    "url": f"{public_url()}{entry.path}",
                }
                for entry in news
            ],
        },
    }
