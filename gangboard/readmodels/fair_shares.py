"""Fair shares: the queues that go before a queue, because they use less of the quota that all of them share.

An admission system with fair sharing compares queues with the same parent. Queues below different parents are compared by
their ancestors. The system counts the next gang of each queue in, so the shares now only show the tendency.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gangboard.domain.quota import FairShare, Queue, QueueLevel, QueueName
from gangboard.domain.resources import decimal_text
from gangboard.domain.text import count, listed
from gangboard.readmodels.declarations import shown, shown_property
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.queue_lines import QueuesOfCluster
from gangboard.readmodels.visible_queues import visible_aliases
from gangboard.store.access import Viewer

_NAMED = 3
"""Queues that a sentence names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRow:
    """The share of a queue, or of the quota that several queues share."""

    kind: str = shown("Kind")
    name: str = shown("Name")
    share: int | None = shown(
        "Share",
        "Borrowed part of the quota that others lend, in thousandths, divided by the weight. 0: it borrows nothing. "
        "Null: it borrows and its weight is 0, so it goes last.",
    )
    weight: str = shown("Weight", "A decimal string.")

    @property
    def share_text(self) -> str:
        """`340`, or `last` for a queue with the weight 0 that borrows."""
        return "last" if self.share is None else f"{self.share:,}"

    @property
    def weight_text(self) -> str:
        """`, weight 2`; empty for the usual weight 1."""
        return "" if self.weight == "1" else f", weight {self.weight}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FairShareRow(ShareRow):
    """The share of a queue, and the shares that are compared with it."""

    shared: tuple[ShareRow, ...] = shown(
        "Shared",
        "Shares of its parents, nearest first. Empty if the caller may not know them.",
    )
    before: tuple[ShareRow, ...] = shown(
        "Before it",
        "Queues with waiting gangs that have a lower share, lowest first, as far as the caller may see them.",
    )
    before_hidden: int = shown("Hidden before it", "Others with a lower share.")

    @property
    def text(self) -> str:
        """`fair share 340, weight 2`."""
        return f"fair share {self.share_text}{self.weight_text}"

    @shown_property("Message", api_name="message")
    def sentence(self) -> str:
        """Which queues go first, such as `The fair share of a is 340. b (120) goes first, because its share is lower.`

        Empty if no other queue with waiting gangs has a lower share.
        """
        number = len(self.before) + self.before_hidden
        if not number:
            return ""
        named = [f"{row.name} ({row.share_text}{row.weight_text})" for row in self.before[:_NAMED]]
        unnamed = number - len(named)
        if unnamed:
            named.append(count(unnamed, "other queue" if named else "queue"))
        cause = (
            "goes first, because its share is"
            if number == 1
            else "go first, because their shares are"
        )
        return f"The fair share of {self.name} is {self.share_text}{self.weight_text}. {listed(named)} {cause} lower."


def fair_share_row(
    queues: QueuesOfCluster, queue: Queue, *, viewer: Viewer, cluster_id: int
) -> FairShareRow | None:
    """Return the share of a queue and of the queues before it. None if its system does not share fairly.

    Names of queues in which the viewer has no alias are left out, unless the viewer sees the whole cluster.
    """
    if queue.share is None:
        return None
    sees_cluster = viewer.sees_cluster(cluster_id)
    visible = visible_aliases(viewer, cluster_id, queues)
    before = sorted(_before(queues, queue), key=lambda pair: (_key(pair[1]), pair[0].name))
    named = [
        _row(other.name, share) for other, share in before if sees_cluster or other.name in visible
    ]
    own = _row(queue.name, queue.share)
    return FairShareRow(
        kind=own.kind,
        name=own.name,
        share=own.share,
        weight=own.weight,
        shared=tuple(
            _row(level.name, level.share)
            for level in queues.tree.lineage(queue)[1:]
            if level.share is not None
        )
        if sees_cluster
        else (),
        before=tuple(named),
        before_hidden=len(before) - len(named),
    )


def _before(queues: QueuesOfCluster, queue: Queue) -> Iterator[tuple[Queue, FairShare]]:
    """Yield the other queues with waiting gangs, with the lower share that is compared for them."""
    own_levels = _levels(queues, queue)
    for other in queues.sharing(queue):
        is_waiting = any(entry.stands_in_line for entry in queues.line(other.name))
        if other.level is not QueueLevel.QUEUE or other.name == queue.name or not is_waiting:
            continue
        levels = _levels(queues, other)
        common = next((name for name in levels if name in own_levels), None)
        if common is None:
            continue
        mine = _share(queues, own_levels[own_levels.index(common) - 1])
        theirs = _share(queues, levels[levels.index(common) - 1])
        if mine is not None and theirs is not None and _key(theirs) < _key(mine):
            yield other, theirs


def _levels(queues: QueuesOfCluster, queue: Queue) -> list[QueueName]:
    """Return the names of a queue and its parents, nearest first. The last parent need not exist."""
    lineage = queues.tree.lineage(queue)
    last = lineage[-1].parent
    names = [level.name for level in lineage]
    return names if last is None or last in names else [*names, last]


def _share(queues: QueuesOfCluster, name: QueueName) -> FairShare | None:
    queue = queues.tree.get(name)
    return queue.share if queue is not None else None


def _key(share: FairShare) -> tuple[bool, int]:
    return share.share is None, share.share or 0


def _row(name: QueueName, share: FairShare) -> ShareRow:
    return ShareRow(
        kind=printable(name.kind),
        name=printable(name.name),
        share=share.share,
        weight=decimal_text(share.weight),
    )
