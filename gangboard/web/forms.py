"""What a person asks for, as it stands in an address or a form.

One object is one word there: `eu-train/batch/Job/research/workers-0/UID/3`.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import ClassVar
from urllib.parse import urlencode

from django.http import QueryDict

from gangboard.actions.service import MOST_AT_ONCE, ActionRequest
from gangboard.domain.action import ActionTarget, Verb
from gangboard.domain.hold import LONGEST_REASON, SHORTEST_REASON
from gangboard.readmodels.action_rows import ActionRow, OfferRow

LONGEST_KEY = 100
LONGEST_TARGET = 1200
"""Characters; seven names of Kubernetes fit."""
_TARGET_PIECES = 7
_GANG = re.compile(r"[0-9a-f]{1,32}")

Named = OfferRow | ActionRow | ActionTarget
"""What has the names of one object."""


class FormError(ValueError):
    """The address or form does not say what is asked for. The text is one sentence."""


@dataclass(frozen=True, slots=True)
class ActionForm:
    """One confirmation: what, with which reason, until when."""

    shortest_reason: ClassVar[int] = SHORTEST_REASON
    longest_reason: ClassVar[int] = LONGEST_REASON
    verb: Verb
    targets: tuple[ActionTarget, ...]
    reason: str = ""
    until: str = ""
    """As it was typed: UTC, without a zone."""
    key: str = ""
    """Made by the server with the form: pressing twice asks once."""
    forced: bool = False
    gang: str = ""
    """The gang from whose page it was asked, to go back to."""

    @classmethod
    def read(cls, query: QueryDict) -> ActionForm:
        """Return what an address or a form says. Raises FormError."""
        try:
            verb = Verb(query.get("verb", ""))
        except ValueError as error:
            raise FormError("The address does not say whether to suspend or resume.") from error
        words = list(dict.fromkeys(query.getlist("target")))
        if len(words) > MOST_AT_ONCE:
            raise FormError(
                f"{len(words)} objects are too many for one confirmation; {MOST_AT_ONCE} are the most."
            )
        targets = [read_target(word) for word in words]
        if not targets:
            raise FormError("Nothing is selected. Select at least one Job and ask again.")
        if None in targets:
            raise FormError("The address names an object that cannot exist.")
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

    def request_for(self, target: ActionTarget, *, until: datetime | None = None) -> ActionRequest:
        """Return the request for one object. Several share a key, each with its uid behind it."""
        key = self.key if len(self.targets) == 1 or not self.key else f"{self.key}.{target.uid}"
        return ActionRequest(
            verb=self.verb,
            target=target,
            reason=self.reason,
            until=until,
            idempotency_key=key,
            forced=self.forced,
            via="page",
        )

    def with_new_key(self) -> ActionForm:
        """Return the same with a key of its own: for a form that was not sent yet."""
        return replace(self, key=secrets.token_urlsafe(16))


def read_until(text: str) -> datetime | None:
    """Return the end of a Hold from the text of a form, in UTC; None if it is empty. Raises FormError."""
    if not text:
        return None
    try:
        until = datetime.fromisoformat(text)
        return until.replace(tzinfo=UTC) if until.tzinfo is None else until.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise FormError("The end is not a time: write it as 2026-11-21T18:00, in UTC.") from error


def write_target(named: Named) -> str:
    """Return the word of an object. No name in Kubernetes has a slash; one with a slash is not read back."""
    generation = "" if named.generation is None else str(named.generation)
    return "/".join(
        (
            named.cluster,
            named.api_group,
            named.kind,
            named.namespace,
            named.name,
            named.uid,
            generation,
        )
    )


def read_target(text: str) -> ActionTarget | None:
    """Return the object that a word names, with the generation that was seen; None if it names none."""
    pieces = text.split("/")
    if len(text) > LONGEST_TARGET or "\x00" in text or len(pieces) != _TARGET_PIECES:
        return None
    cluster, api_group, kind, namespace, name, uid, generation = pieces
    if not (cluster and kind and name and uid):
        return None
    if generation and not (generation.isascii() and generation.isdigit() and len(generation) < 19):
        return None
    return ActionTarget(
        cluster=cluster,
        api_group=api_group,
        kind=kind,
        namespace=namespace,
        name=name,
        uid=uid,
        generation=int(generation) if generation else None,
    )


def element_key(uid: str) -> str:
    """Return what stands for an object in ids of elements; it has no blanks, whatever the uid is."""
    return hashlib.blake2b(uid.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
