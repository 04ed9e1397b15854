"""Queues by name: what an entry reaches, and what is above it, however people have wired that."""

from gangboard.domain.quota import QueueTree
from tests.domain_objects import a_queue, an_alias, shared_quota


def test_an_entry_names_the_alias_of_its_namespace_else_a_queue_of_the_cluster() -> None:
    alias, queue = an_alias("gpu", to="gpu"), a_queue("gpu")
    tree = QueueTree([alias, queue, shared_quota("all")])
    group = queue.meta.ref.group
    assert tree.find_entry_queue(group, "team-a", "gpu") is alias
    assert tree.find_entry_queue(group, "team-b", "gpu") is queue
    assert tree.find_entry_queue("another.example", "team-a", "gpu") is None
    assert tree.find_entry_queue(group, "team-a", "all") is None


def test_what_is_above_ends_where_nothing_is_there() -> None:
    alias, queue = an_alias("lq", to="gpu"), a_queue("gpu", cohort="nowhere")
    tree = QueueTree([alias, queue])
    assert tree.lineage(alias) == (alias, queue)
    assert not tree.is_circular(alias)
    assert tree.lineage(an_alias("lost", to="nothing")) == (an_alias("lost", to="nothing"),)


def test_a_circle_is_told_and_walked_once() -> None:
    a, b, c = (shared_quota(one, cohort=up) for one, up in (("a", "b"), ("b", "c"), ("c", "b")))
    queue = a_queue("gpu", cohort="a")
    tree = QueueTree([a, b, c, queue, shared_quota("self", cohort="self")])
    assert tree.lineage(queue) == (queue, a, b, c)
    assert tree.is_circular(queue)
    assert tree.is_circular(shared_quota("self", cohort="self"))
    assert tree.subtree(c.name) == {one.name for one in (a, b, c, queue)}


def test_who_takes_the_place_of_a_queue_has_its_links() -> None:
    tree = QueueTree([a_queue("gpu", cohort="old"), shared_quota("old"), shared_quota("new")])
    tree.put(a_queue("gpu", cohort="new"))
    assert tree.subtree(shared_quota("old").name) == {shared_quota("old").name}
    assert a_queue("gpu").name in tree.subtree(shared_quota("new").name)
    tree.remove(a_queue("gpu").name)
    assert tree.find_entry_queue("kueue.x-k8s.io", "any", "gpu") is None
