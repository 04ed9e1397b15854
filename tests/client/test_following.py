"""`events`: starting point, waiting time and cursor file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.client.conftest import FakeClock, Run
from tests.client.test_transport import Answer, Scripted, scripted

__all__ = ["scripted"]


def _page(cursor: str, *names: str, **headers: str) -> Answer:
    rows = [
        {
            "cursor": name,
            "at": "2026-11-21T10:00:00Z",
            "type": "verdict",
            "cluster": "east",
            "namespace": "team-a",
            "gang": {"id": "1", "kind": "JobSet", "name": name},
            "health": "blocked",
            "code": "fragmented",
            "title": "Fragmented",
            "message": "It waits.",
            "action": None,
        }
        for name in names
    ]
    return 200, headers, json.dumps({"next": "x", "cursor": cursor, "results": rows})


def _requests(scripted: Scripted) -> list[str]:
    return [path.partition("?")[2] for _, path, _ in scripted.asked]


def test_events_without_a_file_begin_with_the_oldest_and_do_not_wait(
    scripted: Scripted, run: Run
) -> None:
    scripted.answers = [_page("c1", "a", "b")]
    result = run("events", "--cluster", "east")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[0] == (
        "2026-11-21T10:00:00Z  east/team-a/JobSet/a  verdict blocked: Fragmented. It waits."
    )
    assert len(result.out.splitlines()) == 2
    assert _requests(scripted) == ["cluster=east&wait=0&limit=500"]


def test_a_new_file_begins_now_and_the_next_run_continues(
    scripted: Scripted, run: Run, fake_clock: FakeClock, tmp_path: Path
) -> None:
    file = tmp_path / "events.cursor"
    scripted.answers = [_page("c1"), _page("c2", "a", **{"Retry-After": "2"})]
    result = run("events", "--cursor-file", str(file), "--wait", "40s", "-o", "json")
    assert [json.loads(line)["cursor"] for line in result.out.splitlines()] == ["a"]
    assert file.read_text() == "c2\n"
    scripted.answers = [_page("c2")]
    assert run("events", "--cursor-file", str(file)).code == 0
    assert _requests(scripted) == [
        "cursor=now&wait=25&limit=500",
        "cursor=c1&wait=25&limit=500",
        "cursor=c2&wait=0&limit=500",
    ]
    # The first answer came at once, so the server did not wait.
    assert fake_clock.slept == [1.0]
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["events.cursor"]


def test_following_ends_when_the_server_refuses(
    scripted: Scripted, run: Run, fake_clock: FakeClock, tmp_path: Path
) -> None:
    file = tmp_path / "events.cursor"
    deleted: Answer = (410, {}, '{"detail": "This cursor is older than 7 days."}')
    full = _page("c2", *("a" for _ in range(500)))
    scripted.answers = [_page("c1", "a"), full, _page("c3", "b", **{"Retry-After": "2"}), deleted]
    result = run("events", "--follow", "--cursor-file", str(file))
    assert (result.code, result.err) == (2, "gangboard: This cursor is older than 7 days.\n")
    assert len(result.out.splitlines()) == 502
    assert file.read_text() == "c3\n"
    # After a full page it asks at once.
    assert fake_clock.slept == [0.0, 2.0]


@pytest.mark.parametrize("text", ["", "a\nb", "x" * 201])
def test_a_bad_file_is_named(scripted: Scripted, run: Run, tmp_path: Path, text: str) -> None:
    file = tmp_path / "events.cursor"
    file.write_text(text)
    result = run("events", "--cursor-file", str(file))
    assert (result.code, result.out, scripted.asked) == (2, "", [])
    assert result.err == f"gangboard: {file} holds no cursor: remove it to begin now.\n"


def test_an_unwritable_file_is_named(scripted: Scripted, run: Run, tmp_path: Path) -> None:
    scripted.answers = [_page("c1", "a")]
    result = run("events", "--cursor-file", str(tmp_path / "none" / "events.cursor"))
    assert result.code == 2
    assert "events.cursor cannot be written: No such file or directory." in result.err
