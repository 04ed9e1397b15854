"""Problems of objects that could not be decoded completely."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from gangboard.domain.api_resource import DecodeError

Model = TypeVar("Model")


@dataclass(frozen=True, slots=True)
class DecodeProblem:
    """Problem of an object that could not be decoded, or not completely. Unreadable parts of its name are empty."""

    namespace: str
    name: str
    uid: str
    sentence: str
    lost: bool = True
    """False if the object is stored without the malformed part."""


class PartlyDecoded(DecodeError):  # noqa: N818 - it has a model, so it is not only an error
    """Error of an object with a malformed part. It has the model without that part."""

    def __init__(self, sentence: str, model: Any) -> None:
        super().__init__(sentence)
        self.model = model


def raise_for_faults(model: Model, faults: Iterable[str]) -> Model:
    """Return the model, or raise PartlyDecoded with it if there are faults. Faults are clauses."""
    text = "; ".join(faults)
    if text:
        raise PartlyDecoded(text, model)
    return model
