"""Admission checks of a Workload: what each of them says, without the words that controllers put around it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gangboard.domain.objects import Condition
from gangboard.domain.queue import QueueCode, QueueMessage
from gangboard.domain.text import count, listed, names, quote_ends

_LIST = re.compile(r"AdmissionChecks? in \w+ state: (.*)", re.DOTALL)
"""How Kueue lists checks with their messages (buildAdmissionChecksMessage of v0.19.2)."""
_NEXT = '; "'
_BEFORE = (
    "Provisioning Request wasn't accepted: ",
    "Retrying after failure: ",
    "Retrying after booking expired: ",
)
"""Written by the cluster autoscaler and by Kueue's own check for it."""
_AFTER = re.compile(r', Previously: "\w*"$')
"""Written by MultiKueue (updateACS)."""
_SHOWN = 2


@dataclass(frozen=True, slots=True)
class AdmissionCheck:
    """One of `status.admissionChecks` of a Workload."""

    name: str
    state: str
    message: str = ""


def open_checks(checks: Sequence[AdmissionCheck], reserved: Condition) -> QueueMessage | None:
    """Return the message for a Workload that has its quota and waits for checks; None if all are ready."""
    left = [check for check in checks if check.state != "Ready"]
    if not left:
        return None
    rejected = [check for check in left if check.state == "Rejected"]
    told = rejected or left
    noun, have = ("check", "has") if len(told) == 1 else ("checks", "have")
    said = next((words for check in told if (words := _own_words(check.message))), "")
    quoted = f": “{quote_ends(said)}”" if said else ""
    verb = f"{have} refused" if rejected else f"{have} not passed yet"
    return QueueMessage(
        QueueCode.ADMISSION_CHECK,
        f"admission {noun} {names(check.name for check in told)} {verb}{quoted}",
        label="admission checks",
        text=", ".join(f"{check.name}: {check.state}" for check in left),
        since=reserved.since,
    )


def checks_text(message: str, one: str, several: str) -> str:
    """Return `check burst refused it: “no room”` of an eviction by admission checks; empty for any other.

    `one` and `several` are the verb phrases for one check and for more.
    """
    found = _LIST.search(message)
    if found is None:
        return ""
    said = [_listed(part) for part in found[1].removeprefix('"').split(_NEXT)]
    if len(said) == 1:
        ((name, words),) = said
        return f"check {name} {one}: “{quote_ends(words)}”" if words else f"check {name} {one}"
    return f"checks {_some(said)} {several}"


def _listed(part: str) -> tuple[str, str]:
    """Return the name and the words of one check, which stand as `name" (words)`."""
    name, _, rest = part.partition('"')
    return name, _own_words(rest.removeprefix(" (").removesuffix(")"))


def _some(said: Iterable[tuple[str, str]]) -> str:
    parts = [f"{name} (“{quote_ends(words)}”)" if words else name for name, words in sorted(said)]
    more = len(parts) - _SHOWN
    return listed([*parts[:_SHOWN], f"{count(more, 'other')}"] if more > 0 else parts)


def _own_words(message: str) -> str:
    text = message
    for frame in _BEFORE:
        text = text.removeprefix(frame)
    return _AFTER.sub("", text)
