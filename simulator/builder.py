"""Creation of a fleet's objects, as a real cluster would have them after this history."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from simulator import child_objects, job_status, kinds, manifests
from simulator.cluster_builder import make_cluster
from simulator.fleet_spec import Fleet, Gang, Role, parse_duration
from simulator.group_builder import GroupBuilder
from simulator.pod_status import PLACED, pod_status, scheduler_error
from simulator.resources import HOLDS, JOBS, JOBSETS, PODS, Resource
from simulator.world import World, key_of, typed
from simulator.writes import timestamp

Json = dict[str, Any]


class FleetError(ValueError):
    """A script claims a state that is impossible on its nodes."""


class Builder:
    """Builds one fleet in an empty world."""

    def __init__(
        self, world: World, fleet: Fleet, minor: str, *, hold: bool, identity: str = ""
    ) -> None:
        self.world = world
        self._fleet = fleet
        self._minor = minor
        self._hold = hold
        self._identity = identity
        self._now = world.clock.now()
        self.groups = GroupBuilder(world, self._now)
        """Creates the groups of its gangs."""
        self._texts: list[tuple[Gang, list[Json]]] = []

    def build(self) -> None:
        """Create all objects. Waiting gangs come last, when the free resources are known."""
        make_cluster(self.world, self._fleet, self._now, hold=self._hold, identity=self._identity)
        for gang in self._fleet.gangs_of(self._minor):
            if not self._hold and any(role.held for role in gang.roles):
                continue
            try:
                self._make_gang(gang)
            except FleetError as error:
                raise FleetError(f"{gang.key}: {error}") from error
        for gang, pods in self._texts:
            try:
                self.groups.explain(gang, pods)
            except ValueError as error:
                raise FleetError(f"{gang.key}: {error}") from error
            if not gang.error:
                # They wait for resources only, so the scheduler may place them when some become free.
                self.world.release_from_script(PODS, key_of(pods[0]))

    # Gangs

    def _make_gang(self, gang: Gang) -> None:
        of_kind = kinds.by_kind().get((gang.kind, gang.api))
        if of_kind is not None:
            pods = of_kind.make(self, gang)
        elif gang.kind == "JobSet":
            _, pods = self.make_jobset(gang)
        elif gang.kind == "Job":
            pods = self._make_standalone(gang)
        else:
            pods = self._make_bare(gang)
        waiting = [pod for pod in pods if not pod["spec"].get("nodeName")]
        for scripted in gang.events:
            about = waiting if scripted.on == "pods" else [self._owner(gang)]
            for obj in about:
                self._record_event(obj, gang, scripted)
        if any(pod["status"].get("message") == _LATER for pod in pods):
            self._texts.append((gang, pods))

    def _record_event(self, obj: Json, gang: Gang, scripted: Any) -> None:
        when = self._now - min(parse_duration("4m"), parse_duration(gang.age) / 2)
        self.world.recorder.record(
            obj,
            scripted.reason,
            scripted.note,
            source=scripted.source,
            warning=scripted.warning,
            at=when,
            count=scripted.count,
        )

    def _owner(self, gang: Gang) -> Json:
        groups = self.world.resource("podgroups")
        resource = {"JobSet": JOBSETS, "Job": JOBS, "Pod": PODS}.get(gang.kind, groups)
        assert resource is not None  # noqa: S101  # The minor serves the kinds of its gangs.
        owner = self.world.find(resource, (gang.namespace, gang.name))
        assert owner is not None  # noqa: S101  # It was just created.
        return owner

    def make_jobset(
        self,
        gang: Gang,
        *,
        owner: Json | None = None,
        manager: str = "kubectl-create",
        job_labels: Mapping[str, Mapping[str, str]] | None = None,
    ) -> tuple[Json, list[Json]]:
        """Create the JobSet of a gang with its Jobs and pods. Return the JobSet and the pods.

        `owner` created it on behalf of a person, as field manager `manager`. `job_labels` are labels for the
        Jobs of each role.
        """
        entries = [
            manifests.replicated_job(
                role.name,
                role.template,
                replicas=role.jobs,
                pods=role.pods,
                backoff_limit=role.backoff_limit,
                depends_on=role.depends_on,
            )
            for role in gang.roles
        ]
        jobset = manifests.jobset(
            gang.name,
            gang.namespace,
            entries,
            suspend=gang.suspended,
            max_restarts=gang.max_restarts,
            labels=gang.labels,
        )
        if owner is not None:
            jobset["metadata"]["ownerReferences"] = [manifests.owner_reference(owner)]
        jobset = self.create(JOBSETS, jobset, self.born(gang), manager=manager)
        if gang.restarts:
            jobset["status"] = {"restarts": gang.restarts}
        self.groups.before_jobset(gang, jobset)
        pods: list[Json] = []
        jobs: list[Json] = []
        child_jobs = child_objects.child_jobs(jobset)
        for role in gang.roles:
            mine = [job for entry, job in child_jobs if entry["name"] == role.name]
            for index, job in enumerate(mine if role.jobs_exist else []):
                job["metadata"]["labels"] |= (job_labels or {}).get(role.name, {})
                job, job_pods = self.make_job(gang, role, job, index)
                jobs.append(job)
                pods += job_pods
        return self._finish_jobset(gang, jobset, jobs), pods

    def _finish_jobset(self, gang: Gang, jobset: Json, jobs: list[Json]) -> Json:
        status: Json = {
            "replicatedJobsStatus": job_status.replicated_status(jobset, jobs),
            "restarts": gang.restarts,
        }
        if gang.restarts:
            status["restartsCountTowardsMax"] = gang.restarts
        conditions = self._jobset_conditions(gang, jobs)
        if conditions:
            status["conditions"] = conditions
        if gang.finish:
            status["terminalState"] = "Completed" if gang.code == "succeeded" else "Failed"
        return self.world.set_status(JOBSETS, jobset, status, "jobset")

    def _jobset_conditions(self, gang: Gang, jobs: list[Json]) -> list[Json]:
        when = timestamp(self.started_at(gang))
        failed = [job for job in jobs if job_status.has_condition(job, "Failed")]
        first = f"(first failed job: {(failed or jobs)[0]['metadata']['name']})" if jobs else ""
        rows = []
        if gang.suspended:
            rows.append(("Suspended", "True", "SuspendedJobs", "jobset is suspended"))
        if gang.restarting:
            text = f"applying RestartJobSet failure policy action {first}"
            rows.append(("RestartingJobSet", "True", "DefaultFailurePolicy", text))
        elif gang.restarts and not gang.finish:
            rows.append(("RestartingJobSet", "False", "JobsReady", "all jobs are ready"))
        elif gang.restarts:
            rows.append(("RestartingJobSet", "False", "JobSetFailed", "jobset failed"))
        texts = {
            "AllJobsCompleted": "jobset completed successfully",
            "ReachedMaxRestarts": f"jobset failed due to reaching max number of restarts {first}",
            "FailedJobs": f"jobset failed due to one or more job failures {first}",
        }
        if gang.finish:
            kind = "Completed" if gang.finish == "AllJobsCompleted" else "Failed"
            rows.append((kind, "True", gang.finish, texts[gang.finish]))
        # A JobSet ends when its Jobs end.
        ended = timestamp(self._ended(gang))
        last = {"Completed": ended, "Failed": ended}
        return [job_status.plain_condition(*row, last.get(row[0], when)) for row in rows]

    def _make_standalone(self, gang: Gang) -> list[Json]:
        role = gang.roles[0]
        newest = self.world.version is None or self.world.version == "v1beta1"
        spec = manifests.job_spec(
            role.template,
            role.pods,
            suspend=gang.suspended,
            backoff_limit=role.backoff_limit or 6,
            quorum=gang.quorum if newest else None,
            topology=gang.topology,
        )
        job = manifests.job(gang.name, gang.namespace, spec, labels=gang.labels)
        if gang.made_by is not None:
            creator = self._creator(gang, gang.made_by)
            job["metadata"]["ownerReferences"] = [manifests.owner_reference(creator)]
        _, pods = self.make_job(gang, role, job, 0)
        return pods

    def _creator(self, gang: Gang, made_by: Json) -> Json:
        """Return the owner that created a gang, such as a CronJob. The first of its gangs creates it."""
        served = self.world.store.resources()
        resource = next(candidate for candidate in served if candidate.kind == made_by["kind"])
        creator = self.world.find(resource, (gang.namespace, made_by["metadata"]["name"]))
        if creator is not None:
            return creator
        meta = {"namespace": gang.namespace, **made_by["metadata"]}
        born = self.born(gang) - timedelta(days=20)
        return self.create(resource, {"metadata": meta, "spec": dict(made_by["spec"])}, born)

    def make_job(self, gang: Gang, role: Role, job: Json, index: int) -> tuple[Json, list[Json]]:
        """Create the Job of a role with an index, and its pods. Return the Job and the pods."""
        if index in role.held:
            job["spec"]["suspend"] = True
            marks = job["metadata"].setdefault("annotations", {})
            marks["gangboard.dev/held-by"] = self._make_hold(gang, job)
        if "kept" in role.states:
            job["spec"]["podReplacementPolicy"] = "Failed"
        born = self.started_at(gang) if gang.restarts else self.born(gang) + timedelta(seconds=1)
        by_jobset = any(
            reference["kind"] == "JobSet"
            for reference in job["metadata"].get("ownerReferences", ())
        )
        job = self.create(JOBS, job, born, manager="jobset" if by_jobset else "kubectl-create")
        group = self.groups.of_job(gang, job, index, role)
        pods = []
        for number in range(role.pods):
            position = index * role.pods + number
            state = role.state(position)
            if state == "absent" or job["spec"].get("suspend"):
                continue
            pod = child_objects.pod_of(job, number, self.world.writer.suffix())
            if group:
                pod["spec"]["schedulingGroup"] = {"podGroupName": group}
            node = role.nodes[position] if position < len(role.nodes) else ""
            pods.append(self.make_pod(gang, pod, state, node))
        self.groups.settle(gang, job["metadata"]["namespace"], group, pods)
        return self._finish_job(gang, job, pods), pods

    def _make_hold(self, gang: Gang, job: Json) -> str:
        owner = job["metadata"]["ownerReferences"][0]
        name = str(job["metadata"]["name"])
        spec = {"jobName": name, "ownerUID": owner["uid"], "by": "ada@example.com"}
        spec["reason"] = "bad data shard, looking into it"
        meta = {"name": name, "namespace": gang.namespace, "ownerReferences": [dict(owner)]}
        self.create(
            HOLDS, {"metadata": meta, "spec": spec}, self.started_at(gang), manager="gangboard"
        )
        return name

    def _finish_job(self, gang: Gang, job: Json, pods: list[Json]) -> Json:
        started, now = timestamp(self.started_at(gang)), timestamp(self._ended(gang))
        if not pods and gang.code in ("pods-not-created", "group-creation-failed"):
            return job
        status = job_status.count_pods(pods)
        if gang.failed_pods:
            status["failed"] = gang.failed_pods
        if job["spec"].get("suspend"):
            status["conditions"] = [job_status.job_suspended(started)]
            return self.world.set_status(JOBS, job, status, "kube-controller-manager")
        status["startTime"] = started
        phases = {job_status.phase(pod) for pod in pods}
        if gang.finish and phases == {"Succeeded"}:
            status |= {"completionTime": now, "conditions": job_status.completed(now)}
        elif gang.finish and "Failed" in phases:
            status["conditions"] = job_status.job_failed(now)
        return self.world.set_status(JOBS, job, status, "kube-controller-manager")

    def _make_bare(self, gang: Gang) -> list[Json]:
        pods = []
        if gang.kind != "Pod":
            self.groups.by_hand(gang, gang.name)
        for role in gang.roles:
            for number in range(role.pods):
                name = gang.name if gang.kind == "Pod" else f"{gang.name}-{role.name}{number}"
                pod = manifests.bare_pod(name, gang.namespace, role.template)
                if gang.kind != "Pod":
                    pod["spec"]["schedulingGroup"] = {"podGroupName": gang.name}
                pods.append(self.make_pod(gang, pod, role.state(number), ""))
        if gang.kind != "Pod":
            self.groups.settle(gang, gang.namespace, gang.name, pods)
        return pods

    def make_pod(self, gang: Gang, pod: Json, state: str, node: str) -> Json:
        """Create a pod in a state of `pod_status.WORDS`, on a node if given (`""` takes the first that fits)."""
        since = timestamp(self._ended(gang) if gang.finish else self.started_at(gang))
        if state in PLACED:
            pod["spec"]["nodeName"] = self._node_for(pod, node)
        pod["metadata"]["uid"] = self.world.writer.new_uid()
        if state == "error":
            pod["status"] = scheduler_error(pod, since, gang.error)
        elif state == "unschedulable":
            pod["status"] = {"phase": "Pending", "qosClass": "Burstable", "message": _LATER}
        else:
            pod["status"] = pod_status(state, pod, since)
        if state == "kept":
            due = timestamp(self.started_at(gang) + timedelta(minutes=6))
            pod["metadata"] |= {"deletionTimestamp": due, "deletionGracePeriodSeconds": 30}
        created = self.create(PODS, pod, self.started_at(gang), manager="kube-controller-manager")
        if state in PLACED:
            meta, when = created["metadata"], self.started_at(gang)
            note = f"Successfully assigned {meta['namespace']}/{meta['name']} to {created['spec']['nodeName']}"
            self.world.recorder.record(
                created, "Scheduled", note, source="default-scheduler", at=when
            )
        return created

    def _node_for(self, pod: Json, node: str) -> str:
        if node:
            return node
        node_name, text, _ = self.world.free_resources().place(pod)
        if not node_name:
            raise FleetError(f"pod {pod['metadata']['name']} is said to have a node, but {text}")
        return node_name

    # Times

    def born(self, gang: Gang) -> datetime:
        """Return when the owner was created."""
        return self._now - parse_duration(gang.age)

    def started_at(self, gang: Gang) -> datetime:
        """Return when the pods entered their states."""
        if gang.started:
            return self._now - parse_duration(gang.started)
        return self.born(gang) + timedelta(seconds=3)

    def _ended(self, gang: Gang) -> datetime:
        return self.born(gang) + (self._now - self.born(gang)) * 0.8

    def create(
        self, resource: Resource, obj: Json, when: datetime, *, manager: str = "simulator"
    ) -> Json:
        """Create an object that no controller touches, and return it as the API serves it."""
        obj["metadata"]["creationTimestamp"] = timestamp(when)
        created = typed(resource, self.world.writer.create(resource, obj, manager=manager))
        self.world.scripted.add(created["metadata"]["uid"])
        return self.world.find(resource, key_of(created)) or created


_LATER = "to be explained when all others have their places"
