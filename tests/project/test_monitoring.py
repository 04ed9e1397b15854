"""Alerts and the dashboard use existing metrics, labels and label values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings

from gangboard.domain.api_resource import WatchState
from gangboard.domain.health import Health
from gangboard.readmodels.hold_counts import InForce

FOLDER = Path(settings.BASE_DIR) / "deploy" / "monitoring"
PAPER = (Path(settings.BASE_DIR) / "docs" / "metrics.md").read_text()
# tests/api/test_metrics.py compares this table with the scraped metrics.
LABELS = {
    name: set(labels.split(", ")) - {""}
    for name, labels in re.findall(r"^\| `(gangboard_\w+)` \| (.*?) ?\|", PAPER, re.MULTILINE)
}
VALUES = {
    "health": {str(member) for member in Health},
    "in_force": {str(member) for member in InForce},
    "state": {str(member) for member in WatchState},
    "result": {"reverted"},
}
_SELECTOR = re.compile(r"(gangboard_\w+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')
_BY = re.compile(r"by \(([^)]*)\)")


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load((FOLDER / "rules.yaml").read_text())["groups"]
    result: list[dict[str, Any]] = group["rules"]
    return result


def dashboard() -> dict[str, Any]:
    result: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text())
    return result


def expressions() -> Iterator[tuple[str, str]]:
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def labels_of(name: str) -> set[str]:
    base = re.sub(r"_(bucket|gcount|gsum|count|sum)$", "", name)
    result = LABELS.get(name, LABELS.get(base))
    assert result is not None, f"{name} is no metric of docs/metrics.md"
    return result | ({"le"} if name.endswith("_bucket") else set())


@pytest.mark.parametrize(("title", "expression"), list(expressions()))
def test_every_query_uses_existing_metrics(title: str, expression: str) -> None:
    known: set[str] = set()
    for name, matchers in _SELECTOR.findall(expression):
        labels = labels_of(name)
        known |= labels
        for label, sign, value in _MATCHER.findall(matchers):
            assert label in labels, (title, name, label)
            if label in VALUES and sign in ("=", "=~"):
                assert set(value.split("|")) <= VALUES[label], (title, label, value)
    assert known or "time()" in expression or "poll_slots" in expression, title
    for grouped in _BY.findall(expression):
        assert {fragment.strip() for fragment in grouped.split(",")} <= known, (title, grouped)


def test_nine_alerts_have_sentences_with_available_labels() -> None:
    assert [rule["alert"] for rule in rules()] == [
        *("GangBlocked", "ClusterSilent", "HoldNotProved", "GangboardBlind", "CredentialsEnd"),
        *("TooFewSlots", "OrdersStuck", "ResourceForbidden", "ActionReverted"),
    ]
    for rule in rules():
        stored = {fragment for match in _BY.findall(rule["expr"]) for fragment in match.split(", ")}
        named = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        assert named <= stored, rule["alert"]
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert f"| `{rule['alert']}` |" in PAPER


def test_panels_do_not_overlap() -> None:
    places = [panel["gridPos"] for panel in dashboard()["panels"]]
    assert len({panel["id"] for panel in dashboard()["panels"]}) == len(places)
    cells = [
        (column, row)
        for place in places
        for column in range(place["x"], place["x"] + place["w"])
        for row in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(column for column, _ in cells) < 24


def test_the_chart_has_the_same_rules() -> None:
    # make manifests
    chart = FOLDER.parent / "chart" / "files" / "rules.yaml"
    assert chart.read_text() == (FOLDER / "rules.yaml").read_text()
