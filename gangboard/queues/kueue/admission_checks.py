"""Admission checks: the objects, and their messages on a Workload without the prefixes of controllers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gangboard.decode.wire import (
    Wire,
    WireCondition,
    WireMeta,
    pick_condition,
    read_meta,
    read_text,
)
from gangboard.domain.api_resource import Resource
from gangboard.domain.objects import Condition
from gangboard.domain.queue import QueueCode, QueueMessage
from gangboard.domain.quota import QueueCheck
from gangboard.domain.text import count, listed, names, quote, shorten
from gangboard.queues.kueue.queues import GROUP, VERSIONS

_LIST = re.compile(r"AdmissionChecks? in \w+ state: (.*)", re.DOTALL)
"""Pattern of Kueue's list of checks with their messages (buildAdmissionChecksMessage of v0.19.2)."""
_SEPARATOR = '; "'
_CONTROLLER_PREFIXES = (
    "Provisioning Request wasn't accepted: ",
    "Retrying after failure: ",
    "Retrying after booking expired: ",
)
"""Prefixes of the cluster autoscaler, and of Kueue's check for it."""
_MULTIKUEUE_SUFFIX = re.compile(r', Previously: "\w*"$')
"""Suffix of MultiKueue (updateACS)."""
_SHOWN = 2


@dataclass(frozen=True, slots=True)
class AdmissionCheck:
    """One of `status.admissionChecks` of a Workload."""

    name: str
    state: str
    message: str = ""


def open_checks_message(
    checks: Sequence[AdmissionCheck], reserved: Condition
) -> QueueMessage | None:
    """Return the message about a Workload with quota that waits for checks. None: all are ready."""
    unready = [check for check in checks if check.state != "Ready"]
    if not unready:
        return None
    rejected = [check for check in unready if check.state == "Rejected"]
    named = rejected or unready
    noun, verb_have = ("check", "has") if len(named) == 1 else ("checks", "have")
    text = next(
        (stripped for check in named if (stripped := _strip_controller_text(check.message))), ""
    )
    quoted = f": “{quote(text)}”" if text else ""
    verb = f"{verb_have} refused" if rejected else f"{verb_have} not passed yet"
    return QueueMessage(
        QueueCode.ADMISSION_CHECK,
        f"admission {noun} {names(check.name for check in named)} {verb}{quoted}",
        label="admission checks",
        text=", ".join(f"{check.name}: {check.state}" for check in unready),
        since=reserved.since,
    )


def checks_text(message: str, of_one: str, of_several: str) -> str:
    """Return `check burst refused it: “no room”` for an eviction by admission checks. Empty: any other message.

    `of_one` and `of_several` are the verb phrases for one check and for several.
    """
    match = _LIST.search(message)
    if match is None:
        return ""
    checks = [_parse_check(entry) for entry in match[1].removeprefix('"').split(_SEPARATOR)]
    if len(checks) == 1:
        ((name, text),) = checks
        return f"check {name} {of_one}: “{quote(text)}”" if text else f"check {name} {of_one}"
    return f"checks {_checks_list(checks)} {of_several}"


def _parse_check(entry: str) -> tuple[str, str]:
    """Return the name and the message of one check from the text `name" (message)`."""
    name, _, rest = entry.partition('"')
    return name, _strip_controller_text(rest.removeprefix(" (").removesuffix(")"))


def _checks_list(checks: Iterable[tuple[str, str]]) -> str:
    texts = [f"{name} (“{quote(text)}”)" if text else name for name, text in sorted(checks)]
    remaining = len(texts) - _SHOWN
    return listed([*texts[:_SHOWN], f"{count(remaining, 'other')}"] if remaining > 0 else texts)


def _strip_controller_text(message: str) -> str:
    text = message
    for frame in _CONTROLLER_PREFIXES:
        text = text.removeprefix(frame)
    return _MULTIKUEUE_SUFFIX.sub("", text)


# Objects


class _WireCheckSpec(Wire):
    controller_name: str | None = None


class _WireCheckStatus(Wire):
    conditions: list[WireCondition] | None = None


class WireCheck(Wire):
    """The fields of an AdmissionCheck that gangboard reads."""

    metadata: WireMeta
    spec: _WireCheckSpec | None = None
    status: _WireCheckStatus | None = None


def _build_check(wire: WireCheck, version: str) -> QueueCheck:
    active = pick_condition((wire.status or _WireCheckStatus()).conditions, "Active")
    return QueueCheck(
        meta=read_meta(wire.metadata, GROUP, "AdmissionCheck", version),
        controller=read_text((wire.spec or _WireCheckSpec()).controller_name),
        is_active=active.is_true if active is not None else None,
        cause=shorten(active.message) if active is not None and not active.is_true else "",
    )


CHECKS = Resource(
    GROUP, "admissionchecks", "AdmissionCheck", VERSIONS, WireCheck, QueueCheck, _build_check
)
