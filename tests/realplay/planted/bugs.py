"""The bugs: each replaces one function of gangboard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gangboard.actions import actor_client
from gangboard.actions.execution import ActionExecution
from gangboard.actions.verify import relocated
from gangboard.domain.action import StepState
from gangboard.kube.errors import KubeError
from gangboard.policy import exclusions
from gangboard.policy.exclusions import Exclusion
from gangboard.store.models import ActionStep

_send, _change_affinity = actor_client.send, exclusions.change_affinity


def _wait_for_nothing(execution: ActionExecution, step: ActionStep) -> float:
    execution.write(step=step, step_columns={"state": StepState.DONE.value, "at": execution.now})
    return 0.5


def _send_again(client: Any, step: Any, *, dry_run: bool = False) -> Any:
    answer = _send(client, step, dry_run=dry_run)
    if step.method == "PATCH" and not dry_run:
        try:
            _send(client, step, dry_run=dry_run)
        except KubeError:
            return answer
    return answer


def _keep_exclusion(affinity: Any, _old: Exclusion | None, new: Exclusion | None) -> Any:
    return _change_affinity(affinity, None, new)


def _verify_at_once(execution: ActionExecution) -> float:
    return relocated._end_verified(execution, ())


BUGS: Mapping[str, tuple[str, Callable[..., Any]]] = {
    "resumes-early": ("actions.relocation.wait_stopped", _wait_for_nothing),
    "leaves-suspended": ("actions.rollback.roll_back", lambda _execution: ""),
    "verifies-at-once": ("actions.verify.relocated.watch", _verify_at_once),
    "sends-twice": ("actions.actor_client.send", _send_again),
    "keeps-exclusion": ("policy.exclusions.change_affinity", _keep_exclusion),
    "keeps-hold": ("actions.hold_removal._try_removal", lambda _execution, _step: True),
}
"""Name for `--bug` → a function below `gangboard`, and its replacement."""
