"""A tenant whose Holds and Jobs name uids of other namespaces: gangboard must not tell what these are."""

from tests.attack.found import Figures
from tests.attack.tenant import api_server, hold, job, make_viewer, read, read_rows, written
from tests.installation import Installation

SECONDS = 30
NAMESPACE = "attack-uids"
KINDS = (
    ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("v1", "Node"),
)


def attack(board: Installation) -> Figures:
    """The tenant reads no name of an object that it may not see, and every Hold of theirs is lost."""
    token = make_viewer(board, "uid-tenant", NAMESPACE)
    with api_server(board) as cluster:
        victims = [
            {**cluster.list(version, kind)[0], "apiVersion": version, "kind": kind}
            for version, kind in KINDS
        ]
        holds = [
            hold(NAMESPACE, f"h{number}", job="none", owner=victim["metadata"]["uid"])
            for number, victim in enumerate(victims)
        ]
        runs = [
            job(NAMESPACE, f"run{number}", owner=victim) for number, victim in enumerate(victims)
        ]
        with written(cluster, NAMESPACE, *holds, *runs):
            gangs = read_rows(board, f"gangs/?namespace={NAMESPACE}", token, len(runs))
            rows = read_rows(board, f"holds/?namespace={NAMESPACE}", token, len(holds))
            texts = [read(board, "holds/", token)]
            for gang in gangs:
                texts.append(read(board, f"gangs/{gang['id']}/", token))
                texts.append(read(board, f"gangs/{gang['id']}/bundle/", token))
    for victim in victims:
        name = victim["metadata"]["name"]
        count = sum(name in text for text in texts)
        assert not count, f"{victim['kind']} {name} is told in {count} answers"
    assert all(row["lost"] for row in rows), rows
    return {"uids": len(victims), "answers": len(texts)}
