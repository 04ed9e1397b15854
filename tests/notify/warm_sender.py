"""Processes that send one message each, forked from one that has loaded all libraries.

They run `sender.main` with its limits. To load apprise takes longer than to send. Tests of the process itself,
its environment and its deadline call `run_sender`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from django.conf import settings

from gangboard.notify.posting import Receipt

_LOOP = """
import io, os, sys
import apprise, requests, urllib3
from gangboard.notify import sender
apprise.Apprise.instantiate("json://127.0.0.1/")  # loads all services
for order in sys.stdin:
    if not os.fork():
        sys.stdin = io.StringIO(order)
        sender.main()
        print(flush=True)
        os._exit(0)
    if os.wait()[1]:
        print("{}", flush=True)
"""


class WarmSender:
    """Carries out orders as `run_sender` does; a context manager."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LOOP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=settings.BASE_DIR,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.communicate(timeout=20)

    def __call__(self, order: Mapping[str, Any]) -> Receipt:
        """Carry out an order in a process of its own."""
        networks = [str(network) for network in settings.NOTIFY_NETWORKS]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({**order, "networks": networks}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return Receipt(answer["ok"], answer["sentence"], answer["final"], answer["service"])
