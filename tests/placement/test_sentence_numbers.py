"""Amounts as a sentence has them."""

import pytest

from gangboard.placement.amounts import format_amount, format_amounts
from gangboard.placement.sentences.wording import PodCount, free_text, needed_and_available

GI = 2**30


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("nvidia.com/gpu", 8, "8 GPUs"),
        ("amd.com/gpu", 1, "1 GPU"),
        ("nvidia.com/mig-1g.5gb", 2, "2 nvidia.com/mig-1g.5gb"),
        ("rdma/ib", 4, "4 rdma/ib"),
        ("cpu", 4000, "4 CPUs"),
        ("cpu", 1000, "1 CPU"),
        ("cpu", 1500, "1.5 CPUs"),
        ("cpu", 250, "250m CPU"),
        ("cpu", 0, "0 CPUs"),
        ("memory", 32 * GI, "32Gi of memory"),
        ("memory", 1536 * 2**20, "1536Mi of memory"),
        ("memory", 131899492 * 1024, "125.7Gi of memory"),
        ("memory", 128974848, "123Mi of memory"),
        ("hugepages-2Mi", 512 * 2**20, "512Mi of hugepages-2Mi"),
        ("pods", 1, "1 pod"),
        ("pods", 3, "3 pods"),
    ],
)
def test_people_read_amounts_in_these_units(resource: str, amount: int, text: str) -> None:
    assert format_amount(resource, amount) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (32 * GI, "32Gi of memory"),
        (1_500_000_000, "1.4Gi of memory"),
        (GI + 1, "1.1Gi of memory"),
        (GI - 1, "1Gi of memory"),
        (10**6 + 1, "976.6Ki of memory"),
        (999, "999 of memory"),
    ],
)
def test_a_required_amount_is_rounded_up(amount: int, text: str) -> None:
    assert format_amount("memory", amount, round_up=True) == text


def test_gpus_of_two_vendors_are_distinguished() -> None:
    assert format_amounts({"nvidia.com/gpu": 4, "cpu": 2000}) == ["2 CPUs", "4 GPUs"]
    both = {"nvidia.com/gpu": 4, "amd.com/gpu": 1}
    assert format_amounts(both) == ["1 amd.com/gpu", "4 nvidia.com/gpu"]
    assert format_amount("nvidia.com/gpu", 4, with_resource_name=True) == "4 nvidia.com/gpu"


def test_two_amounts_that_differ_never_look_alike() -> None:
    needed, existing = needed_and_available("memory", 131899492 * 1024, 131899491 * 1024)
    assert (needed, existing) == ("131899492Ki of memory", "131899491Ki")


@pytest.mark.parametrize(
    ("resource", "text", "words"),
    [
        ("nvidia.com/gpu", "0", "none is free"),
        ("nvidia.com/gpu", "1", "1 is free"),
        ("nvidia.com/gpu", "8", "8 are free"),
        ("cpu", "500m", "500m is free"),
        ("cpu", "1.5", "1.5 are free"),
        ("memory", "64Gi", "64Gi is free"),
    ],
)
def test_free_amounts_have_readable_units(resource: str, text: str, words: str) -> None:
    assert free_text(resource, text) == words


def test_pod_counts_agree_with_their_verb() -> None:
    assert PodCount(6, 6).verb("need") == "6 pods need"
    assert PodCount(1, 1, "driver").verb("need") == "1 pod of driver needs"
    assert PodCount(4, 6).verb("need") == "at least 4 of 6 pods need"
