"""A page that is far longer than requested is rejected before it is built."""

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
def test_page_with_too_many_objects_is_rejected_cheaply(item: bytes) -> None:
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


def test_page_with_twice_the_requested_objects_is_decoded() -> None:
    assert len(read_page(page_of(SMALLEST, MAX_PAGE_OBJECTS), POD).objects) == MAX_PAGE_OBJECTS
    page = read_page(page_of(b"{}", MAX_PAGE_OBJECTS), POD)
    assert (len(page.objects), len(page.problems)) == (0, MAX_PAGE_OBJECTS)
