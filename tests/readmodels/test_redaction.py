"""Redaction removes names of hidden objects from every text and leaves the rest."""

from __future__ import annotations

import pytest

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.objects import ObjectRef
from gangboard.readmodels.redaction import redact, redact_advice

GANG = "a gang you may not see"
NODE = "a node you may not see"


def job(name: str, namespace: str = "team-b") -> ObjectRef:
    return ObjectRef("batch", "Job", namespace, name, f"uid-of-{name}")


def node(name: str) -> ObjectRef:
    return ObjectRef("", "Node", "", name, "")


@pytest.mark.parametrize(
    ("text", "ref", "expected"),
    [
        ("Suspend Job team-b/train to free 4.", job("train"), f"Suspend {GANG} to free 4."),
        ("team-b/train and team-b / train", job("train"), "gangs you may not see"),
        ("Taken by Job eval.", job("eval"), f"Taken by {GANG}."),
        ("Taken by job/eval.", job("eval"), f"Taken by {GANG}."),
        ("gpu-07 lost power.", node("gpu-07"), f"{NODE} lost power."),
        ("added node n7, which", node("n7"), f"added {NODE}, which"),
        ("on: nodeclaim/x, node/n7", node("n7"), f"on: nodeclaim/x, {NODE}"),
        ("hostname=gpu-07 has none", node("gpu-07"), f"hostname={NODE} has none"),
        ("nodes n7 and n8 are", node("n7"), f"nodes {NODE} and n8 are"),
        ("added node 8, which", node("8"), f"added {NODE}, which"),
        ("hostname=8 has none", node("8"), f"hostname={NODE} has none"),
        ("node train is NotReady", node("train"), f"{NODE} is NotReady"),
    ],
)
def test_a_hidden_name_is_replaced(text: str, ref: ObjectRef, expected: str) -> None:
    assert redact(text, (ref,), own="train") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 are cordoned (n7 and n8).", "2 are cordoned (nodes you may not see)."),
        ("cordoned (n7, n8 and 3 more)", "cordoned (nodes you may not see and 3 more)"),
        ("nodes n7 and n8 are NotReady", "nodes you may not see are NotReady"),
        ("on n7, then on n8", f"on {NODE}, then on {NODE}"),
        ("team-b/train and n7", f"{GANG} and {NODE}"),
    ],
)
def test_several_hidden_names_share_one_note(text: str, expected: str) -> None:
    hidden = (job("train"), node("n7"), node("n8"))
    assert redact(text, hidden, own="mine") == expected


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("Lower the parallelism of Job train from 8 to 4.", job("train")),
        ("team-a/train waits.", job("train")),
        ("Job train waits.", node("train")),
        ("8 pods need 8 nvidia.com/gpu.", job("8")),
        ("8 pods need 8 nvidia.com/gpu.", node("8")),
        ("3 pods have a node and wait for the rest.", job("wait")),
        ("gpu-07b and gpu-07.rack are others.", node("gpu-07")),
        ("my-team-b/train is another.", job("train")),
    ],
)
def test_similar_names_stay(text: str, ref: ObjectRef) -> None:
    assert redact(text, (ref,), own="train") == text


END = "{} 12:12 UTC at the latest ({}): then all 4 pods fit."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"Wait for Job team-b/train, which {END.format('ends at', 'its deadline')}",
            f"Wait for {GANG}, which {END.format('ends at', 'its deadline')}",
        ),
        (
            f"Wait for 2 pods of Job team-b/train, which {END.format('end at', 'their deadlines')}",
            f"Wait for 2 pods of {GANG}, which {END.format('end at', 'their deadlines')}",
        ),
        (
            f"Wait for Job team-b/train and Job team-b/two, which {END.format('end by', 'their deadlines')}",
            f"Wait for gangs you may not see, which {END.format('end by', 'their deadlines')}",
        ),
        (
            "Wait: 3 pods on nodes n7 and n8 will be gone by 12:12 UTC; then all 4 pods fit.",
            "Wait: 3 pods on nodes you may not see will be gone by 12:12 UTC; then all 4 pods fit.",
        ),
    ],
)
def test_a_waiting_gangs_holder_is_redacted(text: str, expected: str) -> None:
    hidden = (job("train"), job("two"), node("n7"), node("n8"))
    waits = AdvisedStep(text, AdviceKind.WAIT_FOR_END, objects=hidden)
    lower = AdvisedStep("Lower it to 4.", AdviceKind.SIZE)
    remaining = (
        AdvisedStep("Suspend Job team-b/train (priority 0): then the pod fits."),
        AdvisedStep("Free 4 cpu on n7, once 3 pods on n8 that are being deleted are gone."),
        AdvisedStep("Read what it wrote last.", command=("kubectl", "logs", "n7")),
        AdvisedStep("Suspend it.", AdviceKind.SUSPEND_GANGS, objects=hidden[:1]),
        # A name may begin like our own words.
        AdvisedStep("Wait for Job team-b/train."),
    )
    assert redact_advice((waits, *remaining, lower), hidden, own="mine") == (
        AdvisedStep(expected, AdviceKind.WAIT_FOR_END),
        lower,
    )
