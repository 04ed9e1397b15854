"""Caches of texts from clusters stay within their bound of bytes."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from decimal import Decimal

import msgspec
import pytest

from gangboard.decode import pod_constraints, quantities
from gangboard.decode.podspec import WireContainer
from gangboard.decode.selectors import WirePodTerm
from gangboard.domain import bounded_cache as module
from gangboard.domain import resources
from gangboard.domain.bounded_cache import bounded_cache, weigh
from gangboard.domain.pod_constraints import HostPort
from gangboard.facts import scheduler_text
from gangboard.placement import node_pods
from gangboard.placement.sentences import scheduler_message

MIB = 1024 * 1024
HEAVIER = 40
"""Times. All is taken for so much heavier than it is: a fortieth of each bound is filled soon."""
LONG = "x" * (MIB // HEAVIER)


def spec(number: int) -> pod_constraints.WirePlacedSpec:
    """A pod with 4,000 tolerations in less than 16 KiB."""
    many = b"[" + b"{}," * 4000 + b'{"key":"%d"}]' % number
    return pod_constraints.WirePlacedSpec(tolerations=msgspec.Raw(many))


def port(number: int) -> pod_constraints.WirePlacedSpec:
    """A pod with one host port, of an address that is none."""
    address = f"{LONG}{number}".encode()
    ports = b'[{"hostPort":1,"hostIP":"%b"}]' % address
    container = WireContainer(name="a", ports=msgspec.Raw(ports))
    return pod_constraints.WirePlacedSpec(containers=[container])


HOSTILE: dict[str, tuple[Callable[[int], object], int, int]] = {
    # key, expected requests, MiB that would be kept if all entries had the assumed size
    "tolerations": (
        lambda number: pod_constraints.read_pod_constraints(spec(number), "team", ()),
        12,
        100,
    ),
    "a host port": (
        lambda number: pod_constraints.read_pod_constraints(port(number), "team", ()),
        120,
        70,
    ),
    "a name in a device class": (
        lambda number: pod_constraints.read_pod_constraints(
            pod_constraints.WirePlacedSpec(),
            "team",
            (f"deviceclass.resource.kubernetes.io/{LONG}{number}",),
        ),
        120,
        70,
    ),
    "a resource that is parsed": (
        lambda number: quantities.parse_amount(f"{LONG}{number}", "1"),
        40,
        6,
    ),
    "a resource that may be an accelerator": (
        lambda number: resources.is_accelerator(f"a.b/{LONG}{number}"),
        40,
        3,
    ),
    "a text of the scheduler": (
        lambda number: scheduler_text.clean(f"{number:>8}" + "\U0001f600" * 4000),
        80,
        17,
    ),
    "a text that is read": (
        lambda number: scheduler_message._read(
            f"0/4 nodes are available: 4 {number:>8}" + "\U0001f600" * 4000
        ),
        80,
        34,  # the text as it came, and the cleaned one
    ),
    "requests": (lambda number: node_pods._amounts(((f"{LONG}{number}", Decimal(1)),)), 120, 34),
}


@pytest.fixture
def heavier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "weigh", lambda value, enough: HEAVIER * weigh(value, enough))


@pytest.fixture
def traced() -> Iterator[None]:
    gc.collect()
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("heavier", "traced")
@pytest.mark.parametrize("case", HOSTILE)
def test_cache_stays_within_its_bound(case: str) -> None:
    request, times, most = HOSTILE[case]
    before = tracemalloc.get_traced_memory()[0]
    for number in range(times):
        request(number)
    gc.collect()
    grown = HEAVIER * (tracemalloc.get_traced_memory()[0] - before) / MIB
    assert grown <= most, f"{grown:.0f} MiB are kept"


def test_result_is_computed_once() -> None:
    created: list[str] = []

    @bounded_cache(3, MIB)
    def double(text: str) -> str:
        created.append(text)
        return text * 2

    assert [double(text) for text in "abcabcabc"] == ["aa", "bb", "cc"] * 3
    assert created == ["a", "b", "c"]
    double("d")  # the fourth evicts the least recently used entry
    assert [double(text) for text in "bcd"] == ["bb", "cc", "dd"]
    assert created == ["a", "b", "c", "d"]


def test_exceeding_the_bound_drops_all_older_results() -> None:
    created: list[str] = []

    @bounded_cache(100, 4000)
    def length(text: str) -> int:
        created.append(text[0])
        return len(text)

    for letter in "abcd":  # each some 1,400 bytes: the third is too much
        assert length(letter * 1000) == 1000
    created.clear()
    assert length("c" * 1000) == length("d" * 1000) == 1000
    assert created == []
    assert length("a" * 1000) == 1000
    assert created == ["a"]


def test_errors_are_not_cached() -> None:
    @bounded_cache(10, MIB)
    def fail(text: str) -> str:
        raise ValueError(text)

    for _ in range(2):
        with pytest.raises(ValueError, match="a"):
            fail("a")


def test_each_member_of_an_object_is_measured_once() -> None:
    text = "x" * 100_000
    for whole in (
        (text, text),
        {"a": [text]},
        {text: "a"},
        frozenset({text}),
        HostPort(1, "TCP", text),
        WirePodTerm(topology_key=text),
    ):
        assert 100_000 < weigh(whole, MIB) < 102_000
    assert weigh([text, text + "y"], MIB) > 200_000
    assert weigh([f"{number}{text}" for number in range(50)], MIB) < 1.2 * MIB
