"""The order in which objects come and go must not matter, and every gang that changes is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.group import Group
from gangboard.domain.hold import Hold
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueEntry
from tests.domain_objects import (
    NAMESPACE,
    a_composite,
    a_group,
    a_hold,
    a_job,
    a_pod,
    a_workload,
    ago,
    an_entry,
)

Model = Owner | Pod | Group | Hold | QueueEntry

OWNERS, PODS = ["o0", "o1", "o2", "o3", "o4", "o5"], ["p0", "p1", "p2", "p3"]
GROUPS, COMPOSITES, WORKLOADS = ["g0", "g1", "g2"], ["c0", "c1", "c2"], ["w0", "w1"]
# Groups of 1.35: entries of Workloads, of which w0 can be two objects.
ENTRIES = ["w0/a", "w0/b", "w0/b/0", "w0/b/1", "w1/a"]
ATTACHED = ["h0", "h1", "q0", "q1"]
ALL = [*OWNERS, *PODS, *GROUPS, *COMPOSITES, *WORKLOADS, *ATTACHED]

owner_uid = st.none() | st.sampled_from([*OWNERS, "unknown"])
MIDDLE = "o3"
"""A kind that only stands between an owner and its pods."""
OF_OCCUPANTS = {"o4": ("StatefulSet", "db"), "o5": ("Deployment", "web")}
"""Owners that are gangs only while a group keeps their pods together: uid → kind and name."""
# Groups can be owned by groups, also in a ring.
group_owner = owner_uid | st.sampled_from([*GROUPS, *COMPOSITES, *WORKLOADS])


def _controller(uid: str | None) -> Controller | None:
    return Controller("batch", "Job", f"name-{uid}", uid) if uid else None


def _references(draw: Any, of: Controller | None) -> dict[str, Any]:
    """Words of the metadata: the controller, further owners, and a namespace in which some of them are."""
    rest = draw(st.sampled_from([(), (), (), ("o0",), ("o2", "o1"), ("unknown", "o3")]))
    return {
        "of": of,
        "owner_uids": (*((of.uid,) if of else ()), *rest),
        "namespace": draw(st.sampled_from([NAMESPACE] * 5 + ["team-b"])),
    }


@st.composite
def owners(draw: Any) -> Model:
    uid = draw(st.sampled_from(OWNERS))
    objects = a_job(
        draw(st.sampled_from(["n0", "n1"])),
        uid=uid,
        **_references(draw, _controller(draw(owner_uid))),
        group_name=draw(st.sampled_from(["", "", *GROUPS, *ENTRIES])),
        created_at=ago(draw(st.integers(0, 2))),
    )
    ref = objects.meta.ref
    if uid in OF_OCCUPANTS:
        kind, name = OF_OCCUPANTS[uid]
        ref = replace(ref, group="apps", kind=kind, name=name)
    elif uid == MIDDLE:
        ref = replace(ref, group="grove.io", kind="PodClique")
    return replace(objects, meta=replace(objects.meta, ref=ref))


@st.composite
def pods(draw: Any) -> Model:
    uid = draw(st.sampled_from(PODS))
    other = st.sampled_from(
        [
            Controller("apps", "DaemonSet", "agent", "ds"),
            Controller("", "Node", "n0", "node"),
            Controller("apps", "ReplicaSet", "web-5d9f", "rs"),
            Controller("apps", "ReplicaSet", "web-5d9f", "rs"),
            Controller("apps", "StatefulSet", "db", "o4"),
            Controller("apps", "StatefulSet", "db", "o4"),
        ]
    )
    return a_pod(
        uid,
        uid=uid,
        **_references(draw, draw(owner_uid.map(_controller) | other)),
        group=draw(st.sampled_from(["", *GROUPS, *ENTRIES])),
        labels=draw(st.sampled_from([{}, {"pod-template-hash": "5d9f"}])),
        on=draw(st.sampled_from(["", "n0", "n1"])),
    )


@st.composite
def groups(draw: Any) -> Model:
    uid = draw(st.sampled_from([*GROUPS, *COMPOSITES]))
    builder = a_group if uid in GROUPS else a_composite
    return builder(
        # Two objects of one name: the deletion of the older has not been seen yet.
        draw(st.sampled_from([uid, uid, uid[0] + "0"])),
        uid=uid,
        quorum=draw(st.sampled_from([None, 2])),
        created_at=ago(draw(st.integers(0, 2))),
        **_references(draw, _controller(draw(group_owner))),
        parent_name=draw(st.sampled_from(["", *COMPOSITES])),
        workload_name=draw(st.sampled_from(["", *WORKLOADS])),
    )


@st.composite
def workloads(draw: Any) -> Model:
    uid = draw(st.sampled_from(WORKLOADS))
    ref = st.sampled_from([("batch", "Job", "n0"), ("batch", "Job", "n1"), ("x.io", "Y", "y")])
    return a_workload(
        draw(st.sampled_from([uid, "w0"])),
        uid=uid,
        # Either of two objects of one name can be the newer, before and after an upgrade.
        version=draw(st.sampled_from(["v1alpha1", "v1beta1"])),
        created_at=ago(draw(st.integers(0, 2))),
        **_references(draw, _controller(draw(group_owner))),
        controller_ref=draw(st.none() | ref),
    )


@st.composite
def attachments(draw: Any) -> Model:
    uid = draw(st.sampled_from(ATTACHED))
    # Users who may create a Hold can write any uid into it, including its own and a group's.
    about = draw(st.sampled_from(["", "unknown", *ALL]))
    of = a_job("n0", uid="elsewhere")
    if uid[0] == "h":
        text = _references(draw, _controller(draw(owner_uid)))
        return a_hold(of, name=uid, uid=uid, owner_uid=about, **text)
    nodes = _references(draw, None)["namespace"]
    return an_entry(of, uid, uid=uid, owner_uid=about, namespace=nodes)


steps = st.lists(
    owners() | pods() | groups() | workloads() | attachments() | st.sampled_from(ALL),
    min_size=1,
    max_size=25,
)


def _short(step: Model | str) -> str:
    if isinstance(step, str):
        return f"remove {step}"
    meta = step.meta
    reported = [f"{meta.ref.uid}={meta.ref.kind}/{meta.ref.name}"]
    reported += [f"under {meta.controller.kind} {meta.controller.uid}"] if meta.controller else []
    reported += [f"owners {meta.owner_uids} in {meta.ref.namespace}"]
    text = "group_name parent_name workload_name controller_ref node owner_uid"
    for word in text.split():
        if getattr(step, word, None):
            reported.append(f"{word}={getattr(step, word)}")
    return " ".join([*reported, f"{meta.created_at:%M:%S}"])


Picture = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]


def _picture(graph: OwnershipGraph) -> Picture:
    """All gangs: root → its members and the foreign pods of its groups."""
    return {root: (graph.members(root), graph.foreign_pods(root)) for root in graph.roots()}


@given(steps)
def test_any_order_of_events_equals_a_full_build(taken: Sequence[Model | str]) -> None:
    graph, existing = OwnershipGraph(), dict[str, Model]()
    for step in taken:
        before = _picture(graph)
        if isinstance(step, str):
            touched = graph.remove(step)
            existing.pop(step, None)
        else:
            touched = graph.put(step)
            existing[step.meta.ref.uid] = step
            assert graph.gangs_of(step.meta.ref.uid) <= touched
        after = _picture(graph)
        moved = {
            root for root in before.keys() | after.keys() if before.get(root) != after.get(root)
        }
        assert moved <= touched, (
            f"{moved - touched} {[_short(m) for m in taken[: taken.index(step) + 1]]}"
        )

    scratch = OwnershipGraph()
    for uid in sorted(existing, reverse=True):
        scratch.load(existing[uid])
    assert _picture(graph) == _picture(scratch)
    assert {uid: graph.root_of(uid) for uid in ALL} == {uid: scratch.root_of(uid) for uid in ALL}


@given(steps)
def test_every_object_is_in_the_gang_of_its_root(taken: Sequence[Model | str]) -> None:
    graph, existing = OwnershipGraph(), dict[str, Model]()
    for step in taken:
        if not isinstance(step, str):
            graph.put(step)
            existing[step.meta.ref.uid] = step
    picture = _picture(graph)
    for root, (members, _strangers) in picture.items():
        assert graph.root_of(root) == root
        assert root in members
    for uid in existing:
        shown_in = {root for root, (members, _) in picture.items() if uid in members}
        assert shown_in == graph.gangs_of(uid)
        assert uid not in picture or uid not in ATTACHED
        home = graph.root_of(uid)
        assert (home is None and not shown_in) or home in shown_in
        if not isinstance(existing[uid], Group):
            assert len(shown_in) <= 1
