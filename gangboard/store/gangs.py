"""Encoding and decoding of the gang table."""

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
    """Fields that only the Gang page and the API's single gang need."""

    findings: tuple[Finding, ...] = ()
    jobs: tuple[JobState, ...] = ()
    members: tuple[MemberState, ...] = ()
    groups: tuple[ObjectRef, ...] = ()
    fit: tuple[FitRow, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)
    """Facts that only the owner's kind provides: label → text."""
    gang_mode: GangMode | None = None
    domains: dict[str, dict[str, str]] = field(default_factory=dict)
    """Group uid → topology key → domains of its pods."""


@dataclass(frozen=True, slots=True)
class VerdictInputs:
    """The inputs of a verdict. The next holder of the cluster reassesses the gang if they have changed."""

    digest: bytes
    """Empty if the gang must be reassessed in any case."""
    pod_kinds: bytes = b""
    """Its pods by resource request, as `polling.assessment_index` packs them."""


class _Memory(msgspec.Struct):
    """The column `memory`: the memory of each unit, and the inputs under a name that no unit has.

    Other releases read the inputs as a unit without memory, and drop them.
    """

    inputs: VerdictInputs = msgspec.field(default=VerdictInputs(b""), name=_INPUTS)


_OUTLINE_BATCH = 200
"""Rows of one update. A poll that wants to write waits for one batch at most."""
_encoder = msgspec.msgpack.Encoder()
_detail = msgspec.msgpack.Decoder(Detail)
_memory = msgspec.msgpack.Decoder(dict[str, UnitMemory])
_inputs = msgspec.msgpack.Decoder(_Memory)


def gang_id(cluster_name: str, uid: str) -> str:
    """Return the public id of a gang. It is the same after the database was recreated."""
    return hashlib.blake2b(f"{cluster_name}/{uid}".encode(), digest_size=8).hexdigest()


def pack_detail(detail: Detail) -> bytes:
    """Encode the column `detail`."""
    return _encoder.encode(detail)


def unpack_detail(data: bytes) -> Detail:
    """Decode the column `detail`."""
    return decode_detail(_detail, bytes(data)) if data else Detail()


def decode_detail(decoder: msgspec.msgpack.Decoder[Stored], data: bytes) -> Stored:
    """Decode a stored Detail. Older releases stored advice as sentences, which become steps without a command."""
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
        key: _to_steps(item) if key == "advice" and isinstance(item, list) else _with_steps(item)
        for key, item in value.items()
    }


def _to_steps(advice: list[Any]) -> list[Any]:
    return [{"text": item} if isinstance(item, str) else item for item in advice]


def pack_advice(advice: Iterable[AdvisedStep]) -> list[Any]:
    """Return the JSON for the column `advice`."""
    packed: list[Any] = msgspec.json.decode(msgspec.json.encode(tuple(advice)))
    return packed


def unpack_advice(advice: list[Any]) -> tuple[AdvisedStep, ...]:
    """Return the steps in the column `advice`. Older releases stored sentences."""
    return msgspec.convert(_to_steps(advice), tuple[AdvisedStep, ...])


def pack_memory(memory: dict[str, UnitMemory], inputs: VerdictInputs | None = None) -> bytes:
    """Encode the column `memory`."""
    return _encoder.encode(memory if inputs is None else {_INPUTS: inputs, **memory})


def unpack_memory(data: bytes) -> dict[str, UnitMemory]:
    """Decode the memory of the units from the column `memory`."""
    memory = _memory.decode(bytes(data)) if data else {}
    memory.pop(_INPUTS, None)
    return memory


def unpack_inputs(data: bytes) -> VerdictInputs:
    """Decode the inputs of the verdict from the column `memory`."""
    return _inputs.decode(bytes(data)).inputs if data else VerdictInputs(b"")


def trim_deleted_gangs(*, gone_for: timedelta) -> None:
    """Reduce the rows of gangs that were deleted long ago to the columns that lists show.

    The references needed to redact names in the sentence are removed, so the title replaces the sentence.
    """
    untrimmed = Gang.objects.filter(gone_at__lt=Now() - gone_for).exclude(detail=b"")
    while keys := list(untrimmed.values_list("pk", flat=True)[:_OUTLINE_BATCH]):
        rows = Gang.objects.filter(pk__in=keys)
        rows.update(detail=b"", memory=b"", advice=[], message=F("title"))
