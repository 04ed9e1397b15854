"""Verdicts that can change by waiting: each gang is assessed in time, and memory stays small."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from gangboard.polling.assessment_index import Rechecks

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def later(seconds: int) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_a_thousand_equal_assessments_make_one_recheck() -> None:
    rechecks = Rechecks()
    for _ in range(1000):
        rechecks.schedule("a", later(3600))
    assert len(rechecks) == 1
    assert rechecks.take(later(3599)) == set()
    assert rechecks.take(later(3600)) == {"a"}
    assert rechecks.take(later(7200)) == set()


def test_times_that_move_with_each_assessment_make_one_recheck() -> None:
    rechecks = Rechecks()
    for second in range(1000):
        rechecks.schedule("a", later(3600 + second))
    assert len(rechecks) == 1
    assert rechecks.take(later(3600)) == {"a"}


def test_the_earlier_of_two_times_counts_once() -> None:
    rechecks = Rechecks()
    rechecks.schedule("a", later(20))
    rechecks.schedule("a", later(10))
    assert rechecks.take(later(10)) == {"a"}
    assert rechecks.take(later(20)) == set(), "the judgement at 10 s asks for what comes after it"


def test_a_gang_with_a_near_and_a_far_time_does_not_pile_up() -> None:
    rechecks = Rechecks()
    for second in range(1000):
        rechecks.schedule("a", later(100_000))
        rechecks.schedule("a", later(second))
        assert rechecks.take(later(second)) == {"a"}
    assert len(rechecks) <= 100


def test_a_deleted_gang_has_no_recheck() -> None:
    rechecks = Rechecks()
    for number in range(1000):
        rechecks.schedule(f"gang {number}", later(3600))
        rechecks.drop(f"gang {number}")
    rechecks.drop("never seen")
    assert rechecks.times == {}
    assert len(rechecks) <= 100
    assert rechecks.take(later(3600)) == set()


MOVES = st.lists(
    st.tuples(
        st.sampled_from(["make", "take", "drop"]), st.sampled_from("abc"), st.integers(0, 30)
    ),
    max_size=60,
)


@given(MOVES)
def test_the_earliest_time_of_each_gang_counts_in_any_order(
    moves: list[tuple[str, str, int]],
) -> None:
    rechecks, expected = Rechecks(), dict[str, int]()
    for move, root, second in moves:
        if move == "make":
            rechecks.schedule(root, later(second))
            expected[root] = min(second, expected.get(root, second))
        elif move == "drop":
            rechecks.drop(root)
            expected.pop(root, None)
        else:
            taken = {name for name, due_at in expected.items() if due_at <= second}
            assert rechecks.take(later(second)) == taken
            expected = {name: due_at for name, due_at in expected.items() if name not in taken}
    assert rechecks.times == {name: later(due_at).timestamp() for name, due_at in expected.items()}
