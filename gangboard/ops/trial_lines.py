"""Lines that commands print about the trial of a cluster or an actor, in the words of the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gangboard.kube.errors import KubeError
from gangboard.polling.actor_trial import ActorTrial
from gangboard.polling.cluster_trial import Access
from gangboard.readmodels.kubectl import KubectlCommand
from gangboard.readmodels.trial_steps import actor_steps, trial_steps


def step_lines(steps: Iterable[KubectlCommand]) -> Iterator[str]:
    """Yield each step: its meaning, then its command."""
    for step in steps:
        yield f"{step.meaning}\n    {step.text}"


def actor_lines(name: str, context: str, trial: ActorTrial) -> Iterator[str]:
    """Yield the result of an actor's trial. `context` is the name of the cluster in the person's kubectl."""
    yield f"Cluster {name} {trial.sentence}."
    yield from step_lines(actor_steps(name, context, needs_rights=trial.needs_rights))


def unreachable_lines(name: str, access: Access, error: KubeError) -> Iterator[str]:
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
