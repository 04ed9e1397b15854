"""Walk the registry of grouping APIs: every API has a test and is complete."""

from pathlib import Path

import pytest

import gangboard.groups
from gangboard.domain.api_resource import Resource
from gangboard.domain.group import Group
from gangboard.plugins.registry import grouping_apis
from tests.decode.reading import Json, model, with_identity

ROOM = Path(gangboard.groups.__path__[0])
MEMBERS = sorted(file.stem for file in ROOM.iterdir() if not file.stem.startswith("_"))
RESOURCES = [resource for api in grouping_apis() for resource in api.resources]


@pytest.mark.parametrize("member", MEMBERS)
def test_every_member_has_a_test_file(member: str) -> None:
    assert (Path(__file__).parent / f"test_{member}.py").is_file()


def test_every_member_is_discovered() -> None:
    assert len(grouping_apis()) == len(MEMBERS)


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.key)
def test_every_resource_reads_an_object_without_spec_and_status(resource: Resource) -> None:
    assert resource.versions
    objects: list[Json] = [{}, {"spec": None, "status": None}, {"spec": {}, "status": {}}]
    for obj in objects:
        group: Group = model(resource, with_identity(obj))
        assert resource.model is Group
        assert (group.meta.ref.group, group.meta.ref.kind) == (resource.group, resource.kind)
        assert group.placed is None
