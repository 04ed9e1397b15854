"""Gangs in and out of their table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import msgspec
from django.db.models import F
from django.db.models.functions import Now

from gangboard.domain.advice import AdvisedStep
from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import Finding, FitRow, GangMode, JobState, MemberState, UnitMemory
from gangboard.store.models import Gang

_INPUTS = ""
Stored = TypeVar("Stored")
"""A Detail, or a class with some of its fields."""


@dataclass(frozen=True, slots=True)
class Detail:
    """What only the Gang page and the single answer of the API need."""

    findings: tuple[Finding, ...] = ()
    jobs: tuple[JobState, ...] = ()
    members: tuple[MemberState, ...] = ()
    groups: tuple[ObjectRef, ...] = ()
    fit: tuple[FitRow, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)
    """What only the owner's kind knows of it: label → text."""
    gang_mode: GangMode | None = None
    domains: dict[str, dict[str, str]] = field(default_factory=dict)
    """uid of a group → topology key → where its pods are."""


@dataclass(frozen=True, slots=True)
class VerdictInputs:
    """What a verdict was made from: the next holder of the cluster judges the gang again where that has changed."""

    digest: bytes
    """Empty if it must be judged again in any case."""
    pod_kinds: bytes = b""
    """Its pods by what they ask for, as `polling.assessment_index` packs them."""


class _Memory(msgspec.Struct):
    """The column `memory`: what is remembered by unit, and the inputs, under a name that no unit has.

    Other releases read them as a unit without any memory, and forget it.
    """

    inputs: VerdictInputs = msgspec.field(default=VerdictInputs(b""), name=_INPUTS)


_OUTLINE_BATCH = 200
"""Rows of one update: a poll that wants to write waits for no more than that."""
_encoder = msgspec.msgpack.Encoder()
_detail = msgspec.msgpack.Decoder(Detail)
_memory = msgspec.msgpack.Decoder(dict[str, UnitMemory])
_inputs = msgspec.msgpack.Decoder(_Memory)


def gang_id(cluster_name: str, uid: str) -> str:
    """Return the public id of a gang: the same after the database was made anew."""
    return hashlib.blake2b(f"{cluster_name}/{uid}".encode(), digest_size=8).hexdigest()


def pack_detail(detail: Detail) -> bytes:
    """Encode for the column `detail`."""
    return _encoder.encode(detail)


def unpack_detail(data: bytes) -> Detail:
    """Decode the column `detail`."""
    return decode_detail(_detail, bytes(data)) if data else Detail()


def decode_detail(decoder: msgspec.msgpack.Decoder[Stored], data: bytes) -> Stored:
    """Decode a stored Detail. Older releases stored advice as sentences: these become steps without a command."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        return msgspec.convert(_with_steps(msgspec.msgpack.decode(data)), decoder.type)


def _with_steps(value: Any) -> Any:  # any JSON
    """Return the value with a step in place of each sentence of advice."""
    if isinstance(value, list):
        return [_with_steps(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _steps(item) if key == "advice" and isinstance(item, list) else _with_steps(item)
        for key, item in value.items()
    }


def _steps(advice: list[Any]) -> list[Any]:
    return [{"text": item} if isinstance(item, str) else item for item in advice]


def pack_advice(advice: Iterable[AdvisedStep]) -> list[Any]:
    """Return the JSON for the column `advice`."""
    packed: list[Any] = msgspec.json.decode(msgspec.json.encode(tuple(advice)))
    return packed


def unpack_advice(advice: list[Any]) -> tuple[AdvisedStep, ...]:
    """Return the steps in the column `advice`; older releases stored sentences."""
    return msgspec.convert(_steps(advice), tuple[AdvisedStep, ...])


def pack_memory(memory: dict[str, UnitMemory], inputs: VerdictInputs | None = None) -> bytes:
    """Encode for the column `memory`."""
    return _encoder.encode(memory if inputs is None else {_INPUTS: inputs, **memory})


def unpack_memory(data: bytes) -> dict[str, UnitMemory]:
    """Decode what the column `memory` has of units."""
    memory = _memory.decode(bytes(data)) if data else {}
    memory.pop(_INPUTS, None)
    return memory


def unpack_inputs(data: bytes) -> VerdictInputs:
    """Decode what the column `memory` has of the inputs of the verdict."""
    return _inputs.decode(bytes(data)).inputs if data else VerdictInputs(b"")


def trim_deleted_gangs(*, gone_for: timedelta) -> None:
    """Reduce the rows of gangs that were deleted so long ago to what lists show of them.

    The references by which names in the sentence are redacted go, so the title takes its place.
    """
    whole = Gang.objects.filter(gone_at__lt=Now() - gone_for).exclude(detail=b"")
    while keys := list(whole.values_list("pk", flat=True)[:_OUTLINE_BATCH]):
        rows = Gang.objects.filter(pk__in=keys)
        rows.update(detail=b"", memory=b"", advice=[], message=F("title"))
