"""A heartbeat continues after every error of the database, and holds no connection in between."""

from __future__ import annotations

import pytest
from django.db import InterfaceError, OperationalError, connection

from gangboard.store import heartbeats


@pytest.mark.parametrize("error", [OperationalError("gone"), InterfaceError("closed")])
def test_a_heartbeat_survives_the_database(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    pulse = heartbeats.HeartbeatThread("poll-1", "poll", 8)
    beats: list[int] = []
    closed: list[bool] = []

    def beat(*_: object) -> None:
        beats.append(len(closed))
        if len(beats) == 2:
            pulse._ended.set()
        raise error

    monkeypatch.setattr(heartbeats, "record_heartbeat", beat)
    monkeypatch.setattr(heartbeats, "HEARTBEAT_SECONDS", 0.0)
    monkeypatch.setattr(connection, "close", lambda: closed.append(True))
    pulse.run()
    assert beats == [0, 1]
