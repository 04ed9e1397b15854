"""A deleted gang is past: no page, file or answer advises a step about it, or has a button for one."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.health import Health
from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import Evidence, MemberState
from gangboard.store.gangs import Detail, pack_advice
from gangboard.store.models import Cluster, Gang
from tests.factories import make_finding, make_gang, make_history, make_job, make_members
from tests.personas import Person
from tests.stored_jobsets import make_jobset

VICTIM = "healthy-run"
FREES = "to free 8 GPUs"


@pytest.fixture
def gang(cluster: Cluster) -> Gang:
    """A waiting gang with the advice to suspend another team's running gang."""
    now = timezone.now()
    victim = make_jobset(cluster, VICTIM, now=now)
    ref = ObjectRef(victim.api_group, victim.kind, victim.namespace, victim.name, victim.uid)
    step = AdvisedStep(
        f"Suspend JobSet {VICTIM} {FREES}.", AdviceKind.SUSPEND_GANGS, objects=(ref,)
    )
    evidence = (Evidence("GPUs free", "3"), Evidence("runs", VICTIM, ref))
    finding = make_finding(advice=(step,), evidence=evidence)
    return make_gang(
        cluster,
        "waits",
        now=now,
        advice=pack_advice((step,)),
        detail=Detail((finding,), jobs=(make_job("waits-0"),)),
    )


def _delete(gang: Gang) -> None:
    Gang.objects.filter(pk=gang.pk).update(gone_at=timezone.now() - timedelta(minutes=3))


def test_the_page_of_a_deleted_gang_offers_no_stop(operator: Person, gang: Gang) -> None:
    """The button on such a page suspended another team's healthy gang."""
    alive = operator.client.get(f"/gangs/{gang.pk}/").content.decode()
    assert "Next step" in alive
    assert 'class="steps"' in alive
    assert "data-tell" in alive
    assert "/actions/confirm/?" in alive
    _delete(gang)
    page = operator.client.get(f"/gangs/{gang.pk}/").content.decode()
    assert "Deleted <time" in page
    assert "Last state: Waiting." in page
    for live in ("Next step", 'class="steps"', "data-tell", "/actions/confirm/?", "kubectl"):
        assert live not in page, live
    assert FREES not in page


@pytest.mark.parametrize("path", ["/gangs/{}/row/", "/gangs/{}/bundle.md"])
def test_files_and_rows_of_a_deleted_gang_have_no_advice(
    operator: Person, gang: Gang, path: str
) -> None:
    assert FREES in operator.client.get(path.format(gang.pk)).content.decode()
    _delete(gang)
    answer = operator.client.get(path.format(gang.pk))
    assert FREES not in answer.content.decode()


def test_the_api_answer_for_a_deleted_gang_has_no_advice(operator: Person, gang: Gang) -> None:
    _delete(gang)
    answer = operator.client.get(f"/api/v1/gangs/{gang.pk}/").json()
    assert (answer["advice"], answer["next_steps"]) == ([], [])
    assert [finding["advice"] for finding in answer["findings"]] == [[]]
    assert answer["findings"][0]["evidence"], "what was so is kept"


def _pods(name: str, state: Health, **fields: Any) -> tuple[MemberState, ...]:
    """Make a pod with a name of its own."""
    return tuple(replace(pod, **fields) for pod in make_members(name, 1, state))


@pytest.fixture
def whole(cluster: Cluster) -> Gang:
    """A degraded gang: a Job with a failed pod, a healthy Job, a held Job, and pods without a Job."""
    now = timezone.now()
    since = now - timedelta(days=3)
    finding = make_finding(
        "crash-loop",
        health=Health.DEGRADED,
        message="1 of 8 pods fails.",
        since=since,
    )
    other = make_finding(
        "topology-drift",
        health=Health.DEGRADED,
        title="On other nodes",
        message="It runs on other nodes.",
        since=since,
    )
    jobs = (
        make_job("bad", ready=1, desired=3, nodes=("gpu-01", "gpu-02"), finding=finding),
        make_job("good", ready=2, desired=2, nodes=("gpu-01",)),
        make_job(
            "held",
            held=True,
            suspended=True,
            hold="held-hold",
            held_by="olga",
            held_reason="make room",
            held_since=now - timedelta(days=1),
            held_until=now + timedelta(minutes=50),
        ),
    )
    placed = {"label": "not starting", "node": "gpu-02"}
    members = (
        *make_members("bad", 1, since=since),
        *_pods("bad-x", Health.FAILED, job="bad", since=since, **placed),
        *_pods("bad-y", Health.WAITING, job="bad", since=since),
        *make_members("good", 2, since=since),
        *_pods("loose", Health.RUNNING, job="", part="driver", since=since),
    )
    return make_gang(
        cluster,
        "whole",
        now=now,
        health="degraded",
        stage="start",
        code="crash-loop",
        title="A container crashes",
        message="1 of 8 pods fails.",
        since=since,
        restarts=4,
        detail=Detail((finding, other), jobs, members),
    )


def main_of(page: str) -> str:
    """Return the part of a page that tells of the gang."""
    return page[page.index('<main id="content"') : page.index("</main>")]


def page_of(person: Person, gang: Gang, path: str = "/gangs/{}/?open=*") -> str:
    return person.client.get(path.format(gang.pk)).content.decode()


LIVE = ("Describe", "Log command", "kubectl", "Running<", "> Running", "until 20", "data-due")
"""What only the page of an existing gang shows."""
TONES = re.compile(r"tone-(?:failed|blocked|degraded|waiting|starting|suspended|running)")


@pytest.mark.parametrize("path", ["/gangs/{}/?open=*", "/gangs/{}/row/"])
def test_jobs_and_pods_of_a_deleted_gang_are_past(operator: Person, whole: Gang, path: str) -> None:
    """They had commands to copy, a green "Running", and the end of a Hold."""
    alive = page_of(operator, whole, path)
    assert "kubectl describe pod" in alive
    assert "in 4" in alive, "the end of the Hold"
    _delete(whole)
    page = page_of(operator, whole, path)
    past = main_of(page) if "<main" in page else page
    for live in LIVE:
        assert live not in past, live
    assert "Was degraded" in past
    assert "Was held" in past
    assert TONES.findall(past) == []


def test_pods_of_a_deleted_gang_were_on_their_nodes(operator: Person, whole: Gang) -> None:
    assert "was on" not in page_of(operator, whole)
    _delete(whole)
    page = page_of(operator, whole)
    rows = re.findall(r'<tr class="pod">.*?</tr>', page, re.DOTALL)
    assert ["was on" in row for row in rows] == [True, True, False, True, True, True]
    assert "Last seen ready" in page
    assert "Last seen not starting" in page


@pytest.mark.parametrize("path", ["/gangs/{}/?open=*", "/gangs/{}/row/"])
def test_ages_of_a_deleted_gang_end_at_its_deletion(
    operator: Person, whole: Gang, path: str
) -> None:
    """A script counted them on for as long as the page was open."""
    Gang.objects.filter(pk=whole.pk).update(gone_at=timezone.now() - timedelta(days=1))
    page = page_of(operator, whole, path)
    times = re.findall(r"<time ([^>]*)>([^<]*)</time>", page)
    stand = {text for attributes, text in times if "data-age" not in attributes}
    assert "2 d" in stand
    assert not any(text.startswith("3 d") for _, text in times)
    counting = [text for attributes, text in times if "data-age" in attributes]
    # Since its deletion, since its creation, and since the last contact to its cluster.
    assert {text for text in counting if text.startswith(("2 d", "3 d"))} == set()


def test_the_verdict_of_a_deleted_gang_is_grey_below_the_banner(
    operator: Person, whole: Gang
) -> None:
    _delete(whole)
    page = page_of(operator, whole)
    verdict = page[page.index('id="verdict"') : page.index('id="queue"')]
    assert TONES.findall(verdict) == []
    assert verdict.index("Last state: Degraded.") < verdict.index("Was degraded")


def test_the_verdict_is_grey_when_only_the_history_is_left(operator: Person, whole: Gang) -> None:
    born = timezone.now() - timedelta(hours=2)
    make_history(whole, born, ("room", 30), gone=True)
    address = f"/gangs/{whole.pk}/"
    whole.delete()
    page = operator.client.get(address).content.decode()
    verdict = page[page.index('id="verdict"') : page.index("</section>")]
    assert TONES.findall(verdict) == []
    assert verdict.index("Last state: Waiting.") < verdict.index("Was waiting")


def test_the_bundle_of_a_deleted_gang_is_in_the_past_tense(operator: Person, whole: Gang) -> None:
    Gang.objects.filter(pk=whole.pk).update(gone_at=timezone.now() - timedelta(days=1))
    text = page_of(operator, whole, "/gangs/{}/bundle.md")
    assert "**Was degraded** (`crash-loop`) for 2 d: 1 of 8 pods fails." in text
    assert text.index("Last state: Degraded.") < text.index("**Was degraded**")
    for line in (
        "| **bad** | Was degraded, 1 of 3 were ready |  |  | 0 |",
        "| **good** | Was running, 2 of 2 were ready |  |  | 0 |",
        "| **held** | Was held, 0 of 8 were ready, was held by olga: make room |  |  | 0 |",
        "| `bad-x-0` | Last seen not starting | gpu-02 | 2 d | 0 |",
        "| **driver** | Was running, 1 pod when last read |  |  |  |",
    ):
        assert line in text, line


def test_the_bundle_of_an_existing_gang_is_in_the_present(operator: Person, whole: Gang) -> None:
    text = page_of(operator, whole, "/gangs/{}/bundle.md")
    assert "**Degraded** (`crash-loop`) for 3 d: 1 of 8 pods fails." in text
    assert "| **held** | Held, 0 of 8 ready, held by olga: make room |  |  | 0 |" in text
    assert "| **driver** | Running, 1 of 1 ready |  |  |  |" in text


def test_the_bundle_of_a_silent_cluster_counts_no_pod_as_not_ready(
    operator: Person, whole: Gang
) -> None:
    Cluster.objects.update(contact_at=timezone.now() - timedelta(minutes=10))
    text = page_of(operator, whole, "/gangs/{}/bundle.md")
    assert "| **driver** | Unknown, 1 pod when last read |  |  |  |" in text


def test_pods_of_a_silent_cluster_were_on_their_nodes(operator: Person, whole: Gang) -> None:
    Cluster.objects.update(contact_at=timezone.now() - timedelta(minutes=10))
    rows = re.findall(r'<tr class="pod">.*?</tr>', page_of(operator, whole), re.DOTALL)
    assert ["was on" in row for row in rows] == [True, True, False, True, True, True]


def marks(answer: dict[str, Any]) -> set[bool]:
    return {row["past"] for row in (*answer["jobs"], *answer["members"]["pods"])}


def test_the_api_marks_jobs_and_pods_of_a_deleted_gang(operator: Person, whole: Gang) -> None:
    path = f"/api/v1/gangs/{whole.pk}/"
    assert marks(operator.client.get(path).json()) == {False}
    _delete(whole)
    answer = operator.client.get(path).json()
    assert marks(answer) == {True}
    assert {row["state"] for row in answer["members"]["pods"]} >= {"running", "failed"}
    assert all(row["actions"] == [] for row in answer["jobs"])


KEPT = '/stored.yaml">What gangboard keeps of it</a>'


def test_the_stored_objects_are_linked_in_the_kubectl_card(operator: Person, whole: Gang) -> None:
    """The link stood in the header, beside what people need every day."""
    page = page_of(operator, whole)
    card = page[page.index('<div id="commands">') : page.index('<div id="events">')]
    assert "<h2>kubectl</h2>" in card
    assert KEPT in card
    assert page.count("/stored.yaml") == 1


def test_a_gang_without_commands_links_its_stored_objects(operator: Person, whole: Gang) -> None:
    Gang.objects.filter(pk=whole.pk).update(name="$(reboot)")
    for _ in range(2):
        page = page_of(operator, whole)
        assert "<h2>kubectl</h2>" not in page
        assert KEPT in page
        _delete(whole)
