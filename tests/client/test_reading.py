"""`list`, `holds`, `reasons`, `queues`, `whoami`."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from django.utils import timezone
from gangboard_client import gangs
from gangboard_client.output import printable

from gangboard.store.models import Cluster, Gang
from tests.api.conftest import Run as Runs
from tests.api.conftest import make_gang
from tests.client.conftest import Run


def test_a_list_is_a_table(as_persona: Run) -> None:
    Gang.objects.update(since=timezone.now() - timedelta(minutes=38, seconds=20))
    result = as_persona("reader", "list")
    assert result.code == 0
    head, line = result.out.splitlines()
    assert head.split() == [
        "CLUSTER",
        "NAMESPACE",
        "KIND",
        "NAME",
        "HEALTH",
        "CODE",
        "FOR",
        "READY",
        "MESSAGE",
    ]
    cells = re.split(r" {2,}", line)
    assert cells == [
        *("east", "team-a", "JobSet", "train-east-team-a", "waiting", "fragmented", "38m", "0/8"),
        "train-east-team-a needs 8 GPUs on one node.",
    ]
    assert result.err == ""


def test_json_output_is_the_server_answer(as_persona: Run) -> None:
    result = as_persona("reader", "list", "-o", "json")
    answer = json.loads(result.out)
    assert [gang["name"] for gang in answer["results"]] == ["train-east-team-a"]
    assert answer["results"][0]["requests"] == {"nvidia.com/gpu": "8", "memory": "17179869184"}
    assert answer["unseen"] == []
    assert as_persona("reader", "-o", "json", "list").out == result.out


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        (("--cluster", "west"), {"train-west-team-a"}),
        (("--namespace", "team-b"), {"train-east-team-b"}),
        (("--q", "east team-a"), {"train-east-team-a"}),
        (("--health", "failed,blocked"), set()),
    ],
)
def test_filters_match_the_server(
    as_persona: Run, filters: tuple[str, ...], names: set[str]
) -> None:
    result = as_persona("admin", "list", *filters)
    assert result.code == 0
    assert {line.split()[3] for line in result.out.splitlines()[1:]} == names
    assert ("Nothing was found." in result.err) == (not names)


def test_a_wrong_filter_prints_the_server_error(as_persona: Run) -> None:
    result = as_persona("reader", "list", "--health", "ill")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("gangboard: health: “ill” is not one of failed, blocked,")


def test_all_pages_are_read(as_persona: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gangboard_client.reading.PAGE", "2")
    for number in range(4):
        make_gang("east", "team-a", f"more-{number}")
    result = as_persona("reader", "list", "-o", "json")
    assert len(json.loads(result.out)["results"]) == 5


def test_blocked_for_counts_from_the_verdict(as_persona: Run) -> None:
    now = timezone.now()
    for name, minutes in (("young", 9), ("old", 11)):
        make_gang(
            *("east", "team-a", name), health="blocked", since=now - timedelta(minutes=minutes)
        )
    alert = ("list", "--blocked-for", "10m", "--exit-code")
    result = as_persona("reader", *alert)
    assert result.code == 1
    assert [line.split()[3] for line in result.out.splitlines()[1:]] == ["old"]
    Gang.objects.filter(name="old").update(health="running")
    assert as_persona("reader", *alert).code == 0


@pytest.mark.parametrize("span", ["10", "m", "-1m", "10 m", "ten"])
def test_an_invalid_duration_is_refused(as_persona: Run, span: str) -> None:
    result = as_persona("reader", "list", f"--blocked-for={span}")
    assert result.code == 2
    assert "is not a time span, such as 90s, 10m, 4h or 2d." in result.err


def test_an_unread_cluster_is_not_listed_as_empty(as_persona: Run) -> None:
    Cluster.objects.filter(name="east").update(contact_at=None, listed_at=None)
    result = as_persona("reader", "list", "--kind", "MPIJob")
    assert result.code == 2
    assert "Nothing was found." in result.err
    assert "east" in result.err


def test_cluster_text_does_not_move_the_cursor(as_persona: Run) -> None:
    Gang.objects.update(message="up\x1b[2Jdown\u202e\nforged")
    result = as_persona("reader", "list")
    assert "\x1b" not in result.out
    assert "\u202e" not in result.out
    assert len(result.out.splitlines()) == 2
    assert printable("up\x1b[2Jdown\u202e\nforged") == "up\ufffd[2Jdown\ufffd forged"
    assert "\x1b" not in as_persona("reader", "list", "-o", "json").out


def test_holds_of_a_cluster_without_the_hold_are_none(
    as_persona: Run, runs: dict[str, Runs]
) -> None:
    result = as_persona("reader", "holds")
    assert (result.code, result.out) == (0, "")
    assert "The Hold is not installed in cluster east." in result.err


def test_reasons_are_ordered_by_accelerators(as_persona: Run) -> None:
    make_gang("east", "team-a", "small", code="image-pull", stage="start", accelerators=1.0)
    both = as_persona("reader", "reasons").out.splitlines()
    assert [line.split()[1] for line in both[1:]] == ["fragmented", "image-pull"]
    lines = as_persona("reader", "reasons", "--most", "1").out.splitlines()
    assert lines[1].split()[:5] == ["placement", "fragmented", "1", "8", "8"]
    assert len(lines) == 2


def test_queues_of_an_unread_cluster_are_not_listed_as_empty(as_persona: Run) -> None:
    result = as_persona("reader", "queues")
    assert result.code == 2
    assert "have not been read yet" in result.err
    assert "Nothing was found." in result.err


def test_whoami_prints_the_user(as_persona: Run) -> None:
    result = as_persona("reader", "whoami")
    assert result.code == 0
    assert result.out.splitlines()[0].startswith("reader at http://127.0.0.1:")
    assert result.out.splitlines()[-1] == "This token may not act."
    assert as_persona("operator", "whoami").out.splitlines()[-1] == "This token may act."
    stranger = as_persona("stranger", "whoami")
    assert "No role yet" in stranger.out


def test_the_page_size_is_accepted_by_the_server() -> None:
    from gangboard.readmodels.cursors import LARGEST_PAGE

    assert int(gangs.PAGE) <= LARGEST_PAGE
