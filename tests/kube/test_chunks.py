"""Chunks and lines, split in every possible way."""

from __future__ import annotations

import pytest

from gangboard.kube.watch import FramingError, LineSplitter, LineTooLongError, Unchunker

STREAM = b'6\r\n{"a":1\r\n4;x=y\r\n}\n{}\r\n1\r\n\n\r\n0\r\nTrailer: x\r\n\r\nmore'


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 100])
def test_fragments_of_any_size_give_the_same_payload(size: int) -> None:
    frames = Unchunker()
    fragments = [STREAM[start : start + size] for start in range(0, len(STREAM), size)]
    payload = b"".join(frames.feed(fragment) for fragment in fragments)
    assert payload == b'{"a":1}\n{}\n'
    assert frames.finished


def test_the_payload_is_returned_before_the_chunk_is_complete() -> None:
    assert Unchunker().feed(b"ff\r\n{}\n") == b"{}\n"


@pytest.mark.parametrize(
    "data", [b"zz\r\n", b"\r\n", b"-5\r\n", b"0x5\r\n", b"1_0\r\n", b"2\r\nabcd\r\n", b"1" * 5000]
)
def test_invalid_chunks_are_refused(data: bytes) -> None:
    with pytest.raises(FramingError):
        Unchunker().feed(data)


def test_lines_are_returned_when_they_are_complete() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"a") == []
    assert splitter.has_remainder
    assert splitter.feed(b"b\nc\n\n \r\nd") == [b"ab", b"c"]
    assert splitter.feed(b"\n") == [b"d"]
    assert not splitter.has_remainder


def test_an_endless_line_is_refused() -> None:
    splitter = LineSplitter(longest=10)
    assert splitter.feed(b"12345") == []
    with pytest.raises(LineTooLongError):
        splitter.feed(b"6789012")
