"""The execution of one action by one worker: its row, its steps, and the only way to change them.

Every change goes through `write`: one transaction that confirms the lease, changes the row, adds the
audit line and raises the cluster's data version. No request is sent while a transaction is open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from gangboard.actions.actor_client import ActorClient, ClientFactory
from gangboard.actions.clock import Clock
from gangboard.domain.action import ActionState, Verb
from gangboard.logs import get_logger
from gangboard.plugins import registry
from gangboard.store import actions
from gangboard.store.actions import ACTION_LEASE_SECONDS, ActionLease, ActionLostError
from gangboard.store.audit import audit
from gangboard.store.feed import add_action_event
from gangboard.store.models import Action, ActionStep

log = get_logger(__name__)

Checkpoint = Callable[[str], None]
"""Called with the name of each boundary between database and network. Tests raise there."""
SLOWEST_REQUEST = 15.0
"""Longest time of a request in seconds, including the connect."""
TOLERANCE = timedelta(minutes=1)
"""Allowed difference between the clocks of two workers."""
_TIME_KEYS = frozenset(
    {
        "since",
        "sent_at",
        "quiet_since",
        "missing_since",
        "stopping_since",
        "removing_since",
        "forbidden_since",
        "admitted_since",
        "not_before",
    }
)
"""Keys with times in the context of an action."""


@dataclass(slots=True)
class ActionExecution:
    """The state of an action while one worker carries it out."""

    lease: ActionLease
    clock: Clock
    checkpoint: Checkpoint
    open_client: ClientFactory
    action: Action
    steps: list[ActionStep] = field(default_factory=list)
    _client: ActorClient | None = None
    _confirmed: float = 0.0

    @property
    def context(self) -> dict[str, Any]:
        """Values kept between two calls of the engine. `write(context=True)` stores them."""
        context: dict[str, Any] = self.action.context
        return context

    @property
    def now(self) -> datetime:
        """The current time."""
        return self.clock.now()

    @property
    def state(self) -> ActionState:
        """The state of the action."""
        return ActionState(self.action.state)

    @property
    def object_name(self) -> str:
        """Kind and name of the object, for sentences: `Job train-workers-0`."""
        return f"{self.action.kind} {self.action.name}"

    @property
    def done_word(self) -> str:
        """The past participle for sentences: `Suspended`, `Paused`, `Resumed`, `Released`, `Restarted`."""
        if self.action.verb == Verb.RESUME:
            return f"{self.action.button}d"
        lever = registry.lever(self.action.lever)
        return "Suspended" if lever is None else lever.applied

    @property
    def client(self) -> ActorClient:
        """The client of the cluster, opened when it is first needed. Raises NoActorError."""
        if self._client is None:
            assert self.action.cluster is not None  # noqa: S101  # checked before anything is read
            self._client = self.open_client(self.action.cluster, self.action.pk)
        return self._client

    def close(self) -> None:
        """Close the client of the cluster."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def renew(self) -> None:
        """Renew the lease of the action. Raises ActionLostError."""
        started = self.clock.monotonic()
        with actions.writing(self.lease, self.clock):
            pass
        self._confirmed = started

    def check_lease(self) -> None:
        """Raise ActionLostError if a request that begins now could outlive the lease.

        Call it right before sending. A process may be paused after it has recorded the request as
        `sending`, and must not send it when it continues.
        """
        if self.clock.monotonic() - self._confirmed > ACTION_LEASE_SECONDS - SLOWEST_REQUEST:
            raise ActionLostError(f"action {self.action.pk} was held for too long")

    def write(
        self,
        state: ActionState | None = None,
        message: str = "",
        *,
        step: ActionStep | None = None,
        step_columns: dict[str, Any] | None = None,
        context: bool = False,
        in_transaction: Callable[[], None] | None = None,
        **columns: Any,
    ) -> None:
        """Change the action and one step in one transaction, and audit a new state.

        `in_transaction` runs inside the transaction. Raises ActionLostError.
        """
        is_new_state = state is not None and state.value != self.action.state
        if state is not None:
            columns["state"] = state.value
        if message:
            columns["message"] = message
        if context:
            columns["context"] = self.context
        started = self.clock.monotonic()
        with actions.writing(self.lease, self.clock):
            if columns:
                actions.update_row(self.action, columns)
            if step is not None and step_columns:
                actions.update_row(step, step_columns)
            if in_transaction is not None:
                in_transaction()
            if is_new_state or message or step_columns:
                actions.bump_data_version(self.action.cluster_id)
            if is_new_state:
                if self.state.is_final:
                    add_action_event(self.action, at=self.now)
                self._audit(message)
        self._confirmed = started
        if is_new_state:
            log.info(
                "action moved on",
                action=self.action.pk,
                state=self.action.state,
                cluster=self.action.cluster_name,
            )

    def _audit(self, message: str) -> None:
        audit(
            "state",
            message or f"{self.object_name}: {self.action.state}.",
            at=self.now,
            actor=self.action.actor_name,
            action=self.action,
            details={"state": self.action.state, "verb": self.action.verb},
        )

    def reload_steps(self) -> None:
        """Read the steps as they are stored."""
        self.steps = list(self.action.steps.all())


def repair_future_times(execution: ActionExecution) -> None:
    """Replace the times of an action that lie in the future with now. Write only if there are any.

    Such times were stored before the clock was set back. Without this the action would wait for hours,
    until the clock has caught up, and block other actions on its object.
    """
    action, now = execution.action, execution.now
    columns: dict[str, Any] = {
        name: now
        for name in ("sent_at", "applied_at")
        if (time := getattr(action, name)) is not None and time > now + TOLERANCE
    }
    steps = [step for step in execution.steps if step.at is not None and step.at > now + TOLERANCE]
    context = reset_future_times(action.context, now)
    if not columns and not steps and context == action.context:
        return
    action.context = context

    def correct_steps() -> None:
        for step in steps:
            actions.update_row(step, {"at": now})

    execution.write(context=True, in_transaction=correct_steps, **columns)


def reset_future_times(context: dict[str, Any], now: datetime) -> dict[str, Any]:
    """Return the context of an action with its future times replaced by now."""
    corrected = dict(context)
    for name, value in context.items():
        if isinstance(value, dict):
            corrected[name] = reset_future_times(value, now)
        elif name in _TIME_KEYS and datetime.fromisoformat(value) > now + TOLERANCE:
            corrected[name] = now.isoformat()
    return corrected
