"""The engine of the act worker, which advances actions through their states.

Its clock, client and checkpoint are injected. Tests pass a clock of their own, a client that fails, and
a checkpoint that kills the worker between any database write and any request.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from django.db import DatabaseError, InterfaceError

from gangboard.actions import (
    actor_client,
    checking,
    cordons,
    finishing,
    hold_removal,
    retries,
    sending,
)
from gangboard.actions.actor_client import ClientFactory, NoActorError
from gangboard.actions.clock import Clock, RealClock
from gangboard.actions.execution import ActionExecution, Checkpoint, repair_future_times
from gangboard.actions.finishing import ActionExit
from gangboard.actions.live_objects import UnreadableError
from gangboard.actions.verify import watching
from gangboard.actions.worker_slots import WORKER_SLOTS, WorkerSlots
from gangboard.domain.action import ActionState
from gangboard.kube.errors import KubeError
from gangboard.logs import get_logger
from gangboard.store import actions
from gangboard.store.actions import ActionLostError
from gangboard.store.models import Action

log = get_logger(__name__)

SLICE_SECONDS = 10.0
"""Longest time that one call works on one action."""
LONGEST_SLEEP = 2.0
"""Seconds. For longer pauses the thread ends its work, and the broker delivers the action again later."""
MAX_INTERNAL_ERRORS = 3
INTERNAL_ERROR_PAUSE = 5.0
INTERNAL_ERROR = "gangboard failed with an internal error and gave up. The log of the act worker has the details."
STARVED_SECONDS = 1.0
"""An action this overdue found no free thread. Actions that only watch then release theirs."""


def _no_checkpoint(name: str) -> None:
    """Do nothing."""


@dataclass(slots=True)
class Engine:
    """Carries out the actions of one worker."""

    holder: str = field(default_factory=lambda: f"engine-{uuid.uuid4().hex[:8]}")
    """Name of the worker in leases."""
    clock: Clock = field(default_factory=RealClock)
    open_client: ClientFactory = actor_client.open_client
    checkpoint: Checkpoint = _no_checkpoint
    slots: WorkerSlots = field(default_factory=WorkerSlots)

    def advance(self, action_id: str) -> float | None:
        """Work on an action for some seconds. Return the seconds until the next call.

        Returns None if the action is over, is not due, or belongs to another worker. It also returns
        None if the cluster has no free thread; `next_in_line` returns the action later.
        """
        cluster_id = actions.cluster_id_of(action_id)
        if not self.slots.acquire(cluster_id):
            return None
        answered = True
        try:
            execution = self._claim(action_id)
            if execution is None:
                return None
            delay = self._run(execution)
            answered = "trouble" not in execution.context
        finally:
            self.slots.release(cluster_id, answered=answered)
        return delay

    def next_in_line(self) -> list[str]:
        """Return ids of due actions that were rejected while their cluster had no free thread."""
        action_ids = []
        for cluster_id in self.slots.admit_waiting():
            action_ids += actions.due_actions(self.clock, cluster_id=cluster_id, most=WORKER_SLOTS)
        return action_ids

    def _claim(self, action_id: str) -> ActionExecution | None:
        # Each call has its own holder name, because two threads of one worker are two holders.
        lease = actions.acquire_lease(
            action_id, f"{self.holder}/{uuid.uuid4().hex[:8]}", self.clock
        )
        if lease is None:
            return None
        action = Action.objects.select_related("cluster").get(pk=action_id)
        execution = ActionExecution(lease, self.clock, self.checkpoint, self.open_client, action)
        execution.reload_steps()
        return execution

    def _run(self, execution: ActionExecution) -> float | None:
        action_id = execution.action.pk
        try:
            return self._work(execution)
        except ActionLostError as error:
            log.warning("action taken over by another worker", action=action_id, why=str(error))
            return None
        except (DatabaseError, InterfaceError) as error:
            log.warning("database away; the action waits", action=action_id, why=str(error))
            return None  # the lease expires, and the sweeper finds the action
        except Exception:  # the edge of the process: recorded, and fatal after a few times
            log.exception("action met an error of gangboard", action=action_id)
            return self._after_internal_error(execution)
        finally:
            execution.close()

    def _work(self, execution: ActionExecution) -> float | None:
        started = self.clock.monotonic()
        self.checkpoint("claimed")
        repair_future_times(execution)
        while True:
            execution.renew()
            delay = _next(execution)
            if execution.action.due_at is None:
                actions.release_lease(execution.lease)
                return None
            elapsed = self.clock.monotonic() - started
            is_thread_needed = delay > 0 and bool(
                actions.due_actions(self.clock, waited=STARVED_SECONDS, most=1)
            )
            if elapsed + delay > SLICE_SECONDS or delay > LONGEST_SLEEP or is_thread_needed:
                actions.reschedule(execution.lease, self.clock, delay)
                return delay
            self.clock.sleep(delay)

    def _after_internal_error(self, execution: ActionExecution) -> float | None:
        """Retry an action after an internal error, and end it after MAX_INTERNAL_ERRORS."""
        execution.action.refresh_from_db()
        execution.reload_steps()
        errors: int = execution.context.get("falls", 0) + 1
        execution.context["falls"] = errors  # the key that older releases have stored
        execution.write(context=True)
        if (
            errors > MAX_INTERNAL_ERRORS
            and execution.action.finished_at is None
            and "exit" not in execution.context
        ):
            finishing.exit_early(execution, ActionExit(ActionState.FAILED, INTERNAL_ERROR))
        if execution.action.due_at is None:
            actions.release_lease(execution.lease)
            return None
        actions.reschedule(execution.lease, self.clock, INTERNAL_ERROR_PAUSE * errors)
        return INTERNAL_ERROR_PAUSE * errors

    def finish(self, action_id: str, *, seconds: float = 600.0) -> Action:
        """Advance an action until it is over, sleeping in between. For tests and commands."""
        deadline = self.clock.monotonic() + seconds
        while (delay := self.advance(action_id)) is not None and self.clock.monotonic() < deadline:
            self.clock.sleep(delay)
        return Action.objects.get(pk=action_id)


def _next(execution: ActionExecution) -> float:
    """Advance the action by one step. Return the seconds to wait after it."""
    try:
        delay = _dispatch(execution)
    except (KubeError, NoActorError, UnreadableError) as error:
        return retries.after_error(execution, error)
    retries.clear(execution)
    return delay


def _dispatch(execution: ActionExecution) -> float:
    if "exit" in execution.context:
        return hold_removal.remove_hold(execution)
    if execution.action.finished_at is not None:
        return cordons.lift_after_end(execution)
    if execution.state is ActionState.REQUESTED:
        return checking.check(execution)
    if execution.state is ActionState.APPLIED:
        return watching.watch(execution)
    return sending.next_step(execution)
