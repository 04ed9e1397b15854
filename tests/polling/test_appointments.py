"""Verdicts that time alone can change: each gang is looked at in time, and memory stays small."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from gangboard.polling.appointments import Appointments

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def later(seconds: int) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_a_thousand_equal_judgements_make_one_appointment() -> None:
    due = Appointments()
    for _ in range(1000):
        due.make("a", later(3600))
    assert len(due) == 1
    assert due.take(later(3599)) == set()
    assert due.take(later(3600)) == {"a"}
    assert due.take(later(7200)) == set()


def test_times_that_move_on_with_each_judgement_make_one_appointment() -> None:
    due = Appointments()
    for second in range(1000):
        due.make("a", later(3600 + second))
    assert len(due) == 1
    assert due.take(later(3600)) == {"a"}


def test_the_earlier_of_two_times_counts_once() -> None:
    due = Appointments()
    due.make("a", later(20))
    due.make("a", later(10))
    assert due.take(later(10)) == {"a"}
    assert due.take(later(20)) == set(), "the judgement at 10 s asks for what comes after it"


def test_a_gang_with_a_near_and_a_far_time_does_not_pile_up() -> None:
    due = Appointments()
    for second in range(1000):
        due.make("a", later(100_000))
        due.make("a", later(second))
        assert due.take(later(second)) == {"a"}
    assert len(due) <= 100


def test_a_gang_that_is_gone_has_no_appointment() -> None:
    due = Appointments()
    for number in range(1000):
        due.make(f"gang {number}", later(3600))
        due.drop(f"gang {number}")
    due.drop("never seen")
    assert due.times == {}
    assert len(due) <= 100
    assert due.take(later(3600)) == set()


MOVES = st.lists(
    st.tuples(
        st.sampled_from(["make", "take", "drop"]), st.sampled_from("abc"), st.integers(0, 30)
    ),
    max_size=60,
)


@given(MOVES)
def test_it_is_the_earliest_time_of_each_gang_whatever_comes(
    moves: list[tuple[str, str, int]],
) -> None:
    due, expected = Appointments(), dict[str, int]()
    for move, root, second in moves:
        if move == "make":
            due.make(root, later(second))
            expected[root] = min(second, expected.get(root, second))
        elif move == "drop":
            due.drop(root)
            expected.pop(root, None)
        else:
            taken = {one for one, at in expected.items() if at <= second}
            assert due.take(later(second)) == taken
            expected = {one: at for one, at in expected.items() if one not in taken}
    assert due.times == {one: later(at).timestamp() for one, at in expected.items()}
