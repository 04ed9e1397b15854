import json
from typing import Any

import pytest

from gangboard.decode.list_watch_decoder import build_model, read_event, read_page
from gangboard.decode.pods import POD
from gangboard.domain.api_resource import DecodeError
from tests.decode.reading import Json, list_body, read, with_identity


def pod(name: str, **more: Any) -> Json:
    return with_identity({"spec": {}, "status": {"phase": "Pending"}, **more}, name)


def line(type_: str, obj: Json) -> bytes:
    return json.dumps({"type": type_, "object": obj}).encode()


def test_page_has_objects_and_continue_token() -> None:
    page = read_page(list_body([pod("a"), pod("b")], version="55120", more="token"), POD)
    assert [wire.metadata.name for wire in page.objects] == ["a", "b"]
    assert page.objects[0].metadata.uid == "uid-a"
    assert page.objects[0].metadata.resource_version == "7"
    assert (page.resource_version, page.continue_token) == ("55120", "token")
    assert page.problems == []


@pytest.mark.parametrize("items", ["null", "[]"])
def test_an_empty_list_is_empty(items: str) -> None:
    head = '{"kind":"PodList","metadata":{"resourceVersion":"9"}'
    page = read_page(f'{head},"items":{items}}}'.encode(), POD)
    assert page.objects == []
    assert page.resource_version == "9"
    assert page.continue_token == ""


def test_bad_object_is_reported_and_others_are_decoded() -> None:
    bad = pod("bad", spec={"nodeName": 5})
    page = read_page(list_body([pod("a"), bad, pod("b")], version="12", more="next"), POD)
    assert [wire.metadata.name for wire in page.objects] == ["a", "b"]
    assert (page.resource_version, page.continue_token) == ("12", "next")
    (problem,) = page.problems
    assert (problem.namespace, problem.name, problem.uid) == (
        "team-a",
        "bad",
        "uid-bad",
    )
    assert problem.lost
    assert problem.sentence.startswith("Pod team-a/bad cannot be read: ")
    assert "nodeName" in problem.sentence


@pytest.mark.parametrize(
    "bad",
    [
        None,
        5,
        [],
        {},
        {"metadata": None},
        {"metadata": {"name": "x"}},
        {"metadata": {"name": "x", "uid": ""}},
        {"metadata": {"name": "x", "uid": "u" * 65}},
        {"metadata": {"name": "x" * 254, "uid": "u"}},
    ],
)
def test_an_object_without_a_usable_identity_is_a_problem(bad: Any) -> None:
    page = read_page(list_body([bad, pod("a")]), POD)
    assert [wire.metadata.name for wire in page.objects] == ["a"]
    assert len(page.problems) == 1


def test_partly_malformed_identity_is_decoded_field_by_field() -> None:
    page = read_page(list_body([{"metadata": {"name": "x", "namespace": 3, "uid": "u"}}]), POD)
    (problem,) = page.problems
    assert (problem.namespace, problem.name, problem.uid) == ("", "x", "u")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>502 Bad Gateway</html>",
        b"null",
        b"[]",
        b'{"kind":"Status","code":403,"message":"forbidden"}',
        b'{"kind":"Table","metadata":{},"rows":[]}',
        b'{"metadata":{},"items":{}}',
        b'{"metadata":{"resourceVersion":"1"},"items":[{"metadata":',
        b'{"metadata":{"resourceVersion":"\xff"},"items":[]}',
        b'{"items":[],"deep":' + b"[" * 100_000,
    ],
)
def test_invalid_bodies_are_no_list(body: bytes) -> None:
    with pytest.raises(DecodeError, match="The answer to a list of pods is no list"):
        read_page(body, POD)


META = b'"metadata":{"resourceVersion":"9"}'
ONE = json.dumps(pod("a")).encode()
BAD = json.dumps(pod("a", spec={"nodeName": 5})).encode()


@pytest.mark.parametrize("items", [b"null", b"[]", b"[" + ONE + b"]", b"[" + BAD + b"]"])
@pytest.mark.parametrize(
    ("head", "why"),
    [
        (b"", "it does not say that it is a list"),
        (META, "it does not say that it is a list"),
        (b'"kind":null,' + META, "it does not say that it is a list"),
        (b'"kind":"Status",' + META, "its kind is 'Status'"),
        (b'"kind":"PodList"', "it has no resourceVersion"),
        (b'"kind":"PodList","metadata":null', "it has no resourceVersion"),
        (b'"kind":"PodList","metadata":{"continue":"next"}', "it has no resourceVersion"),
        (b'"kind":"PodList","metadata":{"resourceVersion":""}', "it has no resourceVersion"),
    ],
)
def test_list_without_kind_or_version_is_rejected(head: bytes, why: str, items: bytes) -> None:
    """An API server always sends both; taken as a list, `{"items":[]}` would delete everything."""
    body = b"{" + head + (b"," if head else b"") + b'"items":' + items + b"}"
    with pytest.raises(DecodeError, match=f"^The answer to a list of pods is no list: {why}"):
        read_page(body, POD)


def test_object_with_invalid_text_does_not_affect_others() -> None:
    body = list_body([pod("a"), pod("b")]).replace(b'"Pending"', b'"Pend\xff"', 1)
    # The first pod's phase is no UTF-8 any more.
    page = read_page(body, POD)
    assert [wire.metadata.name for wire in page.objects] == ["b"]
    assert page.problems[0].name == "a"


def test_huge_annotations_are_skipped() -> None:
    big = pod("a", metadata={"annotations": {"notes": "x" * 5_000_000}})
    page = read_page(list_body([big]), POD)
    assert page.objects[0].metadata.name == "a"


@pytest.mark.parametrize("type_", ["ADDED", "MODIFIED", "DELETED"])
def test_watch_event_has_its_object(type_: str) -> None:
    event = read_event(line(type_, pod("a")), POD)
    assert event.type == type_
    assert event.object is not None
    assert event.object.metadata.uid == "uid-a"
    assert event.resource_version == "7"
    assert event.problem is None


def test_bookmark_has_the_version_to_resume_from() -> None:
    event = read_event(
        line("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "9001"}}), POD
    )
    assert (event.type, event.object, event.resource_version) == ("BOOKMARK", None, "9001")


def test_error_event_has_its_status_code() -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    event = read_event(line("ERROR", status), POD)
    assert (event.type, event.status_code, event.message) == ("ERROR", 410, "too old")
    assert event.resource_version == ""


def test_bad_object_in_an_event_is_reported_and_the_watch_continues() -> None:
    event = read_event(line("DELETED", pod("bad", status=3)), POD)
    assert event.object is None
    assert event.resource_version == "7"
    assert event.problem is not None
    assert (event.problem.name, event.problem.uid) == ("bad", "uid-bad")


@pytest.mark.parametrize(
    "bad",
    [b"", b"{}", b"null", b'{"type":"ADDED"}', b'{"type":"RENAMED","object":{}}', b"\xff"],
)
def test_invalid_lines_are_no_event(bad: bytes) -> None:
    with pytest.raises(DecodeError, match="watch of pods"):
        read_event(bad, POD)


def test_partly_decoded_object_has_model_and_problem() -> None:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "4 cpus", "memory": "1Gi"}}}]
    built, problem = read(POD, pod("a", spec={"containers": containers, "nodeName": "n1"}))
    assert built.node == "n1"
    assert set(built.requests) == {"memory"}
    assert problem is not None
    assert not problem.lost
    assert problem.sentence == (
        "Pod team-a/a is read only in part: its request of cpu is left out: "
        "'4 cpus' is not a quantity."
    )


def test_programming_error_is_not_reported_as_bad_data() -> None:
    page = read_page(list_body([pod("a")]), POD)
    page.objects[0].spec = "no struct"
    with pytest.raises(AttributeError):
        build_model(POD, page.objects[0], "v1")
