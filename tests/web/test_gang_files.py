"""A gang as a file: its evidence for a ticket, and its objects as they are stored."""

from __future__ import annotations

import pytest
import yaml
from django.utils import timezone

from gangboard.domain.health import Health
from gangboard.domain.verdict import Evidence
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster, Gang
from tests.factories import make_finding, make_gang, make_job, make_members
from tests.personas import Person
from tests.stored_jobsets import make_jobset
from tests.web.conftest import World

pytestmark = pytest.mark.django_db
HOSTILE = "x | <img src=y> `z` [a](http://b) **c**"


def bundle_of(person: Person, gang: Gang) -> str:
    response = person.client.get(f"/gangs/{gang.pk}/bundle.md")
    assert response.status_code == 200
    assert response["Content-Type"] == "text/markdown; charset=utf-8"
    assert "attachment" in response["Content-Disposition"]
    return response.content.decode()


def test_the_bundle_has_the_content_of_the_page(owner: Person, world: World) -> None:
    finding = make_finding(message="8 pods need 1 GPU each.", evidence=(Evidence("free", "3"),))
    members = (
        *make_members("run-a", 2, Health.WAITING, reason="Unschedulable"),
        *make_members("run-b", 1, container="main", exit_code=137, restarts=4),
    )
    jobs = (make_job("run-a"), make_job("run-b", ready=1, desired=1))
    gang = make_gang(
        world.cluster,
        "run",
        now=timezone.now(),
        message="8 pods need 1 GPU each.",
        detail=Detail((finding,), jobs, members),
    )
    text = bundle_of(owner, gang)
    for line in (
        "# JobSet research/run in cluster eu-train",
        "1. It goes when 5 GPUs become free.",
        "| free | `3` |",
        "| **run-a** | Starting, 0 of 8 ready |  |  | 0 |",
        "| `run-a-0` | Waiting, Unschedulable |  |  | 0 |",
        "| Queue | gpu-prod |",
        "kubectl get jobset.v1alpha2.jobset.x-k8s.io run -n research -o yaml",
    ):
        assert line in text, line
    assert "8 pods need 1 GPU each." in text


def test_cluster_text_is_escaped_in_markdown_and_html(owner: Person, world: World) -> None:
    finding = make_finding(message=HOSTILE, advice=(HOSTILE,), evidence=(Evidence("e", HOSTILE),))
    gang = make_gang(
        world.cluster,
        "evil",
        now=timezone.now(),
        message=HOSTILE,
        advice=[HOSTILE],
        detail=Detail((finding,), members=make_members("p", 1, Health.FAILED, reason=HOSTILE)),
    )
    text = bundle_of(owner, gang)
    report = r"x \| \<img src=y\> \`z\` `[a](http://b)` \*\*c\*\*"
    assert text.count(report) == 3, "message, advice, pod"
    assert r"| e | `x `\|``  <img src=y> `z` [a](http://b) **c** `` |" in text
    assert text.count(HOSTILE) == 0


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (r"a\|b", r"`a\`\|`b`"),
        (r"a\\|b|", r"`a\\`\|`b`\|"),
        ("| ", r"\|`   `"),
    ],
)
def test_a_pipe_never_ends_a_table_cell(owner: Person, world: World, value: str, cell: str) -> None:
    """A bar inside code with two backslashes before it ends the cell for renderers such as marked."""
    finding = make_finding(evidence=(Evidence("e", value),))
    gang = make_gang(world.cluster, "run", now=timezone.now(), detail=Detail((finding,)))
    assert f"| e | {cell} |" in bundle_of(owner, gang)


def test_cluster_text_makes_no_mentions_or_links(owner: Person, world: World) -> None:
    """GitHub and GitLab look for mentions and addresses in the rendered text, but not in code."""
    message = "ask @admins, see https://evil.example/x, www.evil.example or org/repo#12 *now*"
    gang = make_gang(world.cluster, "run", now=timezone.now(), message=message)
    text = bundle_of(owner, gang)
    assert (
        r"ask `@admins,` see `https://evil.example/x,` `www.evil.example` or `org/repo#12` \*now\*"
        in text
    )


def test_a_user_without_access_gets_no_file(reader: Person, world: World) -> None:
    for name in ("bundle.md", "stored.yaml"):
        assert reader.client.get(f"/gangs/{world.other_gang.id}/{name}").status_code == 404
        assert reader.client.get(f"/gangs/no-such/{name}").status_code == 404
        assert reader.client.get(f"/gangs/{world.gang.id}/{name}").status_code == 200


def test_stored_objects_are_exported_as_yaml(operator: Person, cluster: Cluster) -> None:
    gang = make_jobset(cluster, now=timezone.now())
    response = operator.client.get(f"/gangs/{gang.pk}/stored.yaml")
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    documents = [document for document in yaml.safe_load_all(response.content.decode()) if document]
    assert documents[0]["resource"] == "jobsets.jobset.x-k8s.io"
    assert documents[0]["meta"]["ref"]["name"] == gang.name
    kinds = [document["meta"]["ref"]["kind"] for document in documents]
    assert kinds == ["JobSet", "Job", "Job", "Job"]
    assert all(document["meta"]["ref"]["namespace"] == "research" for document in documents)
