"""Commands after a trial of a cluster say in which cluster they run."""

from __future__ import annotations

import pytest

from gangboard.pages.clusters.trial_steps import actor_steps, trial_steps
from gangboard.readmodels.kubectl import KubectlCommand

WHERE = "Run it in that cluster's context."


def steps(code: str, context: str) -> tuple[KubectlCommand, ...]:
    return trial_steps(
        code=code,
        server="https://10.1.2.3",
        context=context,
        unreadable=("pods",),
        uid_known=True,
    )


@pytest.mark.parametrize("code", ["tls", ""])
def test_a_kubectl_command_has_a_context_or_says_where_to_run_it(code: str) -> None:
    (without,) = steps(code, "")
    assert "--context" not in without.text
    assert without.meaning.endswith(WHERE)
    (with_context,) = steps(code, "admin@west")
    assert "kubectl --context admin@west" in with_context.text
    assert WHERE not in with_context.meaning


@pytest.mark.parametrize("code", ["unauthorized", "forbidden", "unreachable"])
def test_other_commands_need_no_context(code: str) -> None:
    (step,) = steps(code, "")
    assert "kubectl" not in step.text
    assert WHERE not in step.meaning


def test_the_rights_of_an_actor_are_given_in_its_cluster() -> None:
    (step,) = actor_steps("west", "", needs_rights=True)
    assert step.meaning.endswith(WHERE)
