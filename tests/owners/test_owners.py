"""Walks the registry of owner kinds: nobody is in it without a test, and none is half-made."""

from importlib import import_module
from pathlib import Path

import pytest

import gangboard.owners
from gangboard.domain.owner import Owner
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.plugins.registry import owner_kinds
from tests.decode.reading import Json, model, with_identity

ROOM = Path(gangboard.owners.__path__[0])
MEMBERS = sorted(file.stem for file in ROOM.iterdir() if not file.stem.startswith("_"))
"""Files, and folders of those that have several."""


@pytest.mark.parametrize("member", MEMBERS)
def test_every_member_has_a_test_file(member: str) -> None:
    assert (Path(__file__).parent / f"test_{member}.py").is_file()


def test_every_member_is_found() -> None:
    """Each offers one kind or more: a folder can have what stands between its kind and the pods."""
    modules = (import_module(f"gangboard.owners.{member}") for member in MEMBERS)
    offered = [getattr(one, "OWNERS", None) or (one.OWNER,) for one in modules]
    assert len(owner_kinds()) == sum(map(len, offered))


@pytest.mark.parametrize("kind", owner_kinds(), ids=lambda kind: kind.label)
def test_every_member_reads_an_object_that_nobody_has_reconciled(kind: OwnerKind) -> None:
    objects: list[Json] = [
        {},
        {"spec": {}},
        {"spec": None, "status": None},
        {"spec": {}, "status": {}},
    ]
    for obj in objects:
        owner: Owner = model(kind.resource, with_identity(obj))
        assert kind.resource.model is Owner
        assert owner.meta.ref.kind == kind.resource.kind
        assert owner.meta.ref.group == kind.resource.group
        assert not owner.suspended
        assert owner.finish is None
        assert owner.managed_by == ""
        assert kind.current is None or kind.current(owner, owner)
