"""Requests of writes, each sent once, and the outcome in their errors."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from gangboard import __version__
from gangboard.kube.connection import Connection
from gangboard.kube.errors import CredentialError, KubeError, WriteOutcome
from gangboard.kube.write_client import Answer, WriteClient
from tests.kube.conftest import TOKEN
from tests.kube.reads import PODS, ok
from tests.kube.server import Clock, Request, Script, Server, Wire

Serve = Callable[..., Server]
Connect = Callable[..., Connection]

JOBS = "/apis/batch/v1/namespaces/team/jobs"
JOB = f"{JOBS}/run-workers-0"
SUSPEND = b'{"spec":{"suspend":true}}'


def failed(connection: Connection, **settings: float) -> KubeError:
    with pytest.raises(KubeError) as caught:
        WriteClient(connection).merge_patch(JOB, SUSPEND, **settings)  # type: ignore[arg-type]
    assert TOKEN not in caught.value.sentence + repr(caught.value.api_status)
    return caught.value


def saying(status: int, **fields: object) -> Script:
    document = {"kind": "Status", "apiVersion": "v1", "status": "Failure", **fields}
    return lambda request, wire: wire.json(document, status)


# What is sent


def test_a_merge_patch_is_sent(serve: Serve, connect: Connect) -> None:
    server = serve(lambda request, wire: wire.json({"kind": "Job"}, Audit_Id="a-1"))
    answer = WriteClient(connect(server)).merge_patch(JOB, SUSPEND)
    assert answer == Answer(b'{"kind": "Job"}', 200, "a-1")
    (request,) = server.requests
    assert (request.method, request.path, request.body) == ("PATCH", JOB, SUSPEND)
    assert request.query == {"fieldManager": "gangboard", "fieldValidation": "Strict"}
    assert request.headers["Content-Type"] == "application/merge-patch+json"
    assert request.headers["Accept"] == "application/json"
    assert request.headers["Authorization"] == f"Bearer {TOKEN}"
    assert request.headers["User-Agent"] == f"gangboard/{__version__}"


def test_a_json_patch_names_its_action(serve: Serve, connect: Connect) -> None:
    server = serve(ok)
    writer = WriteClient(connect(server), action="42")
    operations = [{"op": "test", "path": "/metadata/uid", "value": "u"}]
    writer.json_patch(JOB, operations, field_manager="gangboard-actor")
    writer.json_patch(JOB, b'[ {"op":"remove","path":"/x"} ]')
    first, second = server.requests
    assert json.loads(first.body) == operations
    assert second.body == b'[ {"op":"remove","path":"/x"} ]'
    assert first.method == "PATCH"
    assert first.query["fieldManager"] == "gangboard-actor"
    assert first.headers["Content-Type"] == "application/json-patch+json"
    assert first.headers["User-Agent"] == f"gangboard/{__version__} action/42"


def test_an_object_is_created(serve: Serve, connect: Connect) -> None:
    server = serve(lambda request, wire: wire.json({}, 201))
    answer = WriteClient(connect(server)).create(JOBS, b'{"kind":"Job"}')
    assert (answer.status, answer.audit_id) == (201, "")
    (request,) = server.requests
    assert (request.method, request.path, request.body) == ("POST", JOBS, b'{"kind":"Job"}')
    assert request.query == {"fieldManager": "gangboard", "fieldValidation": "Strict"}
    assert request.headers["Content-Type"] == "application/json"


def test_a_deletion_names_a_uid_and_does_not_wait_for_dependents(
    serve: Serve, connect: Connect
) -> None:
    server = serve(ok)
    WriteClient(connect(server)).delete(JOB, uid="u-1")
    (request,) = server.requests
    assert (request.method, request.path, request.query) == ("DELETE", JOB, {})
    options = json.loads(request.body)
    assert options["preconditions"] == {"uid": "u-1"}
    assert options["propagationPolicy"] == "Background"
    assert "dryRun" not in options


def test_a_dry_run_is_marked_in_the_query(serve: Serve, connect: Connect) -> None:
    server = serve(ok)
    writer = WriteClient(connect(server))
    writer.merge_patch(JOB, SUSPEND, dry_run=True)
    writer.json_patch(JOB, [], dry_run=True)
    writer.create(JOBS, b"{}", dry_run=True)
    writer.delete(JOB, uid="u", dry_run=True)
    *writes, deletion = server.requests
    assert [request.query["dryRun"] for request in writes] == ["All"] * 3
    assert json.loads(deletion.body)["dryRun"] == ["All"]


# Once


def test_a_write_does_not_use_an_idle_connection(serve: Serve, connect: Connect) -> None:
    server = serve(ok)
    connection = connect(server)
    connection.get(PODS)
    WriteClient(connection).merge_patch(JOB, SUSPEND)
    WriteClient(connection).merge_patch(JOB, SUSPEND)
    assert server.connections == 3
    connection.get(PODS)
    assert server.connections == 3  # reading may go on where a write has been


@pytest.mark.parametrize("ending", [Wire.reset, Wire.close])
def test_an_unanswered_write_is_not_repeated(
    serve: Serve, connect: Connect, ending: Callable[[Wire], None]
) -> None:
    server = serve(lambda request, wire: ending(wire))
    error = failed(connect(server))
    assert (error.code, error.write_outcome) == ("broken-off", WriteOutcome.UNKNOWN)
    assert f"PATCH {JOB}" in error.sentence
    assert len(server.requests) == 1


def test_a_server_error_is_not_repeated(serve: Serve, connect: Connect) -> None:
    server = serve(saying(503, reason="ServiceUnavailable"))
    assert failed(connect(server)).write_outcome is WriteOutcome.UNKNOWN
    assert len(server.requests) == 1


# Not sent


def test_a_failed_connection_sends_no_request(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    error = failed(connect(f"https://127.0.0.1:{port}"))
    assert (error.code, error.write_outcome) == ("unreachable", WriteOutcome.NOT_SENT)


def test_no_byte_is_sent_to_an_untrusted_server(serve: Serve, connect: Connect) -> None:
    server = serve(ok)
    error = failed(connect(server, login={"ca_pem": None}))
    assert (error.code, error.write_outcome) == ("tls", WriteOutcome.NOT_SENT)
    assert server.requests == []


def test_a_missing_token_prevents_the_request(
    serve: Serve, connect: Connect, tmp_path: Path
) -> None:
    login = {"token": None, "token_file": str(tmp_path / "gone")}
    with pytest.raises(CredentialError) as caught:
        WriteClient(connect(serve(ok), login=login)).delete(JOB, uid="u")
    assert caught.value.write_outcome is WriteOutcome.NOT_SENT


def test_an_expired_deadline_prevents_the_request(
    serve: Serve, connect: Connect, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(ok)
    connection = connect(server)
    tls = connection.new_tls_connection()
    dial = tls.connect_by

    def late(until: float) -> None:
        dial(until)
        clock.ahead = 51.0

    monkeypatch.setattr(tls, "connect_by", late)
    monkeypatch.setattr(connection, "new_tls_connection", lambda: tls)
    error = failed(connection, deadline=50.0)
    assert (error.code, error.write_outcome) == ("timeout", WriteOutcome.NOT_SENT)
    assert server.requests == []


# Answered


@pytest.mark.parametrize(
    ("status", "reason", "code"),
    [
        (400, "BadRequest", "bad-request"),
        (401, "Unauthorized", "unauthorized"),
        (403, "Forbidden", "forbidden"),
        (404, "NotFound", "not-found"),
        (409, "Conflict", "conflict"),
        (409, "AlreadyExists", "already-exists"),
        (413, "RequestEntityTooLarge", "bad-request"),
        (422, "Invalid", "invalid"),
        (429, "TooManyRequests", "throttled"),
    ],
)
def test_a_refusal_is_a_response(
    serve: Serve, connect: Connect, status: int, reason: str, code: str
) -> None:
    message = f'jobs.batch "run-workers-0" {reason}'
    error = failed(connect(serve(saying(status, reason=reason, message=message))))
    assert (error.code, error.status, error.write_outcome) == (code, status, WriteOutcome.ANSWERED)
    assert (error.api_status.reason, error.api_status.message) == (reason, message)
    assert f"PATCH {JOB} ({status}): {message}" in error.sentence


def test_a_policy_whose_parameters_are_not_known_yet_is_no_missing_right(
    serve: Serve, connect: Connect
) -> None:
    message = (
        'policy "x" denied request: failed to configure policy: failed to find resource referenced by '
        "paramKind: 'example.com/v1, Kind=Rule'"
    )
    error = failed(connect(serve(saying(403, reason="Forbidden", message=message))))
    assert (error.code, error.permanent) == ("policy-not-ready", False)
    assert error.write_outcome is WriteOutcome.ANSWERED


def test_a_refusal_has_details_and_an_audit_id(serve: Serve, connect: Connect) -> None:
    document = {
        "kind": "Status",
        "reason": "Invalid",
        "message": f"Job is invalid {TOKEN}",
        "details": {
            "name": "run-workers-0",
            "kind": "Job",
            "causes": [
                {
                    "reason": "FieldValueInvalid",
                    "message": f"field is immutable\r\n{TOKEN}",
                    "field": "metadata.uid",
                }
            ],
        },
    }
    error = failed(connect(serve(lambda _, wire: wire.json(document, 422, Audit_Id="a-2"))))
    (cause,) = error.api_status.causes
    assert (cause.field, cause.reason) == ("metadata.uid", "FieldValueInvalid")
    assert cause.message == "field is immutable [token]"
    assert (error.api_status.kind, error.api_status.name) == ("Job", "run-workers-0")
    assert error.api_status.message == "Job is invalid [token]"
    assert error.audit_id == "a-2"


def test_a_long_refusal_is_stored_longer_than_quoted(serve: Serve, connect: Connect) -> None:
    error = failed(connect(serve(saying(403, message="no " * 5000))))
    assert len(error.api_status.message) == 1000
    assert len(error.sentence) < 450


def test_a_throttled_write_returns_its_retry_time(serve: Serve, connect: Connect) -> None:
    page = b"Too many requests, please try again later.\n"
    server = serve(
        lambda _, wire: wire.answer(page, 429, Retry_After="7", Content_Type="text/plain")
    )
    error = failed(connect(server))
    assert (error.code, error.retry_after, error.write_outcome) == (
        "throttled",
        7.0,
        WriteOutcome.ANSWERED,
    )


def test_a_missing_object_differs_from_an_unserved_path(serve: Serve, connect: Connect) -> None:
    missing = saying(404, reason="NotFound", details={"name": "x", "kind": "jobs"})
    assert failed(connect(serve(missing))).is_object_missing
    unserved = saying(404, reason="NotFound", details={})
    assert not failed(connect(serve(unserved))).is_object_missing
    plain = serve(lambda _, wire: wire.answer(b"404 page not found\n", 404))
    error = failed(connect(plain))
    assert (error.is_object_missing, error.write_outcome) == (False, WriteOutcome.ANSWERED)


WEBHOOK_DOWN = (
    'Internal error occurred: failed calling webhook "vjobset.kb.io": failed to call webhook: Post '
    '"https://127.0.0.1:9/": dial tcp 127.0.0.1:9: connect: connection refused'
)


def test_a_webhook_refusal_means_not_stored(serve: Serve, connect: Connect) -> None:
    down = saying(500, reason="InternalError", message=WEBHOOK_DOWN)
    error = failed(connect(serve(down)))
    assert (error.code, error.write_outcome) == ("server-error", WriteOutcome.ANSWERED)
    assert WEBHOOK_DOWN in error.sentence
    denied = saying(500, message='admission webhook "v.kb.io" denied the request: not today')
    assert failed(connect(serve(denied))).write_outcome is WriteOutcome.ANSWERED
    with pytest.raises(KubeError) as caught:
        WriteClient(connect(serve(down))).delete(JOB, uid="u")
    assert (
        caught.value.write_outcome is WriteOutcome.UNKNOWN
    )  # it may have been marked as deleted by then


# Unknown


@pytest.mark.parametrize(
    ("status", "reason", "message"),
    [
        (500, "InternalError", "Internal error occurred: etcdserver: request timed out"),
        (500, "ServerTimeout", "The update operation against jobs.batch could not be completed"),
        (500, "InternalError", f"rpc error while {WEBHOOK_DOWN}"),
        (503, "ServiceUnavailable", "the server is currently unable to handle the request"),
        (504, "Timeout", "request did not complete within requested timeout"),
        (408, "", ""),
    ],
)
def test_an_ambiguous_error_may_have_been_stored(
    serve: Serve, connect: Connect, status: int, reason: str, message: str
) -> None:
    error = failed(connect(serve(saying(status, reason=reason, message=message))))
    assert (error.status, error.write_outcome) == (status, WriteOutcome.UNKNOWN)


def test_an_html_page_leaves_the_outcome_unknown(serve: Serve, connect: Connect) -> None:
    page = b"<!DOCTYPE html><title>Sign in</title>"
    error = failed(connect(serve(lambda _, wire: wire.answer(page, Content_Type="text/html"))))
    assert (error.code, error.write_outcome) == ("not-json", WriteOutcome.UNKNOWN)
    assert f"answered PATCH {JOB} with an HTML page" in error.sentence
    gateway = serve(lambda _, wire: wire.answer(page, 502, Content_Type="text/html"))
    assert failed(connect(gateway)).write_outcome is WriteOutcome.UNKNOWN


def test_a_redirect_is_not_followed(serve: Serve, connect: Connect) -> None:
    target = serve(ok)
    error = failed(
        connect(serve(lambda _, wire: wire.answer(b"", 307, Location=f"{target.url}{JOB}")))
    )
    assert (error.code, error.write_outcome) == ("redirected", WriteOutcome.UNKNOWN)
    assert target.connections == 0


def test_a_server_that_never_answers_meets_the_deadline(serve: Serve, connect: Connect) -> None:
    error = failed(connect(serve(lambda _, wire: wire.hold())), deadline=1.0)
    assert (error.code, error.write_outcome) == ("timeout", WriteOutcome.UNKNOWN)
    assert f"did not complete PATCH {JOB} within 1 s" in error.sentence


def test_a_server_that_drips_its_answer_meets_the_deadline(
    serve: Serve, connect: Connect, clock: Clock
) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.head(Content_Length="1000")
        wire.drip(b"{" + b" " * 998 + b"}", clock)

    error = failed(connect(serve(script)), deadline=50.0)
    assert (error.code, error.write_outcome) == ("timeout", WriteOutcome.UNKNOWN)


def test_a_truncated_answer_leaves_the_outcome_unknown(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.head(Content_Length="100")
        wire.send(b"{}")
        wire.close()

    error = failed(connect(serve(script)))
    assert (error.code, error.write_outcome) == ("broken-off", WriteOutcome.UNKNOWN)


def test_a_read_has_no_write_outcome(serve: Serve, connect: Connect) -> None:
    with pytest.raises(KubeError) as caught:
        connect(serve(saying(403, reason="Forbidden"))).get(JOB)
    assert caught.value.write_outcome is None
    assert caught.value.api_status.reason == "Forbidden"
