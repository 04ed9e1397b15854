"""The attacks of `make attack`, on one gangboard."""

from collections.abc import Iterator

import pytest

from tests.attack.asking import started
from tests.attack.found import Attack, attacks, run
from tests.installation import Installation
from tests.live.figures import tell

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def board() -> Iterator[Installation]:
    with started() as board:
        yield board


@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: str(attack.name))
def test_gangboard_withstands_the_attack(attack: Attack, board: Installation) -> None:
    result = run(attack, board)
    tell(result.line())
    assert result.passed, result.why


def test_a_successful_or_endless_attack_fails() -> None:
    def through(board: Installation) -> dict[str, int]:
        raise AssertionError("it got through")

    def endless(board: Installation) -> dict[str, int]:
        while True:
            pass

    unused: Installation = object()  # type: ignore[assignment]  # these two attack nothing
    assert run(Attack("through", 5, through), unused).why == "AssertionError: it got through"
    assert "had not ended after 0.1 s" in run(Attack("endless", 0.1, endless), unused).why
    assert not run(Attack("endless", 0.1, endless), unused).passed
