"""A page that is far longer than what was asked for is refused before anything is built of it."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from gangboard.decode.list_watch_decoder import MAX_PAGE_OBJECTS, TooLargeError, read_page
from gangboard.decode.pods import POD
from tests.decode.reading import list_body, with_identity

SMALLEST = json.dumps(with_identity({}, "a")).encode()


def page_of(item: bytes, number: int) -> bytes:
    head = b'{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":['
    return head + b",".join([item] * number) + b"]}"


@pytest.mark.parametrize("item", [b"{}", b"1", b"null", b'{"metadata":{"uid":"u"}}', SMALLEST])
def test_a_page_of_too_many_objects_costs_nothing(item: bytes) -> None:
    body = page_of(item, 300_000)
    read_page(list_body([]), POD)  # the decoders are made once
    tracemalloc.start()
    try:
        with pytest.raises(TooLargeError) as caught:
            read_page(body, POD)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert str(caught.value) == (
        "A page of the list of pods has more than 1000 objects, at least twice as many as were asked for."
    )
    assert peak < 1024 * 1024


def test_twice_as_many_as_are_asked_for_are_read() -> None:
    assert len(read_page(page_of(SMALLEST, MAX_PAGE_OBJECTS), POD).objects) == MAX_PAGE_OBJECTS
    page = read_page(page_of(b"{}", MAX_PAGE_OBJECTS), POD)
    assert (len(page.objects), len(page.problems)) == (0, MAX_PAGE_OBJECTS)
