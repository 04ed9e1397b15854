"""Carries actions out, one look after the other. Everything it needs from outside is injected.

`Engine(clock=…, open_client=…, checkpoint=…)`: a test brings a clock of its own, a client that fails, and
a checkpoint that kills the worker between any database write and any request.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from django.db import DatabaseError, InterfaceError

from gangboard.actions import actor_client, checking, finishing, retries, sending
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
"""The most that one call works on one action."""
NAP_SECONDS = 2.0
"""Longer pauses are slept by the broker, not by a thread."""
MOST_INTERNAL_ERRORS = 3
INTERNAL_ERROR_PAUSE = 5.0
INTERNAL_ERROR = "gangboard failed with an internal error and gave up. The log of the act worker has the details."
STARVED_SECONDS = 1.0
"""An action this overdue found no free thread. Actions that only watch then give theirs up."""


def _no_checkpoint(name: str) -> None:
    """Do nothing."""


@dataclass(slots=True)
class Engine:
    """Carries actions out for one worker."""

    holder: str = field(default_factory=lambda: f"engine-{uuid.uuid4().hex[:8]}")
    """Name of the worker in leases."""
    clock: Clock = field(default_factory=RealClock)
    open_client: ClientFactory = actor_client.open_client
    checkpoint: Checkpoint = _no_checkpoint
    slots: WorkerSlots = field(default_factory=WorkerSlots)

    def advance(self, action_id: str) -> float | None:
        """Work on an action for some seconds.

        Returns the seconds after which it should be looked at again; None when nothing is left to
        do, when it is not due or somebody else has it, or when its cluster has as many threads as it
        may have: then `next_in_line` says later that there is room.
        """
        cluster_id = actions.cluster_id_of(action_id)
        if not self.slots.acquire(cluster_id):
            return None
        answered = True
        try:
            execution = self._take(action_id)
            if execution is None:
                return None
            delay = self._carry_on(execution)
            answered = "trouble" not in execution.context
        finally:
            self.slots.release(cluster_id, answered=answered)
        return delay

    def next_in_line(self) -> list[str]:
        """Return ids of actions that are due and were turned away while their cluster had no thread left."""
        found = []
        for cluster_id in self.slots.admit_waiting():
            found += actions.due_actions(self.clock, cluster_id=cluster_id, most=WORKER_SLOTS)
        return found

    def _take(self, action_id: str) -> ActionExecution | None:
        # A name of its own for each call: two threads of one worker are two holders.
        lease = actions.acquire_lease(
            action_id, f"{self.holder}/{uuid.uuid4().hex[:8]}", self.clock
        )
        if lease is None:
            return None
        action = Action.objects.select_related("cluster").get(pk=action_id)
        execution = ActionExecution(lease, self.clock, self.checkpoint, self.open_client, action)
        execution.reload_steps()
        return execution

    def _carry_on(self, execution: ActionExecution) -> float | None:
        action_id = execution.action.pk
        try:
            return self._work(execution)
        except ActionLostError as error:
            log.warning("action taken over by another worker", action=action_id, why=str(error))
            return None
        except (DatabaseError, InterfaceError) as error:
            log.warning("database away; the action waits", action=action_id, why=str(error))
            return None  # the lease ends by itself, and the sweeper finds it
        except Exception:  # the edge of the process: recorded, and ended after a few times
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
            worked = self.clock.monotonic() - started
            others_wait = delay > 0 and bool(
                actions.due_actions(self.clock, waited=STARVED_SECONDS, most=1)
            )
            if worked + delay > SLICE_SECONDS or delay > NAP_SECONDS or others_wait:
                actions.reschedule(execution.lease, self.clock, delay)
                return delay
            self.clock.sleep(delay)

    def _after_internal_error(self, execution: ActionExecution) -> float | None:
        """Try again a little later. After a few times end the action, so that nothing waits for ever."""
        execution.action.refresh_from_db()
        execution.reload_steps()
        errors: int = execution.context.get("falls", 0) + 1
        execution.context["falls"] = errors  # the name in rows of older releases, too
        execution.write(context=True)
        if (
            errors > MOST_INTERNAL_ERRORS
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
        """Work on an action until nothing is left to do, sleeping in between; for tests and commands."""
        until = self.clock.monotonic() + seconds
        while (delay := self.advance(action_id)) is not None and self.clock.monotonic() < until:
            self.clock.sleep(delay)
        return Action.objects.get(pk=action_id)


def _next(execution: ActionExecution) -> float:
    """Do the next thing; return the seconds to wait after it."""
    try:
        delay = _dispatch(execution)
    except (KubeError, NoActorError, UnreadableError) as error:
        return retries.after_error(execution, error)
    retries.clear(execution)
    return delay


def _dispatch(execution: ActionExecution) -> float:
    if "exit" in execution.context:
        return finishing.remove_hold(execution)
    if execution.state is ActionState.REQUESTED:
        return checking.check(execution)
    if execution.state is ActionState.APPLIED:
        return watching.watch(execution)
    return sending.next_step(execution)
