"""No number in an object decides how much work the object is, nor how large the row of its gang.

Every owner kind, grouping API and queue, with the largest numbers that its wire type takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from gangboard.decode.list_watch_decoder import build_model, read_page
from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.api_resource import Resource
from gangboard.domain.group import Group
from gangboard.domain.owner import MAX_PODS, Owner
from gangboard.domain.verdict import Verdict
from gangboard.facts.gang import Linked
from gangboard.plugins.registry import grouping_apis, owner_kinds, queue_systems
from gangboard.polling.gang_rows import gang_row
from gangboard.store.objects import pack
from tests.domain_objects import NOW, a_group, a_job, a_jobset, a_pod, a_role
from tests.gangs import assemble
from tests.largest_objects import LARGEST, body_of, largest, lines_of

MOST_LINES = 400_000
"""Lines executed for one object, in all steps: about 50 ms."""
MOST_BYTES = 256 * 1024
"""The size of the columns `detail` and `memory` together."""
RESOURCES = [
    *(kind.resource for kind in owner_kinds()),
    *(resource for api in grouping_apis() for resource in api.resources),
    *(resource for queue in queue_systems() for resource in queue.resources),
]


@dataclass(frozen=True)
class Seen:
    """The results for one object."""

    model: Any
    row: dict[str, Any]
    """Empty for an object that is not a gang."""
    verdict: Verdict | None = None

    @property
    def size(self) -> int:
        """Bytes stored for the gang, without its plain columns."""
        return sum(len(self.row[name]) for name in ("detail", "memory")) if self.row else 0


def judged(root: Any, rest: Iterable[Linked] = ()) -> Seen:
    """Take a gang through assembly, rules and row."""
    facts = assemble(root, list(rest), now=NOW)
    verdict = assess(facts)
    return Seen(root, gang_row(1, "c", facts, verdict, None, NOW, watched=True), verdict)


def taken_in(resource: Resource, body: bytes) -> Seen:
    """Take a list of one object from its bytes to the row of its gang."""
    page = read_page(body, resource)
    assert page.problems == []
    model, problem = build_model(resource, page.objects[0], resource.versions[0])
    assert model is not None, problem
    pack(model)
    if not isinstance(model, Owner | Group):
        return Seen(model, {})
    graph = OwnershipGraph()
    graph.put(model)
    for root in graph.roots():
        graph.members(root)
    return judged(model)


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.key)
@pytest.mark.parametrize(("entries", "inner"), [(1, 1), (100, 1)], ids=["one", "many"])
def test_the_largest_object_of_each_kind_is_little_work(
    resource: Resource, entries: int, inner: int
) -> None:
    body = body_of(largest(resource.wire, entries, inner))
    lines, observed = lines_of(lambda: taken_in(resource, body), MOST_LINES)
    assert observed.size <= MOST_BYTES
    assert observed.row.get("desired", 0) <= MAX_PODS
    assert lines <= MOST_LINES


@pytest.mark.parametrize("kind", ["LeaderWorkerSet", "PodCliqueSet"])
def test_work_does_not_grow_with_the_number(kind: str) -> None:
    (resource,) = (item for item in RESOURCES if item.kind == kind)
    body = body_of(largest(resource.wire, 200, 1))
    few = body.replace(str(LARGEST).encode(), b"100")
    at_most = lines_of(lambda: taken_in(resource, few), MOST_LINES)[0] * 1.5
    assert lines_of(lambda: taken_in(resource, body), MOST_LINES)[0] <= at_most


def test_numbers_stay_exact_where_units_are_counted() -> None:
    (resource,) = (item for item in RESOURCES if item.kind == "JAXJob")
    body = body_of(largest(resource.wire, 200, 1))
    observed = taken_in(resource, body)
    assert observed.row["desired"] == 200 * LARGEST
    assert observed.verdict is not None
    reported = [finding.unit for finding in observed.verdict.findings]
    assert [name for name in reported if "more like it" in name] == ["n64 and 135 more like it"]


def test_numbers_no_table_can_keep_are_cut() -> None:
    """Some owners are a sum of others, each of which a table can keep."""
    jobset = a_jobset("run", a_role("workers", jobs=3))
    jobs = [a_job(f"run-workers-{index}", of=jobset, pods=MAX_PODS) for index in range(3)]
    assert judged(jobset, jobs).row["desired"] == MAX_PODS
    assert a_job(pods=2**64).desired == MAX_PODS
    assert a_job(pods=2**64).pod_requests[0].count == MAX_PODS


def test_a_finding_about_many_jobs_is_stored_once() -> None:
    """Their evidence grew with the square: 5 MB for 200 paused Jobs in one PodGroup, 124 MB for 1,000."""
    jobset = a_jobset("run", a_role("workers", jobs=200))
    jobs = [
        a_job(f"run-workers-{index}", of=jobset, role_name="workers", group_name="g", parallelism=0)
        for index in range(200)
    ]
    observed = judged(jobset, [*jobs, a_group("g", quorum=2)])
    assert observed.row["code"] == "paused"
    assert observed.size <= 200 * 1024
    assert observed.verdict is not None
    assert observed.verdict.finding.evidence[-1].value == "150 more like these"


def test_units_do_not_look_at_all_pods_of_the_gang() -> None:
    """20 Jobs that wait are as much work beside a Job of 700 pods as alone."""
    refused = {"text": "0/1 nodes are available: 1 Insufficient cpu."}

    def gang(small: int, pods: int) -> int:
        jobset = a_jobset("run", a_role("workers", jobs=21))
        jobs = [
            a_job(f"run-workers-{index}", of=jobset, role_name="workers", pods=1)
            for index in range(small)
        ]
        waiting = [a_pod(f"{job.meta.ref.name}-0", of=job, **refused) for job in jobs]
        big = a_job("run-workers-20", of=jobset, role_name="workers", pods=pods)
        placed = [a_pod(f"run-workers-20-{index}", of=big, on="n0") for index in range(pods)]
        rest: list[Linked] = [*jobs, *waiting, *placed, *([big] if pods else [])]
        return lines_of(lambda: judged(jobset, rest), 10_000_000)[0]

    alone, big, both = gang(20, 0), gang(0, 700), gang(20, 700)
    assert both <= (alone + big) * 1.2
