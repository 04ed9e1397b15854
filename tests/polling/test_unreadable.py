"""An object that cannot be read makes unknown what it may belong to, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gangboard.decode.list_watch_decoder import DecodeProblem
from gangboard.decode.nodes import NODE
from gangboard.decode.pods import POD
from gangboard.domain.api_resource import WatchState
from gangboard.facts.cluster_view import Unobserved
from gangboard.polling.resource_watch import Watched
from gangboard.polling.store_writer import PROBLEMS_SHOWN
from gangboard.polling.visibility import unreadable
from gangboard.store.models import Gang, ResourceState
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]


def _verdicts() -> dict[str, set[str]]:
    """Return namespace → codes of its gangs."""
    found: dict[str, set[str]] = {}
    for namespace, code in Gang.objects.filter(gone_at=None).values_list("namespace", "code"):
        found.setdefault(namespace, set()).add(code)
    return found


def _spoil(pod: dict[str, Any]) -> None:
    pod["spec"]["priority"] = "very high"


def _mend(pod: dict[str, Any]) -> None:
    pod["spec"]["priority"] = 0


def test_the_gangs_of_its_namespace_are_not_observed_until_it_can_be_read(watch: Watch) -> None:
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


def test_the_next_holder_of_the_cluster_knows_it_too(watch: Watch) -> None:
    watching = watch()
    meta = watching.simulator.objects.list("v1", "Pod")[0]["metadata"]
    name, namespace = meta["name"], meta["namespace"]
    watching.simulator.objects.update("v1", "Pod", name, _spoil, namespace)
    assert watching.once().ok
    assert _verdicts()[namespace] == {"not-observed"}
    watching.settle()
    assert _verdicts()[namespace] == {"not-observed"}


def test_what_was_too_much_to_keep_is_read_again(watch: Watch) -> None:
    """Only so many are kept by name; which others cannot be read the next holder finds out."""
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


def _pods(*names: tuple[str, str], lost: bool = True) -> Watched:
    watched = Watched(POD, version="v1", state=WatchState.OK)
    for namespace, name in names:
        sentence = f"Pod {namespace}/{name} cannot be read: no."
        watched.take_problem(DecodeProblem(namespace, name, "uid", sentence, lost))
    return watched


def test_what_cannot_be_read_by_namespace() -> None:
    found = unreadable({POD.key: _pods(("b", "y"), ("b", "x"), ("b", "z"), ("a", "q"))})
    assert found == {
        "a": (Unobserved("pods", "undecodable", "Pod a/q cannot be read: no."),),
        "b": (
            Unobserved(
                "pods",
                "undecodable",
                "Pod b/x cannot be read: no. The same is true of 2 more in namespace b.",
            ),
        ),
    }


def test_what_has_no_readable_namespace_may_belong_to_any_gang_and_is_not_named() -> None:
    """Who may see a gang of one namespace must not learn a name of another."""
    found = unreadable({POD.key: _pods(("", "secret-plan"))})
    assert found == {
        "": (
            Unobserved(
                "pods",
                "undecodable",
                "1 of the pods cannot be read, not even its namespace: it may be of any gang.",
            ),
        ),
    }


def test_what_is_read_in_part_or_not_needed_hides_nothing() -> None:
    nodes = Watched(NODE, version="v1", state=WatchState.OK)
    nodes.take_problem(DecodeProblem("", "n1", "uid", "Node n1 cannot be read."))
    assert unreadable({POD.key: _pods(("a", "x"), lost=False), NODE.key: nodes}) == {}


def test_what_is_not_served_any_more_hides_nothing() -> None:
    pods = _pods(("a", "x"))
    pods.show(WatchState.NOT_SERVED)
    assert unreadable({POD.key: pods}) == {}


def test_of_many_problems_the_first_hundred_are_told_and_all_are_counted() -> None:
    names = [("a", f"p{number}") for number in range(250)]
    watched = _pods(*names, ("b", "late"))
    assert len(watched.problems) == len(watched.lost) == 251
    assert sum(map(bool, watched.problems.values())) == 100
    # Whose gangs it may be about is known of each of them.
    (late,) = unreadable({POD.key: watched})["b"]
    assert late.sentence == "Pod b/late cannot be read."
    for name in names[:60]:
        watched.drop_problem(name)
    watched.take_problem(DecodeProblem("a", "new", "uid", "Pod a/new cannot be read: no.", True))
    assert watched.problems["a", "new"]
    assert sum(map(bool, watched.problems.values())) == 41
