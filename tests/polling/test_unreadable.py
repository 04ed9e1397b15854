"""An unreadable object makes the gangs unknown that it may belong to, and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gangboard.decode.list_watch_decoder import DecodeProblem
from gangboard.decode.nodes import NODE
from gangboard.decode.pods import POD
from gangboard.domain.api_resource import WatchState
from gangboard.facts.cluster_view import Unobserved
from gangboard.polling.resource_watch import WatchedResource
from gangboard.polling.store_writer import PROBLEMS_SHOWN
from gangboard.polling.visibility import unreadable_by_namespace
from gangboard.store.models import Gang, ResourceState
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]


def _verdicts() -> dict[str, set[str]]:
    """Return namespace → codes of its gangs."""
    verdicts: dict[str, set[str]] = {}
    for namespace, code in Gang.objects.filter(gone_at=None).values_list("namespace", "code"):
        verdicts.setdefault(namespace, set()).add(code)
    return verdicts


def _spoil(pod: dict[str, Any]) -> None:
    pod["spec"]["priority"] = "very high"


def _mend(pod: dict[str, Any]) -> None:
    pod["spec"]["priority"] = 0


def test_gangs_in_the_namespace_of_an_unreadable_object_are_not_observed(watch: Watch) -> None:
    watching = watch()
    assert watching.once().ok
    watching.settle()
    before = _verdicts()
    meta = watching.simulator.objects.list("v1", "Pod")[0]["metadata"]
    name, namespace = meta["name"], meta["namespace"]
    watching.simulator.objects.update("v1", "Pod", name, _spoil, namespace)
    watching.settle()
    after = _verdicts()
    assert after.pop(namespace) == {"not-observed"}
    assert after
    assert "not-observed" not in set().union(*after.values())
    gang = Gang.objects.filter(namespace=namespace, gone_at=None).first()
    assert gang is not None
    assert gang.health == "unknown"
    assert f"Pod {namespace}/{name} cannot be read" in gang.message
    watching.simulator.objects.update("v1", "Pod", name, _mend, namespace)
    watching.settle()
    assert _verdicts().keys() == before.keys()
    assert "not-observed" not in _verdicts()[namespace]


def test_the_next_holder_loads_unreadable_objects(watch: Watch) -> None:
    watching = watch()
    meta = watching.simulator.objects.list("v1", "Pod")[0]["metadata"]
    name, namespace = meta["name"], meta["namespace"]
    watching.simulator.objects.update("v1", "Pod", name, _spoil, namespace)
    assert watching.once().ok
    assert _verdicts()[namespace] == {"not-observed"}
    watching.settle()
    assert _verdicts()[namespace] == {"not-observed"}


def test_unreadable_objects_above_the_limit_are_listed_again(watch: Watch) -> None:
    """The number of stored names is limited. The next holder has to find the others again."""
    watching = watch()
    assert watching.once().ok
    ResourceState.objects.filter(resource="pods").update(
        problems=[
            {"namespace": "a", "name": f"p{i}", "sentence": "It cannot be read.", "lost": True}
            for i in range(PROBLEMS_SHOWN)
        ],
        problems_count=PROBLEMS_SHOWN + 1,
    )
    listed = watching.state("pods").listed_at
    watching.settle()
    state = watching.state("pods")
    assert state.problems_count == 0
    assert listed is not None
    assert state.listed_at is not None
    assert state.listed_at > listed


def _pods(*names: tuple[str, str], lost: bool = True) -> WatchedResource:
    watched = WatchedResource(POD, version="v1", state=WatchState.OK)
    for namespace, name in names:
        sentence = f"Pod {namespace}/{name} cannot be read: no."
        watched.add_problem(DecodeProblem(namespace, name, "uid", sentence, lost))
    return watched


def test_unreadable_objects_are_grouped_by_namespace() -> None:
    unreadable = unreadable_by_namespace(
        {POD.key: _pods(("b", "y"), ("b", "x"), ("b", "z"), ("a", "q"))}
    )
    assert unreadable == {
        "a": (Unobserved("pods", "undecodable", "Pod a/q cannot be read: no."),),
        "b": (
            Unobserved(
                "pods",
                "undecodable",
                "Pod b/x cannot be read: no. The same is true of 2 more in namespace b.",
            ),
        ),
    }


def test_an_object_without_readable_namespace_may_belong_to_any_gang_and_is_not_named() -> None:
    """A viewer of one namespace must not learn a name of another."""
    unreadable = unreadable_by_namespace({POD.key: _pods(("", "secret-plan"))})
    assert unreadable == {
        "": (
            Unobserved(
                "pods",
                "undecodable",
                "1 of the pods cannot be read, not even its namespace: it may be of any gang.",
            ),
        ),
    }


def test_partly_read_or_unneeded_objects_hide_no_gang() -> None:
    nodes = WatchedResource(NODE, version="v1", state=WatchState.OK)
    nodes.add_problem(DecodeProblem("", "n1", "uid", "Node n1 cannot be read."))
    assert unreadable_by_namespace({POD.key: _pods(("a", "x"), lost=False), NODE.key: nodes}) == {}


def test_resources_that_are_no_longer_served_hide_no_gang() -> None:
    pods = _pods(("a", "x"))
    pods.set_state(WatchState.NOT_SERVED)
    assert unreadable_by_namespace({POD.key: pods}) == {}


def test_the_first_hundred_problems_are_named_and_all_are_counted() -> None:
    names = [("a", f"p{number}") for number in range(250)]
    watched = _pods(*names, ("b", "late"))
    assert len(watched.problems) == len(watched.unreadable_names) == 251
    assert sum(map(bool, watched.problems.values())) == 100
    # Whose gangs it may be about is known of each of them.
    (late,) = unreadable_by_namespace({POD.key: watched})["b"]
    assert late.sentence == "Pod b/late cannot be read."
    for name in names[:60]:
        watched.remove_problem(name)
    watched.add_problem(DecodeProblem("a", "new", "uid", "Pod a/new cannot be read: no.", True))
    assert watched.problems["a", "new"]
    assert sum(map(bool, watched.problems.values())) == 41
