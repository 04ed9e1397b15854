"""The runner of real situations fails on a wrong verdict of a situation or its near miss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import pytest

from tests import situations
from tests.controlplane.client import Client, Json, WaitError
from tests.situations import Place, Situation, check

RUN = {"code": "running", "health": "running", "message": "All 3 pods.", "members": {"ready": 3}}
TWIN = {"code": "starting", "health": "starting", "message": "2 of 3 pods."}


@dataclass
class Told(Place):
    """A place with given verdicts."""

    client: Client = field(default_factory=lambda: cast("Client", None))
    name: str = "here"
    gangs: dict[str, Json] = field(default_factory=dict)

    def told(self, name: str = "run") -> Json:
        return self.gangs.get(name, {"code": ""})

    def filled(self, message: str) -> str:
        return message.replace("{size}", "3")


def situation(
    code: str = "running", message: str = "All {size} pods.", ready: int = 3, twin: str = "starting"
) -> Situation[Told]:
    return Situation(lambda _: None, code, "running", message, {"ready": ready}, twin=twin)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(situations, "TIMEOUT_SECONDS", 0.01)


def test_an_expected_verdict_passes() -> None:
    check(situation(), Told(gangs={"run": RUN, "twin": TWIN}))


@pytest.mark.parametrize(
    "wrong", [situation("failed"), situation(message="None."), situation(ready=2)]
)
def test_a_wrong_verdict_fails(wrong: Situation[Told]) -> None:
    with pytest.raises(WaitError):
        check(wrong, Told(gangs={"run": RUN, "twin": TWIN}))


def test_a_missing_twin_verdict_fails() -> None:
    with pytest.raises(WaitError, match="starting of twin"):
        check(situation(), Told(gangs={"run": RUN}))
