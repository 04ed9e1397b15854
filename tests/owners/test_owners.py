"""Walk the registry of owner kinds: every kind has a test and is complete."""

from pathlib import Path
from types import ModuleType

import pytest

import gangboard.owners
from gangboard.domain.owner import Owner
from gangboard.owners.job import Job
from gangboard.plugins import discovery
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.plugins.registry import owner_kinds
from tests.decode.reading import Json, model, with_identity

ROOM = Path(gangboard.owners.__path__[0])
MEMBERS = sorted(file.stem for file in ROOM.iterdir() if not file.stem.startswith("_"))
"""Files, and folders of those that have several."""


@pytest.mark.parametrize("member", MEMBERS)
def test_every_member_has_a_test_file(member: str) -> None:
    assert (Path(__file__).parent / f"test_{member}.py").is_file()


def test_every_member_is_discovered() -> None:
    """Each member offers one kind or more: a folder can include the objects between its kind and the pods."""
    members = {type(kind).__module__.split(".")[2] for kind in owner_kinds()}
    assert sorted(members) == MEMBERS


def offer(monkeypatch: pytest.MonkeyPatch, *classes: type[OwnerKind]) -> None:
    """Add a file with these kinds to the existing ones."""
    module = ModuleType("gangboard.owners.toy")
    for class_ in classes:
        class_.__module__ = module.__name__
        setattr(module, class_.__name__, class_)
    result = [*discovery.member_modules(gangboard.owners), (module,)]
    monkeypatch.setattr(discovery, "member_modules", lambda _package: result)


class Bare(OwnerKind):
    kind = "Bare"


class Again(Job):
    pass


@pytest.mark.parametrize(
    ("classes", "error"),
    [
        ([], "gangboard.owners.toy has no subclass of OwnerKind with a kind"),
        ([Bare], "Bare has no group and no versions and no wire and no build"),
        ([Again], "registers 'jobs.batch' a second time"),
    ],
)
def test_an_incomplete_kind_is_refused(
    monkeypatch: pytest.MonkeyPatch, classes: list[type[OwnerKind]], error: str
) -> None:
    offer(monkeypatch, *classes)
    with pytest.raises(discovery.RegistryError, match=error):
        owner_kinds.__wrapped__()


@pytest.mark.parametrize("kind", owner_kinds(), ids=lambda kind: kind.label)
def test_every_member_reads_an_unreconciled_object(kind: OwnerKind) -> None:
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
        assert kind.is_current(owner, owner)
