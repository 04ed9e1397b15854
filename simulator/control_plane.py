"""A simulated control plane without its transport: store, API, controllers and a clock."""

from __future__ import annotations

from simulator import kinds
from simulator import resources as served_resources
from simulator.api import API
from simulator.builder import Builder
from simulator.captured import captured_objects, resources_of
from simulator.clock import Clock
from simulator.faults import Faults
from simulator.fleet_spec import Fleet
from simulator.hold import HoldPolicy
from simulator.job_controller import JobController
from simulator.jobset_controller import JobSetController
from simulator.kubelet import Collector, Kubelet
from simulator.kueue import KueueController
from simulator.node_controller import NodeController
from simulator.objects import Objects
from simulator.resources import Resource
from simulator.scheduler import Scheduler
from simulator.store import Store
from simulator.world import World
from simulator.writes import Writer


class SimulatedControlPlane:
    """One control plane in this process. `api.answer` handles requests, and `clock` is its time.

    With a `SteppedClock` it changes only within the calls of a test, and the same seed repeats all changes.
    """

    def __init__(
        self,
        fleet: Fleet,
        minor: str,
        clock: Clock,
        *,
        hold: bool = True,
        independent: bool = False,
        seed: int = 1,
        history: int = 20_000,
        bookmark_seconds: float = 10.0,
        extra: tuple[Resource, ...] = (),
        identity: str = "",
    ) -> None:
        """`hold` installs the Hold. `independent` makes the JobSet controller honour that mode.

        `identity` is the uid of its namespace `kube-system`, by default derived from the seed.
        """
        self.clock = clock
        self.faults = Faults()
        captures = captured_objects() if fleet.has_captures else ()
        of_kinds = tuple(resource for resource in kinds.served_for(fleet) if resource not in extra)
        kueue = served_resources.KUEUE_RESOURCES if fleet.queues else ()
        served = served_resources.served(minor, hold=hold, extra=(*of_kinds, *kueue, *extra))
        known = {(resource.group, resource.kind) for resource in served}
        served += tuple(
            resource
            for resource in resources_of(captures)
            if (resource.group, resource.kind) not in known
        )
        self.store = Store(served, history=history)
        self.writer = Writer(self.store, seed=seed, now=clock.now)
        if hold:
            self.writer.admission = HoldPolicy(self.store)
        version = served_resources.gang_version(minor)
        self.world = World(self.store, self.writer, clock, version=version)
        Builder(self.world, fleet, minor, hold=hold, identity=identity).build()
        self.queueing = KueueController(self.world, fleet)
        if fleet.queues:
            self.queueing.build()
        self.kubelet = Kubelet(self.world)
        self.scheduler = Scheduler(self.world, self.kubelet)
        self._attach_controllers(independent)
        self.api = API(
            store=self.store,
            writer=self.writer,
            resources=served,
            minor=minor,
            faults=self.faults,
            bookmark_seconds=bookmark_seconds,
        )
        self.api.on_write = self._release_from_script
        self.objects = Objects(self.store, self.writer, self.world)
        for captured in captures:
            self.objects.put(captured)

    def _attach_controllers(self, independent: bool) -> None:
        jobs = JobController(self.world, self.kubelet)
        jobsets = JobSetController(self.world, independent=independent)
        self.scheduler.adopt_waiting_pods()
        collector = Collector(self.world, self.kubelet)
        nodes = NodeController(self.world)
        controllers = (self.kubelet, jobs, jobsets, self.queueing, nodes, self.scheduler, collector)
        for controller in controllers:
            self.world.watch(controller.reconcile)
        for kind in kinds.by_kind().values():
            if hasattr(kind, "controller") and kind.RESOURCES[0] in self.store.resources():
                self.world.watch(kind.controller(self.world, self.kubelet).reconcile)

    def _release_from_script(self, resource: Resource, key: tuple[str, str]) -> None:
        """Hand a scripted gang to the controllers when a client writes to it."""
        self.world.release_from_script(resource, key)
        self.scheduler.retry_waiting_pods()
