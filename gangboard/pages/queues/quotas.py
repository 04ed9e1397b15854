"""The quotas of a queue, and how much of them other queues have borrowed, which no object says."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal

from gangboard.diagnosis.scheduler_queues import queue_system, queue_words
from gangboard.domain.quota import Queue, Quota, QuotaTerm
from gangboard.domain.resources import decimal_text, is_accelerator
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.formatting import printable, quantity_text

_NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True)
class LentRow:
    """How much of a quota others have; the two differ where several could have lent it."""

    at_least: str = shown("At least")
    at_most: str = shown("At most")


@dataclass(frozen=True, slots=True, kw_only=True)
class TermRow:
    """One more number of a quota or queue, in the words of its system."""

    name: str = shown("Name", "Such as `limit`, `guarantee` or `weight`.")
    amount: str | None = shown("Amount", "Null: no bound. A weight has no unit.")
    text: str
    """As a person reads it: `8`, `unlimited`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaRow:
    """One resource in one flavor of a queue."""

    flavor: str = shown("Flavor")
    is_flavor_known: bool = shown(
        "Flavor known",
        "False if flavors can be read and none has this name.",
        api_name="flavor_known",
    )
    resource: str = shown("Resource")
    is_accelerator: bool = shown("Accelerator", api_name="accelerator")
    nominal: str | None = shown(
        "Quota",
        "Null: the queue has no quota for it, or one without bound: `nominal_word` says which.",
    )
    nominal_word: str = shown(
        "Quota is called",
        "What its system calls `nominal`, such as `capability`; where that is null, what is said of it.",
    )
    used: str = shown("Used", "By those that are admitted.")
    reserved: str = shown(
        "Reserved",
        "By those that are admitted, and those that have quota and wait for something else.",
    )
    borrowed: str = shown("Borrowed", "The part of `reserved` beyond `nominal`.")
    borrowed_word: str
    """The word of its system for the borrowed part."""
    lent: LentRow | None = shown(
        "Lent",
        "Computed from all with which the queue shares quota; null where these are not all known.",
    )
    borrowing_limit: str | None = shown("Borrowing limit", "Null: no limit.")
    lending_limit: str | None = shown("Lending limit", "Null: no limit.")
    terms: tuple[TermRow, ...] = shown("Terms", "What else its system keeps for it.")

    def _text(self, exact: str) -> str:
        return quantity_text(self.resource, exact)

    @property
    def nominal_text(self) -> str:
        """The quota as a person reads it; empty without one."""
        return "" if self.nominal is None else self._text(self.nominal)

    @property
    def used_text(self) -> str:
        """The used amount as a person reads it."""
        return self._text(self.used)

    @property
    def waiting_to_start(self) -> str:
        """The amount that is reserved and not used, by entries that wait for something else than quota; or empty."""
        unused = Decimal(self.reserved) - Decimal(self.used)
        return self._text(decimal_text(unused)) if unused else ""

    @property
    def borrowed_text(self) -> str:
        """The borrowed amount as a person reads it, or empty."""
        return self._text(self.borrowed) if Decimal(self.borrowed) else ""

    @property
    def lent_text(self) -> str:
        """`3`, `1 to 3`, or empty."""
        if self.lent is None or not Decimal(self.lent.at_most):
            return ""
        least, most = self._text(self.lent.at_least), self._text(self.lent.at_most)
        return most if least == most else f"{least} to {most}"

    @property
    def limits(self) -> str:
        """`may borrow 4, lends up to 2`; of a scheduler `limit 8, over-quota weight 2`; or empty."""
        texts = [f"{term.name} {term.text}" for term in self.terms]
        if texts:
            return ", ".join(texts)
        if self.borrowing_limit is not None:
            texts.append(f"may borrow {self._text(self.borrowing_limit)}")
        if self.lending_limit is not None:
            texts.append(f"lends up to {self._text(self.lending_limit)}")
        return ", ".join(texts)

    @property
    def _total(self) -> Decimal:
        return max(Decimal(self.nominal or 0), Decimal(self.reserved))

    @property
    def bar(self) -> tuple[float, float, float]:
        """The ends of used, reserved and lent in the bar, in percent of quota and borrowed together."""
        reserved, total = Decimal(self.reserved), self._total
        lent = Decimal(self.lent.at_most) if self.lent is not None else _NOTHING
        segment_ends = (Decimal(self.used), reserved, min(reserved + lent, total))
        used, held, away = (_percent(segment_end, total) for segment_end in segment_ends)
        return used, held, away

    @property
    def borrowed_from(self) -> float | None:
        """The place in the bar where the quota ends and the borrowed part begins; None without a borrowed part."""
        nominal = Decimal(self.nominal or 0)
        return _percent(nominal, self._total) if Decimal(self.reserved) > nominal else None

    @property
    def borrowed_width(self) -> float:
        """The width of the borrowed part, in percent."""
        return 0.0 if self.borrowed_from is None else round(self.bar[1] - self.borrowed_from, 1)


def quota_rows(
    queue: Queue, sharing: Collection[Queue] | None, flavors: Collection[str] | None
) -> tuple[QuotaRow, ...]:
    """Return the quotas of a queue, accelerators first.

    `sharing` are all queues with which it shares quota; None if some of them cannot be read. `flavors` are the
    names of those that exist; None if they cannot be read.
    """
    rows = [_row(quota, queue, sharing, flavors) for quota in queue.quotas]
    return tuple(sorted(rows, key=lambda row: not row.is_accelerator))


def _row(
    quota: Quota,
    queue: Queue,
    sharing: Collection[Queue] | None,
    flavors: Collection[str] | None,
) -> QuotaRow:
    vocabulary, system = queue_words(queue.meta.ref.group), queue_system(queue.meta.ref.group)
    lends = sharing is not None and system is not None and system.lends
    return QuotaRow(
        flavor=printable(quota.flavor),
        is_flavor_known=not quota.flavor or flavors is None or quota.flavor in flavors,
        resource=printable(quota.resource),
        is_accelerator=is_accelerator(quota.resource),
        nominal=_text_or_none(quota.nominal),
        nominal_word=vocabulary.nominal if quota.nominal is not None else vocabulary.no_nominal,
        used=decimal_text(quota.used),
        reserved=decimal_text(max(quota.reserved, quota.used)),
        borrowed=decimal_text(quota.borrowed),
        borrowed_word=vocabulary.borrowed,
        lent=_lent(quota, queue, sharing or ()) if lends else None,
        borrowing_limit=_text_or_none(quota.borrowing_limit),
        lending_limit=_text_or_none(quota.lending_limit),
        terms=term_rows(quota.terms, quota.resource),
    )


def term_rows(terms: Iterable[QuotaTerm], resource: str = "") -> tuple[TermRow, ...]:
    """Return the numbers that a system keeps beside the quota, in its order."""
    return tuple(
        TermRow(
            name=term.name,
            amount=_text_or_none(term.amount),
            text="unlimited"
            if term.amount is None
            else quantity_text("" if term.is_share else resource, decimal_text(term.amount)),
        )
        for term in terms
    )


def _text_or_none(amount: Decimal | None) -> str | None:
    return decimal_text(amount) if amount is not None else None


def _percent(amount: Decimal, total: Decimal) -> float:
    return round(float(100 * amount / total), 1) if total > 0 else 0.0


def _lent(quota: Quota, queue: Queue, sharing: Iterable[Queue]) -> LentRow:
    """Return the bounds of how much of a quota other queues have borrowed.

    Every borrowed amount was lent by a queue that shares and has as much to spare. A queue has lent at most its
    own spare amount, and at least the rest if all others lend as much as they can.
    """
    sharers = [_same(sharer, quota) for sharer in sharing if sharer.name != queue.name]
    borrowed = sum((sharer.borrowed for sharer in sharers), _NOTHING)
    spare_of_others = sum(map(_spare, sharers), _NOTHING)
    most = min(_spare(quota), borrowed)
    least = min(max(borrowed - spare_of_others, _NOTHING), most)
    return LentRow(decimal_text(least), decimal_text(most))


def _same(queue: Queue, quota: Quota) -> Quota:
    """Return the quota of another queue for the same resource in the same flavor."""
    key = quota.flavor, quota.resource
    return next(
        (candidate for candidate in queue.quotas if (candidate.flavor, candidate.resource) == key),
        Quota(*key),
    )


def _spare(quota: Quota) -> Decimal:
    """Return how much of a quota is left for others, lent or not."""
    spare = max((quota.nominal or _NOTHING) - quota.reserved, _NOTHING)
    return spare if quota.lending_limit is None else min(spare, quota.lending_limit)
