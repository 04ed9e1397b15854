"""Holds and Jobs of another namespace that claim to belong to a JobSet. A preview must ignore
them."""

import json

from tests.attack.found import Figures
from tests.attack.tenant import CLUSTER, Json, api_server, hold, job, read_rows, written
from tests.installation import Installation

SECONDS = 30
NAMESPACE = "attack-parts"
JOBSET = ("jobset.x-k8s.io/v1alpha2", "JobSet")


def attack(board: Installation) -> Figures:
    """The dry run of a JobSet and of its Jobs is the same with these objects as without them."""
    with api_server(board) as cluster:
        running = next(
            gang for gang in board.gangs(cluster=CLUSTER, kind="JobSet", health="running")
        )
        jobset = {
            **cluster.get(*JOBSET, running["name"], running["namespace"]),
            "apiVersion": JOBSET[0],
            "kind": JOBSET[1],
        }
        jobs = board.get(f"gangs/{running['id']}/")["jobs"]
        targets = [_target(running), *(_target({**running, **_JOB, **change}) for change in jobs)]
        before = [_dry_runs(board, target) for target in targets]
        uid = jobset["metadata"]["uid"]
        components = [
            *(hold(NAMESPACE, change["name"], job=change["name"], owner=uid) for change in jobs),
            *(job(NAMESPACE, f"part-{number}", owner=jobset) for number in range(3)),
        ]
        with written(cluster, NAMESPACE, *components):
            read_rows(board, f"holds/?namespace={NAMESPACE}", board.token, len(jobs))
            read_rows(board, f"gangs/?namespace={NAMESPACE}", board.token, 3)
            after = [_dry_runs(board, target) for target in targets]
    assert NAMESPACE not in json.dumps(after), "the plan has requests for another namespace"
    assert after == before, (before, after)
    return {"objects": len(components), "dry_runs": 2 * len(targets)}


_JOB = {"api_group": "batch", "kind": "Job"}


def _target(row: Json) -> Json:
    names = ("cluster", "api_group", "kind", "namespace", "name", "uid")
    return {name: row[name] for name in names}


def _dry_runs(board: Installation, target: Json) -> list[Json]:
    answers = []
    for verb in ("suspend", "resume"):
        body = {"verb": verb, "target": target, "reason": "attack"}
        status, answer = board.post("actions/?dry_run=true", body)
        assert status == 200, answer
        answers.append(answer)
    return answers
