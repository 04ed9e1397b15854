"""The confirmation form and the requests it makes from browser input."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from django.http import QueryDict

from gangboard.domain.action import ActionRequest, ActionTarget, Verb
from gangboard.pages.actions.request_serializers import ActionRequestSerializer
from gangboard.pages.confirm.forms import ActionForm

TARGET_PARAMETER = "eu-train/batch/Job/research/workers-0/uid-0/3"
TARGET = ActionTarget("eu-train", "batch", "Job", "research", "workers-0", "uid-0", 3)
REQUEST = ActionRequest(
    verb=Verb.SUSPEND,
    target=TARGET,
    reason="gpu-07 throws ECC errors",
    until=datetime(2026, 11, 21, 18, tzinfo=UTC),
    idempotency_key="k-1",
    forced=True,
    via="page",
)


def sent(**changes: Any) -> ActionForm:
    """Return the form as a browser sends it; a list is one field several times."""
    values = {
        "verb": "suspend",
        "target": TARGET_PARAMETER,
        "reason": REQUEST.reason,
        "until": "2026-11-21T18:00",
        "key": "k-1",
        "forced": "1",
        **changes,
    }
    query = QueryDict(mutable=True)
    for name, value in values.items():
        query.setlist(name, value if isinstance(value, list) else [value])
    form = ActionForm(query)
    form.full_clean()
    return form


def test_form_and_json_make_the_same_request() -> None:
    form = sent()
    assert form.is_valid()
    assert form.requests == (REQUEST,)
    body = ActionRequestSerializer(
        data={
            "verb": "suspend",
            "target": {
                "cluster": "eu-train",
                "api_group": "batch",
                "kind": "Job",
                "namespace": "research",
                "name": "workers-0",
                "uid": "uid-0",
                "generation": 3,
            },
            "reason": REQUEST.reason,
            "until": "2026-11-21T19:00:00+01:00",
            "force": True,
        }
    )
    assert body.is_valid()
    assert body.save(idempotency_key="k-1") == replace(REQUEST, via="api")


def test_each_selected_target_has_its_own_key() -> None:
    another = TARGET_PARAMETER.replace("-0", "-1")
    form = sent(target=[TARGET_PARAMETER, another, TARGET_PARAMETER])
    assert [request.idempotency_key for request in form.requests] == ["k-1.uid-0", "k-1.uid-1"]
    assert [
        request.idempotency_key
        for request in sent(target=[TARGET_PARAMETER, another], key="").requests
    ] == ["", ""]


@pytest.mark.parametrize(
    ("changes", "field", "expected"),
    [
        ({"reason": " a\x00b "}, "reason", "ab"),
        ({"reason": "r" * 2000}, "reason", "r" * 1024),
        ({"key": " \x00k" + "k" * 200}, "idempotency_key", " " + "k" * 99),
        ({"forced": "yes"}, "forced", False),
        ({"forced": ["1", "0"]}, "forced", False),
        ({"until": " "}, "until", None),
        ({"until": "2026-11-21T19:00+01:00"}, "until", REQUEST.until),
    ],
)
def test_unusable_targets_are_skipped(
    changes: dict[str, Any], field: str, expected: object
) -> None:
    form = sent(**changes)
    assert form.is_valid()
    assert getattr(form.requests[0], field) == expected


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"verb": "explode", "target": "x"},
            "The address does not say whether to suspend, resume or relocate.",
        ),
        ({"verb": []}, "The address does not say whether to suspend, resume or relocate."),
        ({"target": []}, "Nothing is selected. Select at least one and ask again."),
        ({"target": [TARGET_PARAMETER, "x"]}, "The address names an object that cannot exist."),
        (
            {"target": [f"{TARGET_PARAMETER}{number}" for number in range(51)]},
            "51 objects are too many for one confirmation; the maximum is 50.",
        ),
    ],
)
def test_a_missing_field_is_reported_in_one_sentence(
    changes: dict[str, Any], sentence: str
) -> None:
    assert sent(**changes).missing_input == sentence


def test_an_invalid_end_stays_in_the_form_as_typed() -> None:
    form = sent(until=" tomorrow, " + "after lunch " * 5)
    assert form.missing_input == ""
    assert form.errors["until"] == ["Until is not a time: write it as 2026-11-21T18:00."]
    assert form["until"].value() == "tomorrow, after lunch after lunc"
    assert form.requests == (replace(REQUEST, until=None),)


@pytest.mark.parametrize(
    ("zone", "typed"),
    [
        ("Europe/Berlin", "2026-11-21T19:00"),
        ("America/New_York", "2026-11-21T13:00"),
        ("UTC", "2026-11-21T18:00"),
        ("no/such", "2026-11-21T18:00"),
        ("Europe/Berlin", "2026-11-21T18:00+00:00"),
    ],
)
def test_an_end_is_parsed_in_the_users_time_zone(zone: str, typed: str) -> None:
    assert sent(zone=zone, until=typed).requests == (REQUEST,)


def test_the_address_names_the_targets_without_typed_text() -> None:
    encoded = TARGET_PARAMETER.replace("/", "%2F")
    assert sent(gang="0a1b").query == f"verb=suspend&target={encoded}&gang=0a1b&forced=1"
    assert sent(gang="no gang", forced="").query == f"verb=suspend&target={encoded}"
