"""A reader of the file broker always finds complete messages."""

from __future__ import annotations

import threading
from pathlib import Path

from kombu.connection import Connection

MESSAGES = 300


def test_every_message_arrives_whole_while_it_is_read(tmp_path: Path) -> None:
    for name in ("queue", "control"):
        (tmp_path / name).mkdir()
    options = {
        "data_folder_in": str(tmp_path / "queue"),
        "data_folder_out": str(tmp_path / "queue"),
        "control_folder": str(tmp_path / "control"),
        "polling_interval": 0.001,
    }

    def connect() -> Connection:
        transport = "gangboard.polling.file_broker:Transport"
        return Connection(transport=transport, transport_options=options)

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
