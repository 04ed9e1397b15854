"""What can go wrong. The text of each error is a sentence for a person."""

from __future__ import annotations


class ClientError(Exception):
    """The command cannot be done: exit code 2."""


class UsageError(ClientError):
    """Something in the arguments, the settings or a file is wrong."""


class NotReachedError(ClientError):
    """The server did not answer, or something else did."""

    def __init__(self, sentence: str, *, may_repeat: bool = True) -> None:
        super().__init__(sentence)
        self.may_repeat = may_repeat
        """False if another try would fail in the same way."""


class RefusedError(ClientError):
    """The server answered with an error. The text is the server's sentence."""

    def __init__(self, sentence: str, *, status: int, action_id: str = "") -> None:
        super().__init__(sentence)
        self.status = status
        self.action_id = action_id
        """The action that prevents this one; empty without one."""
        self.retry_after: float | None = None
        """Seconds, if the server says when to try again."""

    @property
    def is_passing(self) -> bool:
        """Whether another try may succeed: the server is busy, or a proxy does not reach it now."""
        return self.status in (429, 502, 503, 504)


class NotFoundError(ClientError):
    """There is no such gang or Job, or the caller may not see it."""
