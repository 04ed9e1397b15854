"""What each command is given beside its arguments."""

from __future__ import annotations

from dataclasses import dataclass

from gangboard_client.output import Output
from gangboard_client.transport import Server


@dataclass(frozen=True)
class Context:
    """The server and where results go."""

    server: Server
    output: Output
