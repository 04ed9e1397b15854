"""Advice in its columns: as steps, and as the sentences that older releases stored."""

from __future__ import annotations

import msgspec

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.objects import ObjectRef
from gangboard.store.gangs import Detail, pack_advice, pack_detail, unpack_advice, unpack_detail
from gangboard.store.verdict_spans import SpanDetail, unpack_span_detail
from tests.factories import make_finding, make_job

NODE = ObjectRef("", "Node", "", "n1", "")
STEPS = (
    AdvisedStep("Uncordon node n1: then the pod fits.", AdviceKind.UNCORDON, objects=(NODE,)),
    AdvisedStep("Read it.", AdviceKind.LOOK, ("kubectl", "logs", "run-0")),
)


def test_steps_survive_a_round_trip() -> None:
    assert unpack_advice(pack_advice(STEPS)) == STEPS
    detail = Detail((make_finding(advice=STEPS),))
    assert unpack_detail(pack_detail(detail)) == detail
    # The value read from the column is compared with the stored value.
    assert pack_advice(STEPS[1:]) == [
        {
            "text": "Read it.",
            "kind": "look at something",
            "command": ["kubectl", "logs", "run-0"],
            "objects": [],
        }
    ]


def test_sentences_of_an_older_release_become_steps_without_a_command() -> None:
    text = "Read what it wrote last: kubectl logs run-0"
    assert unpack_advice([text]) == (AdvisedStep(text),)
    finding = make_finding(advice=(text,))
    detail = Detail((finding,), (make_job("run-1", finding=finding),), facts={"advice": text})
    assert unpack_detail(older(detail)) == detail
    assert unpack_span_detail(older(SpanDetail((finding,)))) == SpanDetail((finding,))


def older(detail: Detail | SpanDetail) -> bytes:
    """Return the bytes with sentences in place of steps, as they were stored before."""

    def sentences(value: object) -> object:
        if isinstance(value, dict) and set(value) == {"text", "kind", "command", "objects"}:
            return value["text"]
        if isinstance(value, dict):
            return {key: sentences(item) for key, item in value.items()}
        return [sentences(item) for item in value] if isinstance(value, list) else value

    return msgspec.msgpack.encode(sentences(msgspec.msgpack.decode(msgspec.msgpack.encode(detail))))


def test_advice_of_an_unknown_kind_becomes_generic_advice() -> None:
    (step,) = unpack_advice([{"text": "Do it.", "kind": "not known here"}])
    assert step == AdvisedStep("Do it.", AdviceKind.OTHER)
