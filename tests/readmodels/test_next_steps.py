"""Next steps: names are links, and buttons and commands stand beside the sentence."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.domain.action import Verb
from gangboard.domain.advice import AdviceKind, AdvisedStep, Harm
from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import NAMED_IN_ADVICE, Evidence
from gangboard.pages.gang import next_steps
from gangboard.pages.gang.next_steps import NextStep, make_steps_to_take
from gangboard.pages.gang.queries import gang_detail
from gangboard.pages.gang.rows import GangDetail
from gangboard.readmodels.action_rows import OfferRow
from gangboard.store.access import Scope, Viewer
from gangboard.store.gangs import Detail, pack_advice, pack_detail
from gangboard.store.models import Cluster, Gang
from tests.factories import NOW, make_cluster, make_finding, make_gang, make_job, make_ref

pytestmark = pytest.mark.django_db

NODES = tuple(ObjectRef("", "Node", "", name, "") for name in ("a10g-4", "a10g-5"))
NAMES = ("gpu: kubectl delete namespace prod #", "gpu; reboot", "$(reboot)", "-rf", "a b", "a\nb")
"""No API server gives such names. A cluster that lies does, and fields that are no names have any text."""


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


@pytest.fixture
def other_gang(cluster: Cluster) -> Gang:
    return make_gang(cluster, "dreamer", namespace="team-rl", kind="JobSet")


def read(
    viewer: Viewer,
    cluster: Cluster,
    advice: AdvisedStep,
    *named: ObjectRef,
    message: str = "",
) -> tuple[GangDetail, NextStep]:
    evidence = tuple(Evidence(NAMED_IN_ADVICE, ref.name, ref) for ref in named)
    finding = make_finding(advice=(advice,), evidence=evidence, message=message)
    gang = make_gang(
        cluster, "run", detail=Detail((finding,)), advice=pack_advice((advice,)), message=message
    )
    detail = gang_detail(viewer=viewer, gang_id=gang.id, now=NOW)
    assert detail is not None
    # Before a step that stops gangs that run whole stands one to wait.
    *_, step = make_steps_to_take(detail.row.next_steps, detail.named, detail.actions)
    return detail, step


def ref_of(gang: Gang) -> ObjectRef:
    return ObjectRef(gang.api_group, gang.kind, gang.namespace, gang.name, gang.uid)


def test_uncordoning_is_a_command_with_all_its_nodes(owner: Viewer, cluster: Cluster) -> None:
    text = "Uncordon nodes a10g-4 and a10g-5: then the pod fits."
    _, step = read(owner, cluster, AdvisedStep(text, AdviceKind.UNCORDON, objects=NODES), *NODES)
    assert step.command == "kubectl uncordon a10g-4 a10g-5"
    assert [segment.node for segment in step.segments if segment.node] == ["a10g-4", "a10g-5"]
    message = f"{text.removesuffix('.')} (in cluster {cluster.name})."
    assert "".join(segment.text for segment in step.segments) == step.text == message


def test_reading_the_log_is_a_command(owner: Viewer, cluster: Cluster) -> None:
    texts = ("kubectl", "logs", "-n", "a", "b", "-c", "main")
    detail, step = read(owner, cluster, AdvisedStep("Read it.", AdviceKind.LOOK, texts))
    assert step.command == "kubectl logs -n a b -c main"
    assert [segment.text for segment in step.segments] == [f"Read it (in cluster {cluster.name})."]
    assert detail.row.advice == (
        f"Read it (in cluster {cluster.name}): kubectl logs -n a b -c main",
    )
    cluster.context = "prod/admin"
    cluster.save()
    detail, step = read(owner, cluster, AdvisedStep("Read it.", AdviceKind.LOOK, texts))
    assert step.command == "kubectl --context prod/admin logs -n a b -c main"
    assert detail.row.advice == ("Read it: kubectl --context prod/admin logs -n a b -c main",)


def test_a_suspend_step_links_to_its_gang(
    owner: Viewer, cluster: Cluster, other_gang: Gang
) -> None:
    text = "Suspend JobSet team-rl/dreamer (priority 0), which holds 8 cpu: then the pod fits."
    advice = AdvisedStep(text, AdviceKind.SUSPEND_GANGS, objects=(ref_of(other_gang),))
    detail, step = read(
        owner, cluster, advice, ref_of(other_gang), message="dreamer is not named so."
    )
    assert [(item.text, item.gang_id) for item in step.segments if item.gang_id] == [
        ("JobSet team-rl/dreamer", other_gang.id)
    ]
    assert [segment.gang_id for segment in detail.named.segments(detail.row.message)] == [""]


def test_a_user_without_access_gets_no_link_or_button(cluster: Cluster, other_gang: Gang) -> None:
    reader = Viewer(1, "reader", (Scope(cluster.pk, "research", "operator"),))
    text = "Wait for JobSet team-rl/dreamer to end."
    advice = AdvisedStep(text, AdviceKind.WAIT_FOR_END, objects=(ref_of(other_gang),))
    detail, step = read(reader, cluster, advice, ref_of(other_gang))
    assert detail.named.gangs == {}
    assert (step.offers, [segment.gang_id for segment in step.segments]) == ((), [""])


@pytest.mark.parametrize("name", NAMES)
def test_unsafe_cluster_names_make_no_commands(owner: Viewer, cluster: Cluster, name: str) -> None:
    text = f"Create Queue {name}, or give the PodGroup another one (needs re-creating)."
    node = ObjectRef("", "Node", "", name, "")
    steps = (
        AdvisedStep(text),
        AdvisedStep(f"Uncordon node {name}: then it fits.", AdviceKind.UNCORDON, objects=(node,)),
    )
    for advice in steps:
        _, step = read(owner, cluster, advice, node)
        assert step.command == ""


def test_steps_of_an_older_release_are_sentences(owner: Viewer, cluster: Cluster) -> None:
    text = "Read what it wrote last: kubectl logs -n a b -c main"
    gang = make_gang(cluster, "run", advice=[text])
    detail = gang_detail(viewer=owner, gang_id=gang.id, now=NOW)
    assert detail is not None
    (step,) = make_steps_to_take(detail.row.next_steps, detail.named, ())
    assert (step.text, step.command, step.offers) == (text, "", ())


class TestButtons:
    """A button is that of an object of the step: words that only look like its name have none."""

    @pytest.fixture(autouse=True)
    def _everybody_can_be_suspended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            next_steps,
            "board_offers",
            lambda rows, **_: {
                row.id: (an_offer(Verb.SUSPEND, row.uid, row.name),) for row in rows
            },
        )

    def test_a_suspend_step_has_a_suspend_button(
        self, owner: Viewer, cluster: Cluster, other_gang: Gang
    ) -> None:
        rival = make_gang(cluster, "rival", namespace="team-rl", kind="JobSet")
        text = "Suspend team-rl/dreamer until team-rl/rival runs."
        advice = AdvisedStep(text, AdviceKind.SUSPEND_GANGS, objects=(ref_of(other_gang),))
        _, step = read(owner, cluster, advice, ref_of(other_gang), ref_of(rival))
        assert [offer.name for offer in step.offers] == ["dreamer"]
        assert [segment.gang_id for segment in step.segments if segment.gang_id] == [
            other_gang.id,
            rival.id,
        ]

    def test_a_suspended_gang_has_no_resume_button_in_a_suspend_step(
        self,
        owner: Viewer,
        cluster: Cluster,
        other_gang: Gang,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """It was suspended after the step was stored, so its row has the button to resume it."""
        monkeypatch.setattr(
            next_steps,
            "board_offers",
            lambda rows, **_: {row.id: (an_offer(Verb.RESUME, row.uid, row.name),) for row in rows},
        )
        advice = AdvisedStep("Suspend it.", AdviceKind.SUSPEND_GANGS, objects=(ref_of(other_gang),))
        _, step = read(owner, cluster, advice, ref_of(other_gang))
        assert step.offers == ()

    def test_a_step_that_stops_the_gang_itself_has_its_button(
        self, owner: Viewer, cluster: Cluster, other_gang: Gang
    ) -> None:
        """It is the gang's own cost, and not that of another broken gang."""
        gang = make_gang(cluster, "run", uid="uid-run")
        steps = tuple(
            AdvisedStep(f"Suspend {ref.name}.", AdviceKind.SUSPEND_BROKEN, objects=(ref,))
            for ref in (ref_of(gang), ref_of(other_gang))
        )
        evidence = (Evidence("holds nodes while incomplete", "dreamer", ref_of(other_gang)),)
        gang.detail = pack_detail(Detail((make_finding(advice=steps, evidence=evidence),)))
        gang.advice = pack_advice(steps)
        gang.save()
        detail = gang_detail(viewer=owner, gang_id=gang.id, now=NOW)
        assert detail is not None
        own = [an_offer(verb, gang.uid, gang.name) for verb in (Verb.SUSPEND, Verb.RESUME)]
        shown = make_steps_to_take(detail.row.next_steps, detail.named, own)
        assert [(step.text[:11], step.harm) for step in detail.row.next_steps] == [
            ("Suspend dre", Harm.BROKEN_GANGS),
            ("Suspend run", Harm.OWN_GANG),
        ]
        assert [[(offer.name, offer.verb) for offer in step.offers] for step in shown] == [
            [("dreamer", "suspend")],
            [("run", "suspend")],
        ]

    def test_a_resume_step_has_a_resume_button(self, owner: Viewer, cluster: Cluster) -> None:
        item, ten = (make_job(name, suspended=True) for name in ("run-1", "run-10"))
        text = "Resume Job run-10 to let it run."
        advice = AdvisedStep(text, AdviceKind.RESUME, objects=(ten.ref,))
        gang = make_gang(
            cluster, "run", detail=Detail((), (item, ten)), advice=pack_advice((advice,))
        )
        detail = gang_detail(viewer=owner, gang_id=gang.id, now=NOW)
        assert detail is not None
        offers = [an_offer(Verb.RESUME, job.uid, job.name) for job in detail.jobs]
        (step,) = make_steps_to_take(detail.row.next_steps, detail.named, offers)
        assert [offer.name for offer in step.offers] == ["run-10"]

    def test_a_matching_name_alone_has_no_button(
        self, owner: Viewer, cluster: Cluster, other_gang: Gang
    ) -> None:
        """A queue can be called `Suspend JobSet team-rl/dreamer`, and quoted first in a sentence."""
        advice = AdvisedStep("Suspend JobSet team-rl/dreamer until it is right.")
        _, step = read(owner, cluster, advice, ref_of(other_gang))
        assert step.offers == ()

    def test_a_borrowed_uid_has_no_link(
        self, owner: Viewer, cluster: Cluster, other_gang: Gang
    ) -> None:
        mine = make_ref("JobSet", "mine", group="jobset.x-k8s.io", uid=other_gang.uid)
        text = "Suspend JobSet research/mine: then the pod fits."
        advice = AdvisedStep(text, AdviceKind.SUSPEND_GANGS, objects=(mine,))
        _, step = read(owner, cluster, advice, mine)
        assert ([segment.gang_id for segment in step.segments], step.offers) == ([""], ())


def an_offer(verb: Verb, uid: str, name: str) -> OfferRow:
    values: dict[str, Any] = {
        "verb": verb.value,
        "label": "Do it",
        "allowed": True,
        "lever": "suspend",
        "why_not": "",
        "warnings": (),
        "cluster": "east",
        "api_group": "batch",
        "kind": "Job",
        "namespace": "research",
        "name": name,
        "uid": uid,
        "generation": 1,
        "gang_id": "",
    }
    return OfferRow(**values)
