"""An object is rejected by its number of fields and items before it is built."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable

import pytest

from gangboard.decode.list_watch_decoder import TooLargeError, read_event, read_object, read_page
from gangboard.decode.pods import POD
from gangboard.decode.size_guard import MAX_OBJECT_ITEMS, MAX_PAGE_ITEMS, has_more_items
from gangboard.domain.api_resource import DecodeError
from tests.decode.reading import list_body, with_identity

MIB = 1024 * 1024
SENTENCE = "it has more than 100000 fields and items"


def many(number: int, text: str = "{}") -> str:
    return ",".join([text] * number)


def pod_with(metadata: str = "", rest: str = "") -> bytes:
    identity = '"name":"big","namespace":"research","uid":"u","resourceVersion":"7"'
    return f'{{"metadata":{{{identity}{metadata}}}{rest}}}'.encode()


def peak_of(read: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "make_pod",
    [
        lambda: pod_with(f',"ownerReferences":[{many(1_000_000)}]'),
        lambda: pod_with(rest=f',"spec":{{"schedulingGates":[{many(1_000_000, "[]")}]}}'),
        lambda: pod_with(',"labels":{' + ",".join(f'"{n:x}":"b"' for n in range(1_000_000)) + "}"),
        lambda: pod_with("".join(f',"{n:x}":1' for n in range(1_000_000))),
    ],
    ids=["owners", "arrays", "labels", "unknown"],
)
def test_line_with_a_million_items_is_a_cheap_problem(make_pod: Callable[[], bytes]) -> None:
    line = b'{"type":"MODIFIED","object":' + make_pod() + b"}"
    read_event(b'{"type":"MODIFIED","object":' + pod_with() + b"}", POD)  # decoders are made
    read_event(b'{"type":"MODIFIED","object":{"metadata":{}}}', POD)
    events = []
    assert peak_of(lambda: events.append(read_event(line, POD))) < len(line) + MIB
    event = events[0]
    assert (event.object, event.resource_version) == (None, "7")
    assert event.problem is not None
    assert event.problem.sentence == f"Pod research/big cannot be read: {SENTENCE}."


def test_oversized_object_does_not_affect_others_of_its_page() -> None:
    big = pod_with(f',"ownerReferences":[{many(60_000)}]').decode()
    small = json.dumps(with_identity({}, "a"))
    body = f'{{"kind":"PodList","metadata":{{"resourceVersion":"1"}},"items":[{small},{big}]}}'
    page = read_page(body.encode(), POD)
    assert [wire.metadata.name for wire in page.objects] == ["a"]
    assert [problem.name for problem in page.problems] == ["big"]


def test_page_of_oversized_objects_is_rejected_before_it_is_built() -> None:
    big = pod_with(f',"ownerReferences":[{many(40_000)}]').decode()
    head = '{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":['
    body = f"{head}{many(55, big)}]}}".encode()
    read_page(list_body([]), POD)

    def refused() -> None:
        with pytest.raises(TooLargeError, match="the list of pods has more than 2000000 fields"):
            read_page(body, POD)

    assert peak_of(refused) < MIB


def test_single_object_has_the_same_limit() -> None:
    with pytest.raises(DecodeError, match=SENTENCE):
        read_object(pod_with(f',"ownerReferences":[{many(60_000)}]'), POD)


def test_braces_in_strings_do_not_count() -> None:
    text = '{[,"\\' * MAX_OBJECT_ITEMS
    verdicts = with_identity({}, "a")
    verdicts["metadata"]["annotations"] = {text: text}
    assert read_object(json.dumps(verdicts).encode(), POD).metadata.name == "a"


def test_object_at_the_limit_is_accepted() -> None:
    # One array and the separators between its items: 100,000 in all.
    at_bound = f"[{many(MAX_OBJECT_ITEMS, '1')}]".encode()
    assert not has_more_items(at_bound, MAX_OBJECT_ITEMS)
    assert has_more_items(at_bound[:-1] + b",1]", MAX_OBJECT_ITEMS)


@pytest.mark.parametrize(("start", "repeated"), [(b'"', b'\\"'), (b'"', b'""'), (b"", b'"\\')])
def test_unterminated_string_is_scanned_once(start: bytes, repeated: bytes) -> None:
    """Twice for each of its quotes, this would take hours."""
    text = start + repeated * 2_000_000
    assert not has_more_items(b"{[," * MAX_OBJECT_ITEMS + text, MAX_PAGE_ITEMS)
