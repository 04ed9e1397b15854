"""A reader of the file broker always finds complete messages, and stops when its worker ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from kombu.connection import Connection

from gangboard.polling import file_broker

MESSAGES = 300


@pytest.fixture
def connect(tmp_path: Path) -> Callable[[], Connection]:
    """Return a function that connects to the broker of a new folder."""
    for name in ("queue", "control"):
        (tmp_path / name).mkdir()
    options = {
        "data_folder_in": str(tmp_path / "queue"),
        "data_folder_out": str(tmp_path / "queue"),
        "control_folder": str(tmp_path / "control"),
        "polling_interval": 0.001,
    }
    transport = "gangboard.polling.file_broker:Transport"
    return lambda: Connection(transport=transport, transport_options=options)


def test_every_message_arrives_whole_while_it_is_read(connect: Callable[[], Connection]) -> None:
    def send() -> None:
        with connect() as connection, connection.SimpleQueue("numbers") as queue:
            for number in range(MESSAGES):
                queue.put({"number": number, "padding": "x" * 2000})

    received = []
    sender = threading.Thread(target=send)
    with connect() as connection, connection.SimpleQueue("numbers") as queue:
        sender.start()
        for _ in range(MESSAGES):
            message = queue.get(timeout=10)
            received.append(message.payload["number"])
            message.ack()
    sender.join()
    assert sorted(received) == list(range(MESSAGES))


def test_a_worker_that_ends_leaves_the_messages_to_others(
    connect: Callable[[], Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect() as connection, connection.SimpleQueue("left") as queue:
        queue.put({"number": 1})
        monkeypatch.setattr(file_broker, "_stopping", threading.Event())
        file_broker.stop_reading()
        with pytest.raises(TimeoutError):
            connection.drain_events(timeout=20)
        monkeypatch.setattr(file_broker, "_stopping", threading.Event())
        assert queue.get(timeout=10).payload == {"number": 1}
