"""Scenarios of other requests of a pod: init containers, sidecars, overhead, a total of its own.

The numbers follow from the nodes of a scenario (8 CPU and 32 GiB each by default).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.controlplane.client import Json
from tests.controlplane.objects import podgroup, priority_class
from tests.scenarios.making import (
    Objects,
    all_of,
    container,
    daemons,
    gang,
    holders,
    loose,
    lose_member,
    one_job,
)
from tests.scenarios.scenario import Played, Scenario, Stage, Step

SETUP = container("setup", "5")
PROXY = container("proxy", "4", restartPolicy="Always")
OVERHEAD = {"cpu": "1500m"}
"""Overhead of a sandbox per pod."""


def _unpacking(cpu: str) -> Objects:
    """Return three members of 2 CPU whose init container asks for so much."""
    members = gang(3, cpu="2", spec={"initContainers": [container("unpack", cpu)]})
    return all_of(holders([0, 1]), members)


def _proxied(*extra: Objects) -> Objects:
    """Return four members of 4 CPU: 3 and a sidecar of 1; their init container asks for less."""
    proxy = container("proxy", "1", restartPolicy="Always")
    spec = {"initContainers": [proxy, container("fetch", "2")]}
    return all_of(holders([0, 1], cpu="2"), *extra, gang(4, cpu="3", spec=spec))


def _as_a_whole(cpu: str) -> Objects:
    """Return two members whose container asks for 1 CPU and the pod as a whole for so much."""
    members = gang(2, spec={"resources": {"requests": {"cpu": cpu}}})
    return all_of(holders([0, 1, 2], cpu="5"), members)


def _prepared(*inits: Json) -> Objects:
    """Return a Job of 3 whose pods begin with these containers, and a pod of 4 CPU on the last node."""
    return all_of(holders([2], cpu="4"), one_job("run", 3, spec={"initContainers": list(inits)}))


def _with_init(cpu: str, **fields: str) -> Objects:
    """Return a Job of three pods of 2 CPU whose init container asks for so much."""
    spec = {
        "initContainers": [container("tunnel", cpu, **fields)],
        "containers": [container(cpu="2")],
    }
    return loose(3, spec=spec)


def _sandboxed(
    form: Callable[..., Objects], count: int, overhead: Mapping[str, str], **options: str
) -> Objects:
    """Return a Job `run` of this form (`gang`, `loose`) and the RuntimeClass that adds so much to its pods."""

    def make(ns: str, nodes: Mapping[str, str]) -> list[Json]:
        name = f"{ns}-sandbox"
        runtime = {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": name},
            "handler": "sandbox",
            "overhead": {"podFixed": overhead},
        }
        run = form(count, spec={"runtimeClassName": name}, **options)
        return [runtime, *run(ns, nodes)]

    return make


def _in_kata(overhead: str) -> Objects:
    """Return two members of 31Gi, in bytes, whose runtime adds so much memory."""
    members = _sandboxed(gang, 2, {"memory": overhead}, memory="33285996544")
    return all_of(holders([0], memory="1024Mi"), members)


def _sandboxed_136(count: int, **options: str) -> Objects:
    """Return a sandboxed Job of 1.36, where each indexed Job is a gang."""
    return _sandboxed(_indexed, count, OVERHEAD, cpu="2", **options)


def _indexed(count: int, **options: str) -> Objects:
    return one_job("run", count, **options)


def _urgent_crew(count: int, *, polite: bool) -> Objects:
    """Return a sandboxed Job with a hand-made group, both urgent; a polite class never preempts."""

    def make(ns: str, nodes: Mapping[str, str]) -> list[Json]:
        urgent = f"{ns}-urgent"
        rank = priority_class(urgent, 1000)
        if polite:
            rank["preemptionPolicy"] = "Never"
        crew = podgroup("crew", ns, version="v1alpha2", gang=count, priority_class=urgent)
        return [
            rank,
            crew,
            *_sandboxed_136(count, priority_class=urgent, pod_group="crew")(ns, nodes),
        ]

    return make


_SLOW_HOLDER = holders([0], cpu="3", linger="20m")


def _full_of_agents(count: int) -> Objects:
    """Return a Job of pods of 2.5 CPU in a sandbox, on nodes with holders of 4.5 CPU and agents of 1.5."""
    rest = all_of(holders([0, 1], cpu="4500m"), daemons(cpu="1500m"))
    return all_of(rest, _sandboxed(loose, count, OVERHEAD, cpu="2500m"))


def _delete_holders(stage: Stage) -> None:
    for name in ("holder-0", "holder-1"):
        stage.delete(name)


def _finish(stage: Stage) -> None:
    """Let the pod on the last node come to its end."""
    stage.script({"metadata": {"name": "holder-2"}}, complete_after="1s")


GANGS = (
    # A member counts as max(2, 4) = 4 CPU. 7 are free on each of 2 nodes: 14 for 12, but one member a node.
    # Empty nodes take two each.
    Scenario(
        "setup-scattered", "Job", "run", "fragmented", "waiting", _unpacking("4"),
        says=("CPU", "14"), nodes=2, twin="setup-large",
    ),
    # Now max(2, 5) = 5: an empty node of 8 takes one only, so 2 of 3 for ever, though 3 x 5 = 15 < 16.
    Scenario(
        "setup-large", "Job", "run", "exceeds-capacity", "blocked", _unpacking("5"),
        says=("CPU", "5"), nodes=2, twin="setup-scattered",
    ),
    # 31Gi + 1Gi of the runtime fill a node of 32Gi to the byte; a holder of 1Gi is on one of the two nodes.
    Scenario(
        "kata-held", "Job", "run", "insufficient-resources", "waiting", _in_kata("1Gi"),
        says=("memory",), nodes=2, twin="kata-large",
    ),
    # 31Gi + 2Gi of the runtime: 33Gi are on no node, even empty.
    Scenario(
        "kata-large", "Job", "run", "no-matching-node", "blocked", _in_kata("2Gi"),
        says=("memory",), nodes=2, twin="kata-held",
    ),
    # A member is max(3 + 1, 2 + 1) = 4 CPU: 16 in all, two nodes of 8 when empty. Holders of 2 each leave 12.
    Scenario(
        "sidecar-others-leave", "Job", "run", "insufficient-resources", "waiting", _proxied(),
        says=("CPU", "16", "12"), nodes=2, twin="sidecar-agents-stay",
    ),
    # A DaemonSet of 1 CPU more leaves 7 a node in any case, one member each, 2 of 4.
    Scenario(
        "sidecar-agents-stay", "Job", "run", "exceeds-capacity", "blocked", _proxied(daemons()),
        says=("CPU", "16"), nodes=2, twin="sidecar-others-leave",
    ),
    # The pod as a whole requests 4 CPU, independent of its container: 3 free on each of 3 nodes, 9 for 8.
    Scenario(
        "whole-scattered", "Job", "run", "fragmented", "waiting", _as_a_whole("4"),
        says=("CPU", "9"), nodes=3, twin="whole-short",
    ),
    # As a whole 5: 10 needed, 9 free; an empty node takes one.
    Scenario(
        "whole-short", "Job", "run", "insufficient-resources", "waiting", _as_a_whole("5"),
        says=("CPU", "10", "9"), nodes=3, twin="whole-scattered",
    ),
)  # fmt: skip

GANGS_136 = (
    # The template says 2 CPU, the RuntimeClass adds 1.5: 4 x 3.5 = 14. Free: 8 - 3 = 5 (one) and 8 (two):
    # 13 in all, 3 of 4 fit. Without the holder 4 fit. The class never preempts, so it waits for the holder.
    Scenario(
        "kata-polite", "Job", "run", "insufficient-resources", "waiting",
        all_of(_SLOW_HOLDER, _urgent_crew(4, polite=True)), ("CPU", "3 of 4"),
        {"desired": 4, "quorum": 4, "created": 4, "scheduled": 0},
        nodes=2, twin="kata-preempts",
    ),
    # The same with a class that preempts: only holder-0 is in the way, and it takes 20 minutes to go.
    # When it is gone node 0 has 8 again: 2 + 2 = 4 members.
    Scenario(
        "kata-preempts", "Job", "run", "preempting", "waiting",
        all_of(_SLOW_HOLDER, _urgent_crew(4, polite=False)), (),
        {"desired": 4, "created": 4, "scheduled": 0, "ready": 0},
        nodes=2, twin="kata-polite",
        steps=(Step(lambda stage: stage.delete("holder-0"), "running", "running", (),
                    {"scheduled": 4, "ready": 4}),),
    ),
    # 5 x 3.5 = 17.5 on 16: two a node, 4 of 5 even when both are empty. By the template it would be 10.
    Scenario(
        "kata-too-many", "Job", "run", "exceeds-capacity", "blocked",
        all_of(_SLOW_HOLDER, _sandboxed_136(5)), ("CPU", "4 of 5"),
        {"desired": 5, "quorum": 5, "created": 5, "scheduled": 0},
        nodes=2, twin="kata-polite",
    ),
    # A pod: max(setup 5, main 1 + proxy 4) = 5, one a node. Free: 8, 8, 4 = 20 for 15, and 2 of 3 fit.
    # When the holder of 4 has finished (not: is deleted) all 3 do.
    Scenario(
        "setup-then-proxy", "Job", "run", "fragmented", "waiting",
        _prepared(SETUP, PROXY), ("CPU", "2 of 3"), {"created": 3, "scheduled": 0},
        nodes=3, twin="proxy-then-setup",
        steps=(Step(_finish, "running", "running", (), {"scheduled": 3, "ready": 3}),),
    ),
    # The same containers the other way round: the proxy runs beside setup, 4 + 5 = 9 and no node has
    # more than 8, although main and proxy ask for 5.
    Scenario(
        "proxy-then-setup", "Job", "run", "no-matching-node", "blocked",
        _prepared(PROXY, SETUP), ("CPU", "9"), {"created": 3, "scheduled": 0},
        nodes=3, twin="setup-then-proxy",
    ),
)  # fmt: skip

LOOSE = (
    # A sidecar runs beside the main container: 2 + 3 = 5 CPU a pod, one on each node of 8. Counted
    # without it all three would have room.
    Scenario(
        "sidecar", "Job", "run", "partly-placed", "degraded",
        _with_init("3", restartPolicy="Always"), nodes=2,
        says=("2 of 3", "CPU"), members={"desired": 3, "scheduled": 2, "ready": 2},
        twin="init-giant",
    ),
    # An init container runs alone: max(10, 2) = 10 CPU, more than an empty node of 8 has. No pod has
    # to leave, no node is big enough.
    Scenario(
        "init-giant", "Job", "run", "no-matching-node", "blocked",
        _with_init("10"), nodes=2, says=("CPU", "10"),
        members={"desired": 3, "scheduled": 0}, twin="sidecar",
    ),
    # A member is 2.5 + 1.5 overhead = 4. Holders have 4.5 and an agent 1.5 of each 8: 2 free, none
    # fits. Without the holders 8 - 1.5 = 6.5: one a node, 2 of 4. (Forget overhead or agents: four.)
    Scenario(
        "overhead-agents-stay", "Job", "run", "exceeds-capacity", "blocked",
        _full_of_agents(4), nodes=2, says=("CPU",), members={"desired": 4, "scheduled": 0},
        twin="overhead-agents-fit",
    ),
    # The same with two members: they fit once the holders leave. Later one is lost; its node is
    # cordoned and the other has 8 - 1.5 - 4 = 2.5 free.
    Scenario(
        "overhead-agents-fit", "Job", "run", "insufficient-resources", "waiting",
        _full_of_agents(2), nodes=2, says=("CPU",), members={"desired": 2, "scheduled": 0},
        steps=(
            Step(_delete_holders, "running", "running", members={"ready": 2}),
            Step(lose_member, "lost-members", "degraded", ("1 of 2",), {"ready": 1}),
            Step(Stage.uncordon, "running", "running", members={"ready": 2}),
        ), twin="overhead-agents-stay",
    ),
)  # fmt: skip

PLAYED: Played = {"k137": GANGS, "k136": GANGS_136, "plain": LOOSE}
