"""The scheduling groups of a fleet's gangs, and the scheduler's conditions on them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from simulator import child_objects, job_status, manifests
from simulator.fleet_spec import Gang, Role, parse_duration
from simulator.placement import Attempt, refused
from simulator.pod_status import pod_status
from simulator.resources import PODS, Resource
from simulator.scheduler import group_condition, initial_condition
from simulator.world import World, typed
from simulator.writes import timestamp

Json = dict[str, Any]


class GroupBuilder:
    """Creates PodGroups, Workloads and CompositePodGroups for the builder."""

    def __init__(self, world: World, now: datetime) -> None:
        self._world = world
        self._now = now

    @property
    def _groups(self) -> Resource:
        resource = self._world.resource("podgroups")
        assert resource is not None  # noqa: S101  # Called only where groups are served.
        return resource

    def by_hand(self, gang: Gang, name: str) -> None:
        """Create the PodGroup of a gang as a person does, if no controller creates it."""
        self._make(gang, name, gang.quorum)

    def before_jobset(self, gang: Gang, jobset: Json) -> None:
        """Create the groups that a person adds to a JobSet: one shared group, or a tree of groups."""
        if self._world.version is None:
            return
        owners = [manifests.owner_reference(jobset)]
        if any(role.quorum for role in gang.roles):
            self._make_tree(gang, owners)
        elif gang.quorum is not None:
            self._make(gang, gang.roles[0].template.group, gang.quorum, owners=owners)

    def of_job(self, gang: Gang, job: Json, index: int, role: Role) -> str:
        """Create the group of a Job if its controller would, and return the group name of its pods."""
        if role.quorum:
            return f"{gang.name}-{role.name}-{index}"
        brought = role.template.group
        if brought:
            if gang.kind == "Job" and gang.group != "missing":
                self.by_hand(gang, brought)
            return brought
        version = self._world.version
        if version is None or gang.group == "none" or not child_objects.wants_group(job, version):
            return ""
        workload, group = child_objects.group_of(job, version, self._world.writer.new_uid())
        workloads = self._world.resource("workloads")
        assert workloads is not None  # noqa: S101  # Served wherever groups are.
        self._create(gang, workloads, workload)
        return str(self._create(gang, self._groups, group)["metadata"]["name"])

    def settle(self, gang: Gang, namespace: str, name: str, pods: list[Json]) -> None:
        """Write the condition of a group for the pods that were created for it."""
        if not name or gang.group == "missing" or self._world.version is None:
            return
        group = self._world.find(self._groups, (namespace, name))
        if group is None:
            return
        when, version = timestamp(self._started_at(gang)), self._world.version
        if gang.group == "error":
            kind = initial_condition(version)
            text = gang.error
            condition = job_status.plain_condition(kind, "False", "SchedulerError", text, when)
        elif any(pod["spec"].get("nodeName") for pod in pods):
            condition = group_condition(version, Attempt(), when)
        else:
            return
        self._world.set_status(
            self._groups, group, {"conditions": [condition]}, "default-scheduler"
        )

    def explain(self, gang: Gang, pods: list[Json]) -> None:
        """Run the scheduler on pods whose script says that they do not fit. Raises `ValueError` if they do."""
        waiting = [pod for pod in pods if pod["status"].get("message")]
        by_group: dict[str, list[Json]] = {}
        for pod in waiting:
            name = pod["spec"].get("schedulingGroup", {}).get("podGroupName", "")
            by_group.setdefault(name, []).append(pod)
        for name, members in by_group.items():
            attempt = self._attempt(gang, name, members)
            if attempt.nodes:
                raise ValueError(f"there is room: {attempt.nodes}")
            for pod in members:
                self._refuse(gang, pod, attempt.texts[pod["metadata"]["name"]])

    def _attempt(self, gang: Gang, name: str, waiting: list[Json]) -> Attempt:
        free_resources = self._world.free_resources()
        names = [pod["metadata"]["name"] for pod in waiting]
        if not name:
            return (
                refused(names, gang.error, None, "")
                if gang.error
                else free_resources.place_alone(waiting)
            )
        group = self._world.find(self._groups, (gang.namespace, name))
        if group is None:
            raise ValueError(f"its group {name} is not there")
        placed = len(
            [
                pod
                for pod in self._world.members(gang.namespace, name)
                if pod["spec"].get("nodeName")
            ]
        )
        quorum = group["spec"]["schedulingPolicy"].get("gang", {}).get("minCount", 1)
        version = self._world.version or ""
        if gang.error:
            attempt = refused(names, gang.error, quorum, version)
        else:
            attempt = free_resources.place_group(
                waiting, quorum, version=version, topology=gang.topology, placed=placed
            )
        kind = initial_condition(version)
        if job_status.condition_of(group, kind) is None:
            condition = group_condition(version, attempt, timestamp(self._started_at(gang)))
            status = {"conditions": [condition]}
            self._world.set_status(self._groups, group, status, "default-scheduler")
        return attempt

    def _refuse(self, gang: Gang, pod: Json, text: str) -> None:
        when = self._started_at(gang)
        status = pod_status("unschedulable", pod, timestamp(when), text)
        pod = self._world.set_status(PODS, pod, status, "default-scheduler")
        self._world.recorder.record(
            pod,
            "FailedScheduling",
            text,
            source="default-scheduler",
            warning=True,
            at=when,
            count=7,
        )

    def _make(
        self,
        gang: Gang,
        name: str,
        quorum: int | None,
        *,
        owners: list[Json] | None = None,
        workload: tuple[str, str] | None = None,
        parent: str = "",
    ) -> Json:
        version = self._world.version or ""
        group = manifests.pod_group(
            name, gang.namespace, version, quorum=quorum, workload=workload, parent=parent
        )
        if owners:
            group["metadata"]["ownerReferences"] = owners
        if gang.group == "going":
            deleted_at = timestamp(self._now - timedelta(minutes=9))
            group["metadata"] |= {"deletionTimestamp": deleted_at, "deletionGracePeriodSeconds": 0}
        return self._create(gang, self._groups, group)

    def _make_tree(self, gang: Gang, owners: list[Json]) -> None:
        """Create a Workload, a CompositePodGroup, and one PodGroup for each Job below it."""
        templates = [
            {
                "name": role.name,
                "schedulingConstraints": None,
                "schedulingPolicy": manifests.policy(role.quorum),
            }
            for role in gang.roles
        ]
        number = sum(role.jobs for role in gang.roles)
        policy = {"gang": {"minGroupCount": number}}
        top = {"name": "all", "schedulingPolicy": policy, "podGroupTemplates": templates}
        meta = {"namespace": gang.namespace, "ownerReferences": owners}
        controller = {"apiGroup": "jobset.x-k8s.io", "kind": "JobSet", "name": gang.name}
        spec = {
            "controllerRef": controller,
            "compositePodGroupTemplates": [top],
            "podGroupTemplates": None,
        }
        workloads = self._world.resource("workloads")
        composites = self._world.resource("compositepodgroups")
        assert workloads is not None  # noqa: S101  # Such gangs exist on 1.37 only.
        assert composites is not None  # noqa: S101  # As above.
        self._create(gang, workloads, {"metadata": {"name": gang.name, **meta}, "spec": spec})
        reference = {"workloadName": gang.name, "templateName": "all"}
        composite = {
            "metadata": {"name": gang.name, **meta},
            "spec": {
                "disruptionMode": {"single": {}},
                "priority": 0,
                "schedulingPolicy": policy,
                "workloadRef": reference,
            },
            "status": {},
        }
        self._create(gang, composites, composite)
        for role in gang.roles:
            for index in range(role.jobs):
                self._make(
                    gang,
                    f"{gang.name}-{role.name}-{index}",
                    role.quorum,
                    owners=owners,
                    workload=(gang.name, role.name),
                    parent=gang.name,
                )

    def _started_at(self, gang: Gang) -> datetime:
        return self._now - parse_duration(gang.started or gang.age) + timedelta(seconds=3)

    def _create(self, gang: Gang, resource: Resource, obj: Json) -> Json:
        when = self._now - parse_duration(gang.age) + timedelta(seconds=1)
        obj["metadata"]["creationTimestamp"] = timestamp(when)
        manager = "kube-controller-manager"
        created = typed(resource, self._world.writer.create(resource, obj, manager=manager))
        self._world.scripted.add(created["metadata"]["uid"])
        return created
