"""The quotas of a queue as a person reads them, and what of them is lent: that no object says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal

from gangboard.diagnosis.scheduler_queues import queue_system, queue_words
from gangboard.domain.quota import Queue, Quota, QuotaTerm
from gangboard.domain.resource_units import decimal_text
from gangboard.domain.resources import is_accelerator
from gangboard.readmodels.printable import printable
from gangboard.readmodels.quantities import quantity_text

_NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True)
class Lent:
    """How much of a quota others have borrowed. Where several could have lent it, nobody knows who did."""

    at_least: str
    at_most: str


@dataclass(frozen=True, slots=True)
class TermRow:
    """One more number of a quota or queue, in the words of its system."""

    name: str
    text: str
    """As a person reads it: `8`, `unlimited`."""
    exact: str | None
    """In base units; None for no bound."""


@dataclass(frozen=True, slots=True)
class ExactQuota:
    """The amounts as decimal strings in base units, for those who calculate with them."""

    nominal: str | None
    used: str
    reserved: str
    borrowed: str
    lent: Lent | None
    """None where it cannot be told: not all that it shares with is known."""
    borrowing_limit: str | None
    lending_limit: str | None


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """One resource in one flavor of a queue."""

    flavor: str
    is_flavor_known: bool
    """False if the flavors can be read and none has this name."""
    resource: str
    is_accelerator: bool
    nominal: str
    """Empty where the queue has no quota of its own for it."""
    nominal_word: str
    """What its system calls that; where there is none, the words that say so."""
    used: str
    waiting_to_start: str
    """What is reserved beyond what is used: by those who wait for something else than quota; or empty."""
    borrowed: str
    """Or empty."""
    borrowed_word: str
    """What its system calls that."""
    lent: str
    """`3`, `1 to 3`, or empty."""
    limits: str
    """`may borrow 4, lends up to 2`; of a scheduler `limit 8, over-quota weight 2`; or empty."""
    terms: tuple[TermRow, ...]
    bar: tuple[float, float, float]
    """Where used, reserved and lent end, in percent of quota and borrowed together."""
    borrowed_from: float | None
    """Where in the bar the quota ends and the borrowed begins; None where nothing is borrowed."""
    exact: ExactQuota

    @property
    def borrowed_width(self) -> float:
        """How much of the bar is borrowed, in percent."""
        return 0.0 if self.borrowed_from is None else round(self.bar[1] - self.borrowed_from, 1)


def quota_rows(
    queue: Queue, sharing: Collection[Queue] | None, flavors: Collection[str] | None
) -> tuple[QuotaRow, ...]:
    """Return the quotas of a queue, accelerators first.

    `sharing`: all with which it shares quota; None where these cannot all be looked at. `flavors`:
    the names of those that exist; None where they cannot be looked at.
    """
    rows = [_row(quota, queue, sharing, flavors) for quota in queue.quotas]
    return tuple(sorted(rows, key=lambda row: not row.is_accelerator))


def _row(
    quota: Quota,
    queue: Queue,
    sharing: Collection[Queue] | None,
    flavors: Collection[str] | None,
) -> QuotaRow:
    def text(amount: Decimal) -> str:
        return quantity_text(quota.resource, decimal_text(amount))

    reserved = max(quota.reserved, quota.used)
    nominal = quota.nominal or _NOTHING
    words = queue_words(queue.meta.ref.group)
    terms = term_rows(quota.terms, quota.resource)
    system = queue_system(queue.meta.ref.group)
    can_tell = sharing is not None and system is not None and system.lends
    lent = _lent(quota, queue, sharing or ()) if can_tell else None
    at_most = lent[1] if lent is not None else _NOTHING
    whole = max(nominal, reserved)
    return QuotaRow(
        flavor=printable(quota.flavor),
        is_flavor_known=not quota.flavor or flavors is None or quota.flavor in flavors,
        resource=printable(quota.resource),
        is_accelerator=is_accelerator(quota.resource),
        nominal=text(quota.nominal) if quota.nominal is not None else "",
        nominal_word=words.nominal if quota.nominal is not None else words.no_nominal,
        used=text(quota.used),
        waiting_to_start=text(reserved - quota.used) if reserved > quota.used else "",
        borrowed=text(quota.borrowed) if quota.borrowed else "",
        borrowed_word=words.borrowed,
        lent=_range(text(lent[0]), text(lent[1])) if lent is not None and lent[1] else "",
        limits=_limits(quota, terms, text),
        terms=terms,
        bar=(
            _percent(quota.used, whole),
            _percent(reserved, whole),
            _percent(min(reserved + at_most, whole), whole),
        ),
        borrowed_from=_percent(nominal, whole) if reserved > nominal else None,
        exact=_exact(quota, reserved, lent),
    )


def _exact(quota: Quota, reserved: Decimal, lent: tuple[Decimal, Decimal] | None) -> ExactQuota:
    return ExactQuota(
        nominal=_text_or_none(quota.nominal),
        used=decimal_text(quota.used),
        reserved=decimal_text(reserved),
        borrowed=decimal_text(quota.borrowed),
        lent=Lent(*map(decimal_text, lent)) if lent is not None else None,
        borrowing_limit=_text_or_none(quota.borrowing_limit),
        lending_limit=_text_or_none(quota.lending_limit),
    )


def _text_or_none(amount: Decimal | None) -> str | None:
    return decimal_text(amount) if amount is not None else None


def _range(least: str, most: str) -> str:
    return most if least == most else f"{least} to {most}"


def term_rows(terms: Iterable[QuotaTerm], resource: str = "") -> tuple[TermRow, ...]:
    """Return what a system keeps beside the quota, in its order."""
    return tuple(
        TermRow(
            name=term.name,
            text="unlimited"
            if term.amount is None
            else quantity_text("" if term.is_share else resource, decimal_text(term.amount)),
            exact=_text_or_none(term.amount),
        )
        for term in terms
    )


def _limits(quota: Quota, terms: Iterable[TermRow], text: Callable[[Decimal], str]) -> str:
    found = [f"{term.name} {term.text}" for term in terms]
    if found:
        return ", ".join(found)
    if quota.borrowing_limit is not None:
        found.append(f"may borrow {text(quota.borrowing_limit)}")
    if quota.lending_limit is not None:
        found.append(f"lends up to {text(quota.lending_limit)}")
    return ", ".join(found)


def _percent(part: Decimal, whole: Decimal) -> float:
    return round(float(100 * part / whole), 1) if whole > 0 else 0.0


def _lent(quota: Quota, queue: Queue, sharing: Iterable[Queue]) -> tuple[Decimal, Decimal]:
    """Return between how much and how much of a quota others have.

    All that is borrowed was lent by somebody who shares and has as much to spare. So nobody has lent
    more than he has to spare, nor less than is missing when all others lend what they can.
    """
    others = [one for one in sharing if one.name != queue.name]
    borrowed = sum((_same(one, quota).borrowed for one in others), _NOTHING)
    spare_of_others = sum((_spare(_same(one, quota)) for one in others), _NOTHING)
    most = min(_spare(quota), borrowed)
    return min(max(borrowed - spare_of_others, _NOTHING), most), most


def _same(queue: Queue, quota: Quota) -> Quota:
    """Return the quota of another queue for the same resource in the same flavor."""
    wanted = quota.flavor, quota.resource
    return next(
        (one for one in queue.quotas if (one.flavor, one.resource) == wanted), Quota(*wanted)
    )


def _spare(quota: Quota) -> Decimal:
    """Return what is left of a quota for others, lent or not."""
    left = max((quota.nominal or _NOTHING) - quota.reserved, _NOTHING)
    return left if quota.lending_limit is None else min(left, quota.lending_limit)
