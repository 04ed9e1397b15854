"""Each fault has its documented effect, as often as configured."""

from __future__ import annotations

import gzip
import json
import time
from http.client import IncompleteRead

import pytest

from simulator import Simulator
from tests.controlplane.client import ApiError, Client
from tests.simulator.conftest import Wire

Demo = tuple[Simulator, Client]
PODS = "/api/v1/pods"


def test_refusals_carry_the_status_of_the_real_server(demo: Demo, wire: Wire) -> None:
    simulator, client = demo
    simulator.faults.forbidden(resource="pods", verb="list", count=1)
    with pytest.raises(ApiError) as caught:
        client.list("v1", "Pod", "team-nlp")
    assert caught.value.status == 403
    assert caught.value.message == (
        'pods is forbidden: User "system:serviceaccount:gangboard:actor" cannot list resource '
        '"pods" in API group "" in the namespace "team-nlp"'
    )
    simulator.faults.unauthorized(count=1)
    with pytest.raises(ApiError) as caught:
        client.list("v1", "Node")
    assert (caught.value.status, caught.value.message) == (401, "Unauthorized")
    simulator.faults.status(503, path="/apis/batch", count=1)
    assert client.list("v1", "Node")
    with pytest.raises(ApiError) as caught:
        client.list("batch/v1", "Job")
    assert caught.value.status == 503
    simulator.faults.throttled(7, count=1)
    response = wire.get(PODS)
    body = json.loads(response.read())
    assert (response.status, response.getheader("Retry-After")) == (429, "7")
    assert body["details"]["retryAfterSeconds"] == 7
    assert wire.get(PODS).status == 200


def test_a_fault_can_be_aimed_and_counted(demo: Demo) -> None:
    simulator, client = demo
    fault = simulator.faults.forbidden(resource="jobs.batch", verb="list", count=2)
    assert client.list("v1", "Pod")
    for _ in range(2):
        with pytest.raises(ApiError):
            client.list("batch/v1", "Job")
    assert client.list("batch/v1", "Job")
    assert fault.hits == 2
    lasting = simulator.faults.forbidden(path="/api/v1/nodes")
    for _ in range(3):
        with pytest.raises(ApiError):
            client.list("v1", "Node")
    simulator.faults.remove(lasting)
    assert client.list("v1", "Node")


def test_access_reviews_reflect_forbidden_resources(demo: Demo) -> None:
    simulator, client = demo
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

    def allowed(verb: str, resource: str) -> bool:
        spec = {"resourceAttributes": {"verb": verb, "resource": resource}}
        answer = client.request("POST", path, {"spec": spec})
        return bool(answer["status"]["allowed"])

    assert allowed("list", "pods")
    fault = simulator.faults.forbidden(resource="pods")
    assert not allowed("list", "pods")
    assert allowed("list", "nodes")
    simulator.faults.remove(fault)


def test_a_hanging_request_is_never_answered_and_ends_with_the_fault(demo: Demo) -> None:
    simulator, client = demo
    fault = simulator.faults.hang(path=PODS)
    short = Wire(simulator, timeout=0.4)
    with pytest.raises(TimeoutError):
        short.get(PODS)
    short.close()
    # Others are not held up by it.
    assert client.list("v1", "Node")
    simulator.faults.remove(fault)
    assert client.list("v1", "Pod")


def test_a_dripping_answer_comes_byte_by_byte(demo: Demo, wire: Wire) -> None:
    simulator, _ = demo
    simulator.faults.drip(every=0.05, path="/version", count=1)
    started = time.monotonic()
    response = wire.get("/version")
    assert response.read(1) == b"{"
    assert len(response.read(4)) == 4
    assert time.monotonic() - started >= 0.1


def test_invalid_bodies_are_sent(demo: Demo, wire: Wire) -> None:
    simulator, _ = demo
    simulator.faults.html(path=PODS, count=1)
    response = wire.get(PODS)
    assert response.status == 200
    assert response.getheader("Content-Type") == "text/html; charset=utf-8"
    assert response.read().startswith(b"<!DOCTYPE html>")
    simulator.faults.not_json(path=PODS, count=1)
    response = wire.get(PODS)
    assert response.getheader("Content-Type") == "application/json"
    with pytest.raises(ValueError, match="Expecting property name"):
        json.loads(response.read())
    simulator.faults.truncated(path=PODS, count=1)
    with pytest.raises(IncompleteRead):
        wire.get(PODS).read()


def test_a_connection_is_reset(demo: Demo) -> None:
    simulator, client = demo
    simulator.faults.reset(path=PODS, count=1)
    wire = Wire(simulator)
    with pytest.raises(ConnectionError):
        wire.get(PODS)
    wire.close()
    assert client.list("v1", "Pod")


def test_the_second_page_is_expired(demo: Demo) -> None:
    simulator, client = demo
    simulator.faults.gone_mid_list(resource="pods", count=1)
    first = client.request("GET", PODS, query={"limit": 10})
    query = {"limit": 10, "continue": first["metadata"]["continue"]}
    with pytest.raises(ApiError) as caught:
        client.request("GET", PODS, query=query)
    assert (caught.value.status, caught.value.reason) == (410, "Expired")
    assert caught.value.message.startswith("The provided continue parameter is too old")
    assert client.request("GET", PODS, query=query)["items"]


def test_a_continue_token_may_never_end(demo: Demo) -> None:
    simulator, client = demo
    fault = simulator.faults.lying_continue(resource="pods")
    first = client.request("GET", PODS, query={"limit": 500})
    token = first["metadata"]["continue"]
    second_answer = client.request("GET", PODS, query={"limit": 500, "continue": token})
    assert second_answer["metadata"]["continue"] == token
    assert second_answer["items"] == first["items"]
    simulator.faults.remove(fault)


def test_half_a_line_ends_a_watch(demo: Demo, wire: Wire) -> None:
    simulator, _ = demo
    simulator.faults.half_line(resource="pods", count=1)
    response = wire.get(f"{PODS}?watch=1")
    with pytest.raises(IncompleteRead) as caught:
        response.read()
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(caught.value.partial)


def test_a_dead_watch_sends_no_bytes(demo: Demo) -> None:
    simulator, _ = demo
    simulator.faults.dead_watch(resource="pods", count=1)
    wire = Wire(simulator, timeout=1)
    response = wire.get(f"{PODS}?watch=1&allowWatchBookmarks=true")
    assert response.status == 200
    with pytest.raises(TimeoutError):
        response.read(1)
    wire.close()


def test_a_bad_pod_is_listed_among_good_pods(demo: Demo, wire: Wire) -> None:
    simulator, client = demo
    huge = simulator.faults.huge_annotation(name="debug-shell")
    response = wire.get(PODS, Accept_Encoding="gzip")
    assert response.getheader("Content-Encoding") is None  # faults go out as they are
    by_name = {item["metadata"]["name"]: item for item in json.loads(response.read())["items"]}
    assert len(by_name["debug-shell"]["metadata"]["annotations"]["example.com/huge"]) == 5 * 2**20
    simulator.faults.remove(huge)
    bare = simulator.faults.pod_without_status(name="debug-shell")
    assert "status" not in client.get("v1", "Pod", "debug-shell", "team-infra")
    simulator.faults.remove(bare)
    odd = simulator.faults.unknown_enum()
    pods = client.list("v1", "Pod")
    assert [item["status"]["phase"] for item in pods].count("Hibernating") == 1
    statuses = {
        condition["status"]
        for item in pods
        if item["status"]["phase"] == "Hibernating"
        for condition in item["status"]["conditions"]
    }
    assert statuses == {"Perhaps"}
    simulator.faults.remove(odd)


def test_large_answers_are_compressed_on_request(wire: Wire) -> None:
    response = wire.get(PODS, Accept_Encoding="gzip")
    assert response.getheader("Content-Encoding") == "gzip"
    assert json.loads(gzip.decompress(response.read()))["kind"] == "PodList"


def test_unknown_tokens_and_writing_readers_are_refused(demo: Demo, wire: Wire) -> None:
    simulator, client = demo
    wire._headers = {"Authorization": "Bearer nobody"}
    response = wire.get(PODS)
    assert (response.status, json.loads(response.read())["reason"]) == (401, "Unauthorized")
    wire._headers = {"Authorization": f"Bearer {simulator.reader_token}"}
    assert wire.get(PODS).read()
    job = "/apis/batch/v1/namespaces/team-nlp/jobs/llama-ft-driver-0"
    wire.connection.request("DELETE", job, headers=wire._headers)
    refused = wire.connection.getresponse()
    body = json.loads(refused.read())
    assert refused.status == 403
    assert 'cannot delete resource "jobs" in API group "batch"' in body["message"]
    assert client.get("batch/v1", "Job", "llama-ft-driver-0", "team-nlp")


def test_a_write_fails_before_or_after_its_execution(demo: Demo) -> None:
    simulator, client = demo
    job = ("batch/v1", "Job", "llama-ft-driver-0")

    def label(value: str) -> None:
        body = {"metadata": {"labels": {"example.com/seen": value}}}
        client.patch(*job, body, "team-nlp")

    def seen() -> str | None:
        answer: str | None = client.get(*job, "team-nlp")["metadata"]["labels"].get(
            "example.com/seen"
        )
        return answer

    simulator.faults.status(504, verb="write", count=1)
    with pytest.raises(ApiError) as caught:
        label("before")
    assert (caught.value.status, seen()) == (504, None)
    simulator.faults.status(504, verb="write", count=1, applied=True)
    with pytest.raises(ApiError) as caught:
        label("after")
    assert (caught.value.status, seen()) == (504, "after")
    simulator.faults.html(verb="patch", count=1, applied=False)
    label("page")
    assert seen() == "after"


def test_the_verb_write_covers_all_writes(demo: Demo) -> None:
    simulator, client = demo
    fault = simulator.faults.webhook_down(resource="jobs")
    assert client.list("batch/v1", "Job")
    with pytest.raises(ApiError) as caught:
        client.delete("batch/v1", "Job", "llama-ft-driver-0", "team-nlp")
    assert (caught.value.status, caught.value.reason) == (500, "InternalError")
    assert caught.value.message.startswith("Internal error occurred: failed calling webhook")
    assert client.get("batch/v1", "Job", "llama-ft-driver-0", "team-nlp")
    simulator.faults.remove(fault)


def test_a_refusal_can_be_lost_like_any_answer(demo: Demo) -> None:
    simulator, _ = demo
    simulator.faults.reset(path="/api/v1/namespaces/team-nlp/pods/no-such-pod", count=1)
    wire = Wire(simulator)
    with pytest.raises(ConnectionError):
        wire.get("/api/v1/namespaces/team-nlp/pods/no-such-pod")
    wire.close()
