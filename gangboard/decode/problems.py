"""How decoding says that something could not be understood."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from gangboard.domain.api_resource import DecodeError

Model = TypeVar("Model")


@dataclass(frozen=True, slots=True)
class DecodeProblem:
    """One object that could not be read, or not all of it. Identity is empty where unreadable."""

    namespace: str
    name: str
    uid: str
    sentence: str
    lost: bool = True
    """False when the object is kept and only what the sentence names is left out."""


class PartlyDecoded(DecodeError):  # noqa: N818 - the model is there: it is no error of its own
    """A model is there, and something in its object could not be understood: both are said."""

    def __init__(self, sentence: str, model: Any) -> None:
        super().__init__(sentence)
        self.model = model


def raise_for_faults(model: Model, faults: Iterable[str]) -> Model:
    """Return the model, or raise PartlyDecoded with it when there are faults (half sentences)."""
    text = "; ".join(faults)
    if text:
        raise PartlyDecoded(text, model)
    return model
