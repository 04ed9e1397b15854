"""Rows of a trial of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.text import listed
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.kubectl import KubectlCommand
from gangboard.store.cluster_trials import PURPOSES, STATES

_WATCHED = "This cluster is watched already"
_OTHER = "This is another cluster"
_REFUSED: Mapping[str, str] = {
    "same-cluster": _WATCHED,
    "other-cluster": _OTHER,
    "other-server": _OTHER,
    "forbidden-address": "gangboard may not connect to this address",
    "defect": "The test failed",
}
"""Code → heading of a trial that cannot be saved."""
UNUSABLE = "These credentials cannot be used"


@dataclass(frozen=True, slots=True)
class TrialFace:
    """The status badge of a trial: label, icon, tone."""

    label: str
    icon: str
    tone: str


@dataclass(frozen=True, slots=True)
class PurposeTexts:
    """The texts for one purpose of a trial. `{}` stands for the cluster."""

    heading: str
    save: str
    account: str
    """File name, without extension, of the kubeconfig that the commands create."""


_PURPOSE_TEXTS: Mapping[str, PurposeTexts] = {
    "add": PurposeTexts("Add cluster {}", "Watch {}", "gangboard-reader"),
    "renew": PurposeTexts("New credentials of {}", "Use the new credentials", "gangboard-reader"),
    "actor": PurposeTexts("Actor of {}", "Let gangboard act on {}", "gangboard-actor"),
}


def trial_face(state: str, code: str, *, may_save: bool) -> TrialFace:
    """Return the status badge of a trial."""
    if state == "waiting":
        return TrialFace("Waiting for a poll worker", "◷", "waiting")
    if state == "running":
        return TrialFace("The cluster is being tested", "◷", "waiting")
    if state == "saved":
        return TrialFace("Saved", "●", "running")
    if state == "answered":
        return TrialFace("The cluster answers", "●", "running")
    if may_save:
        return TrialFace("The cluster does not answer as it should", "■", "blocked")
    return TrialFace(_REFUSED.get(code, UNUSABLE), "■", "blocked")


@dataclass(frozen=True, slots=True)
class TriedKindRow:
    """A kind of object that the cluster serves."""

    kind: str = shown("Kind", "Key such as `jobs.batch`.")
    readable: bool = shown("May be read", "Whether the account may list it.")


@dataclass(frozen=True, slots=True)
class TriedLeverRow:
    """A lever that is switched on in the cluster, and whether the actor may use it."""

    lever: str = shown("Lever")
    title: str = shown("Does")
    usable: bool = shown("May be used", "In every namespace.")
    namespaces: tuple[str, ...] = shown(
        "Namespaces", "Namespaces with gangs where it may be used, if not in all."
    )
    missing: tuple[str, ...] = shown(
        "Missing", "Rights such as `patch jobs.batch` that the account does not have everywhere."
    )

    @property
    def face(self) -> TrialFace:
        """The status badge of the lever."""
        if self.usable:
            return TrialFace("may be used", "●", "running")
        if self.namespaces:
            return TrialFace(f"may be used in {', '.join(self.namespaces)}", "●", "running")
        right = "rights" if len(self.missing) > 1 else "right"
        return TrialFace(f"lacks the {right} to {listed(self.missing)}", "■", "blocked")


@dataclass(frozen=True, slots=True)
class ClusterTrialRow:
    """A trial of a cluster: nothing is watched or changed before it is saved."""

    id: str = shown("Trial")
    purpose: str = shown("For", choices=PURPOSES)
    cluster: str = shown("Cluster")
    state: str = shown(
        "State",
        "`waiting` for a poll worker, `running`, `answered`, `failed` or `saved`.",
        choices=STATES,
    )
    code: str | None = shown("Code", "Code of the cause. Null if the cluster answered.")
    message: str | None = shown("Result", "The result in a sentence. Null until there is one.")
    commands: tuple[str, ...] = shown("Commands", "Steps that remove the cause, in order.")
    server: str | None = shown("API server")
    server_version: str | None = shown("Kubernetes")
    kinds: tuple[TriedKindRow, ...] = shown("Kinds", "All served kinds that gangboard reads.")
    levers: tuple[TriedLeverRow, ...] = shown(
        "Levers", "For an actor: all levers that are switched on and that the cluster serves."
    )
    context: str | None = shown("Context", "Null for the current one.")
    contexts: tuple[str, ...] = shown("Contexts", "All of the kubeconfig.")
    may_save: bool = shown("May be saved", "False if these credentials cannot be used at all.")
    credentials_expire_at: datetime | None = shown("Credentials end", "Null where they do not say.")
    created_at: datetime = shown("Begun")
    expires_at: datetime = shown("Ends", "The test and its credentials are deleted at this time.")
    steps: tuple[KubectlCommand, ...] = ()
    """`commands` with the meaning of each. Empty if they form one script."""

    @property
    def script(self) -> str:
        """The commands as one script. Empty if they are separate steps."""
        return "" if self.steps else "\n".join(self.commands)

    @property
    def face(self) -> TrialFace:
        """The status badge of the trial."""
        return trial_face(self.state, self.code or "", may_save=self.may_save)

    @property
    def heading(self) -> str:
        """The heading of its page."""
        return _PURPOSE_TEXTS[self.purpose].heading.format(self.cluster)

    @property
    def save_label(self) -> str:
        """The label of the button that saves it."""
        return _PURPOSE_TEXTS[self.purpose].save.format(self.cluster)

    @property
    def account(self) -> str:
        """The name of the kubeconfig that the commands create."""
        return _PURPOSE_TEXTS[self.purpose].account

    @property
    def is_new(self) -> bool:
        """Whether the cluster is to be added."""
        return self.purpose == "add"

    @property
    def is_saved(self) -> bool:
        """Whether its credentials are saved."""
        return self.state == "saved"

    @property
    def is_answered(self) -> bool:
        """Whether the cluster answered as it should."""
        return self.state == "answered"

    @property
    def choices(self) -> tuple[tuple[str, bool], ...]:
        """The other contexts to try, as (name, is the tried one). Empty without a choice."""
        if len(self.contexts) < 2 or self.is_saved:
            return ()
        return tuple((name, name == self.context) for name in self.contexts)

    @property
    def is_over(self) -> bool:
        """Whether there is a result."""
        return self.state not in ("waiting", "running")
