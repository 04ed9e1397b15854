"""The words of a trial on its page: heading, face, and the buttons of its purpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_WATCHED = "This cluster is watched already"
_OTHER = "This is another cluster"
_REFUSED: Mapping[str, str] = {
    "same-cluster": _WATCHED,
    "other-cluster": _OTHER,
    "other-server": _OTHER,
    "forbidden-address": "gangboard may not connect to this address",
    "defect": "The trial failed",
}
"""Code → heading of a trial of which nothing can be saved."""
UNUSABLE = "These credentials cannot be used"


@dataclass(frozen=True, slots=True)
class TrialFace:
    """Status of a trial: word, icon, colour."""

    label: str
    icon: str
    tone: str


@dataclass(frozen=True, slots=True)
class PurposeWords:
    """What a page says about one purpose. `{}` stands for the cluster."""

    heading: str
    save: str
    account: str
    """File name of the kubeconfig that `print_rbac` helps to make, without its ending."""


PURPOSES: Mapping[str, PurposeWords] = {
    "add": PurposeWords("Add cluster {}", "Watch {}", "gangboard-reader"),
    "renew": PurposeWords("New credentials of {}", "Use the new credentials", "gangboard-reader"),
    "actor": PurposeWords("Actor of {}", "Let gangboard act on {}", "gangboard-actor"),
}


def trial_face(state: str, code: str, *, may_save: bool) -> TrialFace:
    """Return the face of a trial."""
    if state == "waiting":
        return TrialFace("Waiting for a poll worker", "◷", "waiting")
    if state == "running":
        return TrialFace("The cluster is being tried", "◷", "waiting")
    if state == "saved":
        return TrialFace("Saved", "●", "running")
    if state == "answered":
        return TrialFace("The cluster answers", "●", "running")
    if may_save:
        return TrialFace("The cluster does not answer as it should", "■", "blocked")
    return TrialFace(_REFUSED.get(code, UNUSABLE), "■", "blocked")
