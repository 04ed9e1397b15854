"""Gangs in and out of their table."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import msgspec

from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import Finding, FitRow, GangMode, JobState, MemberState, UnitMemory


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


_encoder = msgspec.msgpack.Encoder()
_detail = msgspec.msgpack.Decoder(Detail)
_memory = msgspec.msgpack.Decoder(dict[str, UnitMemory])


def gang_id(cluster_name: str, uid: str) -> str:
    """Return the public id of a gang: the same after the database was made anew."""
    return hashlib.blake2b(f"{cluster_name}/{uid}".encode(), digest_size=8).hexdigest()


def pack_detail(detail: Detail) -> bytes:
    """Encode for the column `detail`."""
    return _encoder.encode(detail)


def unpack_detail(data: bytes) -> Detail:
    """Decode the column `detail`."""
    return _detail.decode(bytes(data)) if data else Detail()


def pack_memory(memory: dict[str, UnitMemory]) -> bytes:
    """Encode for the column `memory`."""
    return _encoder.encode(memory)


def unpack_memory(data: bytes) -> dict[str, UnitMemory]:
    """Decode the column `memory`."""
    return _memory.decode(bytes(data)) if data else {}
