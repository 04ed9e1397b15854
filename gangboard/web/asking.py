"""What a person asks for, as it stands in an address or a form."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import urlencode

from django.http import QueryDict

from gangboard.actions.service import MOST_AT_ONCE, Ask
from gangboard.domain.action import Target, Verb
from gangboard.web.targets import read_target, write_target

LONGEST_REASON = 1024
LONGEST_KEY = 100
_GANG = re.compile(r"[0-9a-f]{1,32}")


class AddressError(ValueError):
    """The address or form does not say what is asked for. The text is one sentence."""


@dataclass(frozen=True, slots=True)
class Asking:
    """One confirmation: what, with which reason, until when."""

    verb: Verb
    targets: tuple[Target, ...]
    reason: str = ""
    until: str = ""
    """As it was typed: UTC, without a zone."""
    key: str = ""
    """Made by the server with the form: pressing twice asks once."""
    forced: bool = False
    gang: str = ""
    """The gang from whose page it was asked, to go back to."""

    @classmethod
    def read(cls, query: QueryDict) -> Asking:
        """Return what an address or a form says. Raises AddressError."""
        try:
            verb = Verb(query.get("verb", ""))
        except ValueError as error:
            raise AddressError("The address does not say whether to suspend or resume.") from error
        words = list(dict.fromkeys(query.getlist("target")))
        if len(words) > MOST_AT_ONCE:
            raise AddressError(
                f"{len(words)} objects are too many for one confirmation; {MOST_AT_ONCE} are the most."
            )
        targets = [read_target(word) for word in words]
        if not targets:
            raise AddressError("Nothing is selected. Select at least one Job and ask again.")
        if None in targets:
            raise AddressError("The address names an object that cannot exist.")
        gang = query.get("gang", "")
        return cls(
            verb=verb,
            targets=tuple(target for target in targets if target is not None),
            reason=query.get("reason", "").replace("\x00", "").strip()[:LONGEST_REASON],
            until=query.get("until", "").strip()[:32],
            key=query.get("key", "").replace("\x00", "")[:LONGEST_KEY],
            forced=query.get("forced", "") == "1",
            gang=gang if _GANG.fullmatch(gang) else "",
        )

    @property
    def query(self) -> str:
        """Return the query of the confirmation's address."""
        pairs = [
            ("verb", self.verb.value),
            *(("target", write_target(target)) for target in self.targets),
            *([("gang", self.gang)] if self.gang else []),
            *([("forced", "1")] if self.forced else []),
        ]
        return urlencode(pairs)

    def ask(self, target: Target, *, until: datetime | None = None) -> Ask:
        """Return the request for one object. Several share a key, each with its uid behind it."""
        key = self.key if len(self.targets) == 1 or not self.key else f"{self.key}.{target.uid}"
        return Ask(
            verb=self.verb,
            target=target,
            reason=self.reason,
            until=until,
            idempotency_key=key,
            forced=self.forced,
            via="page",
        )

    def with_new_key(self) -> Asking:
        """Return the same with a key of its own: for a form that was not sent yet."""
        return replace(self, key=secrets.token_urlsafe(16))


def read_until(text: str) -> datetime | None:
    """Return the end of a Hold as a form has it, in UTC; None for none. Raises AddressError."""
    if not text:
        return None
    try:
        until = datetime.fromisoformat(text)
        return until.replace(tzinfo=UTC) if until.tzinfo is None else until.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise AddressError(
            "The end is not a time: write it as 2026-11-21T18:00, in UTC."
        ) from error
