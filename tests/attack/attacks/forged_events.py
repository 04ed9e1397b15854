"""Events of one namespace that name the uid of a Job of another: they must not become words of its verdict."""

import json

from tests.attack.found import Figures
from tests.attack.tenant import Json, api_server, read_rows, wait_for, written
from tests.installation import Installation

SECONDS = 30
NAMESPACE, OTHER = "attack-events", "attack-forgers"
EVENTS = 30
"""More than gangboard keeps of one object."""
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"namespace": NAMESPACE, "name": "victim"},
    "spec": {
        "managedBy": "example.com/nobody",
        "template": {
            "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}
        },
    },
}


def attack(board: Installation) -> Figures:
    """The gang shows the refusal in its own namespace's event, and no forged one."""
    with api_server(board) as cluster, written(cluster, NAMESPACE, JOB):
        uid = cluster.get("batch/v1", "Job", "victim", NAMESPACE)["metadata"]["uid"]
        read_rows(board, f"gangs/?namespace={NAMESPACE}", board.token, 1)
        forged = [_event(OTHER, f"forged.{number}", uid, "forged") for number in range(EVENTS)]
        own = _event(NAMESPACE, "own.1", uid, "own-quota")
        with written(cluster, OTHER, *forged):
            cluster.create(own)
            (gang,) = wait_for(
                lambda: board.gangs(namespace=NAMESPACE, code="pod-creation-refused"), 1
            )
            detail = board.get(f"gangs/{gang['id']}/")
            cluster.delete(own["apiVersion"], "Event", "own.1", NAMESPACE)
    assert "own-quota" in detail["message"], detail["message"]
    assert "forged" not in json.dumps(detail), detail["message"]
    return {"events": EVENTS}


def _event(namespace: str, name: str, uid: str, note: str) -> Json:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": namespace, "name": name},
        "type": "Warning",
        "reason": "FailedCreate",
        "note": note,
        "action": "Create",
        "regarding": {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "namespace": NAMESPACE,
            "name": "victim",
            "uid": uid,
        },
        "eventTime": "2026-11-27T03:00:00.000000Z",
        "reportingController": "job-controller",
        "reportingInstance": "job-controller-0",
    }
