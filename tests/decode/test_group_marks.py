"""The group of a pod by its field, a label or an annotation, and whether its scheduler reads it."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.decode.fingerprints import decoder_fingerprint
from gangboard.decode.pods import pod_resource
from gangboard.domain.group import GroupMark
from gangboard.domain.pod import Pod
from tests.decode.reading import Json, model, with_identity

TOY = GroupMark("toys.example/flock", False, "Flock.toys.example")
HIVE = GroupMark("bees.example/hive", True, "Hive.bees.example", ("queen",))
HERD = GroupMark("cows.example/herd", True, "Herd.cows.example", ("cowboy",), any_name=True)
PODS = pod_resource((TOY, HIVE, HERD))


def a_pod(scheduler: str | None = "default-scheduler", core: str = "", **marks: Any) -> Pod:
    spec: Json = {"schedulerName": scheduler}
    if core:
        spec["schedulingGroup"] = {"podGroupName": core}
    result: Pod = model(PODS, with_identity({"spec": spec, "metadata": marks}))
    return result


HIVE_LABEL = {"bees.example/hive": "big"}
HERD_LABEL = {"cows.example/herd": "brown"}


def named(pod: Pod) -> tuple[str, str, bool, bool]:
    return pod.group_name, pod.group_kind, pod.ignores_group, pod.other_scheduler


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (a_pod(), ("", "", False, False)),
        (a_pod(core="ring"), ("ring", "", False, False)),
        # A mark that all schedulers read, as one that the only scheduler does.
        (a_pod(annotations={"toys.example/flock": "f"}), ("f", "Flock.toys.example", False, False)),
        (a_pod("queen", labels=HIVE_LABEL), ("big", "Hive.bees.example", False, True)),
        # Near miss: the default scheduler and unknown schedulers do not read it.
        (a_pod(labels=HIVE_LABEL), ("big", "Hive.bees.example", True, False)),
        (a_pod("mine", labels=HIVE_LABEL), ("big", "Hive.bees.example", True, False)),
        # The installer of that scheduler chooses its name.
        (a_pod("mine", labels=HERD_LABEL), ("brown", "Herd.cows.example", False, True)),
        (a_pod("cowboy", labels=HERD_LABEL), ("brown", "Herd.cows.example", False, True)),
        (a_pod(labels=HERD_LABEL), ("brown", "Herd.cows.example", True, False)),
        (a_pod(None, labels=HERD_LABEL), ("brown", "Herd.cows.example", True, False)),
        # Near miss: a name of another API does not match.
        (a_pod("queen", labels=HERD_LABEL), ("brown", "Herd.cows.example", True, True)),
        (a_pod("queen"), ("", "", False, True)),
    ],
)  # fmt: skip
def test_group_name_counts_if_the_scheduler_reads_it(
    pod: Pod, expected: tuple[str, str, bool, bool]
) -> None:
    assert named(pod) == expected


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        ("default-scheduler", ("ring", "", False, False)),
        ("queen", ("big", "Hive.bees.example", False, True)),
        ("mine", ("brown", "Herd.cows.example", False, True)),
    ],
)
def test_scheduler_decides_between_several_group_names(
    scheduler: str, expected: tuple[str, str, bool, bool]
) -> None:
    assert named(a_pod(scheduler, "ring", labels=HIVE_LABEL | HERD_LABEL)) == expected


def test_scheduler_of_another_api_ignores_a_core_group() -> None:
    """The Job controller of 1.37 creates one for every Job with any scheduler (real-owners-2.md §4)."""
    assert named(a_pod("queen", "ring")) == ("ring", "", True, True)


def test_key_in_the_value_of_an_annotation_does_not_count() -> None:
    assert a_pod(annotations={"note": "toys.example/flock"}).group_name == ""
    assert a_pod(annotations={"toys.example/flock": None}).group_name == ""


def test_a_changed_mark_changes_the_fingerprint() -> None:
    assert decoder_fingerprint(PODS) != decoder_fingerprint(pod_resource((TOY,)))
    assert decoder_fingerprint(pod_resource((TOY, HIVE))) != decoder_fingerprint(
        pod_resource((HIVE._replace(schedulers=()), TOY))
    )
