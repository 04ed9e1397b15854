"""A large cluster generated in memory, which `benchmark_placement` assesses. The same seed gives the same cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random

from gangboard.domain.group import Group, Policy
from gangboard.domain.node import Node
from gangboard.domain.objects import Condition, Controller, Meta, ObjectRef
from gangboard.domain.owner import Owner, PodRequests, Role
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import HOSTNAME, PodConstraints, Taint, Toleration

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ZONE, RACK, POOL = "topology.kubernetes.io/zone", "example.com/rack", "example.com/pool"
_READY = Condition("Ready", "True")
_BOUND = Condition("PodScheduled", "True")
_WAITS = Condition(
    "PodScheduled", "False", "Unschedulable", "0/5000 nodes are available: 5000 Insufficient cpu."
)
_GI = 2**30
_NODES_OF_A_RACK = 40


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one kind."""

    name: str
    device: str
    """Empty for none."""
    devices: int
    cores: int
    memory: int
    """In GiB."""
    taint: Taint | None


@dataclass(frozen=True, slots=True)
class Gang:
    """A gang whose members wait for nodes."""

    root: Owner
    objects: tuple[Owner | Group | Pod, ...]


@dataclass(slots=True)
class Fleet:
    """The whole generated cluster."""

    nodes: list[Node] = field(default_factory=list)
    owners: list[Owner] = field(default_factory=list)
    """Owners of the running pods."""
    pods: list[Pod] = field(default_factory=list)
    """Running pods."""
    pending: list[Gang] = field(default_factory=list)


def make_fleet(*, nodes: int, pods: int, gangs: int, shapes: int, seed: int) -> Fleet:
    """Return nodes of 24 kinds, running pods, and waiting gangs of so many shapes.

    A third of the gangs has a quorum, a third has two roles, and a third is placed pod by pod.
    """
    random = Random(seed)  # noqa: S311 - nothing secret
    pools = _pools()
    fleet = Fleet()
    kinds = [pools[number % len(pools)] for number in range(nodes)]
    fleet.nodes = [_node(number, pool) for number, pool in enumerate(kinds)]
    _fill(fleet, kinds, pods, random)
    templates = [_template(number, random.choice(pools), random) for number in range(shapes)]
    fleet.pending = [_gang(number, templates, random) for number in range(gangs)]
    return fleet


def _pools() -> list[Pool]:
    devices = ("", "nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi")
    sizes = ((2, 32, 128), (4, 64, 512), (8, 192, 2048))
    return [
        Pool(
            f"{(device or 'cores').split('.')[0]}-{cores}{'-kept' if is_tainted else ''}",
            device,
            count if device else 0,
            cores,
            memory,
            Taint("example.com/kept", "NoSchedule", "yes") if is_tainted else None,
        )
        for device in devices
        for count, cores, memory in sizes
        for is_tainted in (False, True)
    ]


def _meta(group: str, kind: str, name: str, controller: Controller | None = None) -> Meta:
    ref = ObjectRef(group, kind, "" if kind == "Node" else "team", name, f"uid-{kind}-{name}")
    owners = (controller.uid,) if controller else ()
    return Meta("v1", ref, "1", 1, NOW - timedelta(minutes=30), None, controller, owners)


def _node(number: int, pool: Pool) -> Node:
    name = f"node-{number:05}"
    allocatable = {"cpu": pool.cores * 1000, "memory": pool.memory * _GI, "pods": 110}
    if pool.device:
        allocatable[pool.device] = pool.devices
    rack = number // _NODES_OF_A_RACK
    labels = {HOSTNAME: name, POOL: pool.name, RACK: f"rack-{rack}", ZONE: f"zone-{rack % 3}"}
    taints = (pool.taint,) if pool.taint else ()
    return Node(
        _meta("", "Node", name), _READY, labels=labels, taints=taints, allocatable=allocatable
    )


def _controller(owner: Owner) -> Controller:
    ref = owner.meta.ref
    return Controller(ref.group, ref.kind, ref.name, ref.uid)


def _pod(
    name: str, by: Controller, requests: dict[str, Decimal], node: str, needs: PodConstraints
) -> Pod:
    return Pod(
        _meta("", "Pod", name, by),
        "Running" if node else "Pending",
        node=node,
        scheduler_name="default-scheduler",
        priority=0,
        scheduled=_BOUND if node else _WAITS,
        ready=_READY if node else None,
        requests=requests,
        needs=needs,
        start_time=NOW if node else None,
        stays=by.kind == "DaemonSet",
    )


# Running pods


def _fill(fleet: Fleet, kinds: list[Pool], pods: int, random: Random) -> None:
    """Put one pod of a DaemonSet on each node, and members of running Jobs on most."""
    agents = Controller("apps", "DaemonSet", "agent", "uid-DaemonSet-agent")
    agent = {"cpu": Decimal("0.25"), "memory": Decimal(_GI)}
    fleet.pods = [
        _pod(f"agent-{number}", agents, agent, node.meta.ref.name, PodConstraints())
        for number, node in enumerate(fleet.nodes)
    ]
    remaining = max(0, pods - len(fleet.pods))
    jobs: dict[str, tuple[Owner, Iterator[int]]] = {}
    for number, (node, pool) in enumerate(zip(fleet.nodes, kinds, strict=True)):
        mean = remaining // (len(kinds) - number)
        count = mean if number == len(kinds) - 1 else random.randint(0, 2 * mean)
        count = min(count, remaining)
        remaining -= count
        # Whatever their number, together they leave between none and half of the node free.
        share = Decimal(random.randint(50, 99)) / 100 / max(1, count)
        requests = {
            "cpu": (share * pool.cores).quantize(Decimal("0.001")),
            "memory": Decimal(int(share * pool.memory) * _GI),
        }
        devices = random.randint(0, pool.devices)
        for place in range(count):
            job, places = jobs.get(pool.name, (None, iter(())))
            index = next(places, None)
            if job is None or index is None:
                size = random.choice((8, 16, 32))
                job = _job(f"runs-{len(fleet.owners)}", size, requests)
                fleet.owners.append(job)
                places = iter(range(size))
                jobs[pool.name], index = (job, places), next(places)
            pod_requests = {**requests, **({pool.device: Decimal(1)} if place < devices else {})}
            name = f"{job.meta.ref.name}-{index}"
            fleet.pods.append(
                _pod(name, _controller(job), pod_requests, node.meta.ref.name, PodConstraints())
            )


def _job(name: str, size: int, requests: dict[str, Decimal], owner: Owner | None = None) -> Owner:
    return Owner(
        _meta("batch", "Job", name, _controller(owner) if owner is not None else None),
        desired=size,
        pod_requests=(PodRequests(size, requests),),
        completions=size,
        parallelism=size,
        indexed=True,
        active_pods=size,
        max_retries=6,
        role_name=name.rpartition("-")[2] if owner is not None else "",
        attempt="0" if owner is not None else "",
    )


# Waiting pods


@dataclass(frozen=True, slots=True)
class _Template:
    requests: dict[str, Decimal]
    needs: PodConstraints


def _template(number: int, pool: Pool, random: Random) -> _Template:
    requests = {
        "cpu": Decimal(random.randint(1, pool.cores - 1)) + Decimal(number % 200) / 1000,
        "memory": Decimal(random.randint(1, pool.memory // 2) * _GI),
    }
    if pool.device:
        requests[pool.device] = Decimal(random.randint(1, pool.devices))
    tolerations = (Toleration("example.com/kept", "Exists"),) if random.random() < 0.7 else ()
    selector = ((POOL, pool.name),) if random.random() < 0.4 else ()
    return _Template(requests, PodConstraints(node_selector=selector, tolerations=tolerations))


def _gang(number: int, templates: list[_Template], random: Random) -> Gang:
    size = random.choice((2, 4, 8, 12, 16, 24, 32, 64))
    # Each template is the first one of some gang.
    first = templates[number % len(templates)]
    if number % 3 == 2:
        return _mixed(f"waits-{number}", size, first, random.choice(templates))
    name = f"waits-{number}"
    job = _job(name, size, first.requests)
    pods = _members(job, size, first)
    if number % 3 == 1:
        return Gang(job, pods)
    group = Group(
        _meta("scheduling.k8s.io", "PodGroup", name, _controller(job)),
        Policy.GANG,
        quorum=random.randint(1, size),
        topology_keys=(random.choice((ZONE, RACK)),) if random.random() < 0.15 else (),
    )
    grouped = tuple(_in_group(pod, name) for pod in pods)
    return Gang(job, (group, *grouped))


def _members(job: Owner, size: int, template: _Template) -> tuple[Pod, ...]:
    return tuple(
        _pod(
            f"{job.meta.ref.name}-{place}",
            _controller(job),
            template.requests,
            "",
            template.needs,
        )
        for place in range(size)
    )


def _in_group(pod: Pod, name: str) -> Pod:
    return Pod(
        pod.meta,
        pod.phase,
        scheduler_name=pod.scheduler_name,
        priority=pod.priority,
        group_name=name,
        scheduled=pod.scheduled,
        requests=pod.requests,
        needs=pod.needs,
    )


def _mixed(name: str, size: int, driver: _Template, worker: _Template) -> Gang:
    """Return a JobSet of one driver and its workers, all in one group."""
    roles = (
        Role("driver", 1, 1, driver.requests, child_names=(f"{name}-driver",)),
        Role("workers", 1, size, worker.requests, child_names=(f"{name}-workers",)),
    )
    root = Owner(
        _meta("jobset.x-k8s.io", "JobSet", name),
        desired=1 + size,
        roles=roles,
        pod_requests=tuple(PodRequests(role.pods, role.requests) for role in roles),
    )
    group = Group(
        _meta("scheduling.k8s.io", "PodGroup", name, _controller(root)),
        Policy.GANG,
        quorum=1 + size,
    )
    objects: list[Owner | Group | Pod] = [group]
    for role, template in zip(roles, (driver, worker), strict=True):
        job = _job(role.child_names[0], role.pods, role.requests, root)
        objects.append(job)
        objects += [_in_group(pod, name) for pod in _members(job, role.pods, template)]
    return Gang(root, tuple(objects))
