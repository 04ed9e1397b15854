"""Refusals without the objects that they quote, in the texts of apiserver 1.37."""

from __future__ import annotations

import json

import pytest

from gangboard.kube.status_sanitizer import read_status, without_value

POD_SPEC = json.dumps(
    {"Containers": [{"Env": [{"Name": "PASSWORD", "Value": "hunter2: {secret}"}]}], "x": "y" * 300},
    separators=(",", ":"),
)
OBJECT = json.dumps(json.dumps({"env": "hunter2", "x": "y" * 300}, separators=(",", ":")))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            f'"" is invalid: patch: Invalid value: {OBJECT}: strict decoding error: unknown field "a"',
            '"" is invalid: patch: Invalid value: …: unknown field "a"',
        ),
        (
            f'Job.batch "x" is invalid: spec.template: Invalid value: {POD_SPEC}: field is immutable',
            'Job.batch "x" is invalid: spec.template: Invalid value: …: field is immutable',
        ),
        (
            'Job.batch "x" is invalid: metadata.uid: Invalid value: "another": field is immutable',
            'Job.batch "x" is invalid: metadata.uid: Invalid value: "another": field is immutable',
        ),
        ('jobs.batch "x" is forbidden', 'jobs.batch "x" is forbidden'),
    ],
)
def test_long_values_are_left_out_and_the_reason_stays(message: str, expected: str) -> None:
    assert without_value(message) == expected


@pytest.mark.parametrize("value", [OBJECT, POD_SPEC, '"' + "y" * 300 + ': hunter2"'])
def test_a_message_that_ends_with_the_value_reveals_no_character_of_it(value: str) -> None:
    text = without_value(f"Job is invalid: spec: Invalid value: {value}")
    assert "hunter2" not in text
    assert "secret" not in text
    assert text.startswith("Job is invalid: spec: Invalid value: …: ")


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"kind":"Job"}', b'{"kind":"Status","message":5}', b"<html>"]
)
def test_a_body_that_is_no_status_is_empty(body: bytes) -> None:
    status = read_status(body)
    assert (status.reason, status.message, status.kind, status.name, status.causes) == (
        "",
        "",
        "",
        "",
        (),
    )


def test_missing_status_fields_are_tolerated() -> None:
    status = read_status(b'{"kind":"Status","message":"no","details":null}')
    assert (status.message, status.name, status.causes) == ("no", "", ())
    status = read_status(b'{"kind":"Status","details":{"causes":null,"name":"x"}}')
    assert (status.name, status.causes) == ("x", ())
