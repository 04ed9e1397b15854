"""What a command prints of the trial of a cluster or an actor: the words of the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gangboard.kube.errors import KubeError
from gangboard.pages.clusters.trial_steps import actor_steps, trial_steps
from gangboard.polling.actor_trial import ActorTrial
from gangboard.polling.cluster_trial import Access
from gangboard.readmodels.kubectl import KubectlCommand


def step_lines(steps: Iterable[KubectlCommand]) -> Iterator[str]:
    """Yield each step: its meaning, then its command."""
    for step in steps:
        yield f"{step.meaning}\n    {step.text}"


def actor_lines(name: str, context: str, trial: ActorTrial) -> Iterator[str]:
    """Yield what the cluster answered to the actor. `context`: what the person's kubectl calls the cluster."""
    yield f"Cluster {name} {trial.sentence}."
    yield from step_lines(actor_steps(name, context, needs_rights=trial.needs_rights))


def unanswered_lines(name: str, access: Access, error: KubeError) -> Iterator[str]:
    """Yield why the cluster did not answer the actor."""
    yield (
        f"Cluster {name} does not answer the actor now: {error.sentence} gangboard uses these credentials "
        "all the same."
    )
    yield from step_lines(
        trial_steps(
            code=error.code,
            server=access.server,
            context=access.context,
            unreadable=(),
            uid_known=True,
        )
    )
