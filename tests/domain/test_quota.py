"""The tree of queues: the queue of an entry, ancestors and descendants, even with wrong parents."""

from gangboard.domain.quota import QueueTree
from tests.domain_objects import a_queue, an_alias, shared_quota


def test_entry_names_an_alias_in_its_namespace_or_a_cluster_queue() -> None:
    alias, queue = an_alias("gpu", to="gpu"), a_queue("gpu")
    tree = QueueTree([alias, queue, shared_quota("all")])
    group = queue.meta.ref.group
    assert tree.find_entry_queue(group, "team-a", "gpu") is alias
    assert tree.find_entry_queue(group, "team-b", "gpu") is queue
    assert tree.find_entry_queue("another.example", "team-a", "gpu") is None
    assert tree.find_entry_queue(group, "team-a", "all") is None


def test_a_lineage_ends_at_a_missing_parent() -> None:
    alias, queue = an_alias("lq", to="gpu"), a_queue("gpu", cohort="nowhere")
    tree = QueueTree([alias, queue])
    assert tree.lineage(alias) == (alias, queue)
    assert not tree.is_circular(alias)
    assert tree.lineage(an_alias("lost", to="nothing")) == (an_alias("lost", to="nothing"),)


def test_a_cycle_ends_the_lineage() -> None:
    a, b, c = (shared_quota(item, cohort=up) for item, up in (("a", "b"), ("b", "c"), ("c", "b")))
    queue = a_queue("gpu", cohort="a")
    tree = QueueTree([a, b, c, queue, shared_quota("self", cohort="self")])
    assert tree.lineage(queue) == (queue, a, b, c)
    assert tree.is_circular(queue)
    assert tree.is_circular(shared_quota("self", cohort="self"))
    assert tree.subtree(c.name) == {item.name for item in (a, b, c, queue)}


def test_replaced_queue_moves_to_its_new_parent() -> None:
    tree = QueueTree([a_queue("gpu", cohort="old"), shared_quota("old"), shared_quota("new")])
    tree.put(a_queue("gpu", cohort="new"))
    assert tree.subtree(shared_quota("old").name) == {shared_quota("old").name}
    assert a_queue("gpu").name in tree.subtree(shared_quota("new").name)
    tree.remove(a_queue("gpu").name)
    assert tree.find_entry_queue("kueue.x-k8s.io", "any", "gpu") is None
