"""An endless attack counts as successful, wherever it waits."""

from __future__ import annotations

import socket
from typing import cast

import urllib3

from tests.attack.found import Attack, Figures, run
from tests.installation import Installation


def test_a_timeout_inside_a_client_library_is_a_result() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]

        def hang(_: Installation) -> Figures:
            with urllib3.PoolManager(retries=False) as pool:
                pool.request("GET", f"http://127.0.0.1:{port}/", timeout=20)
            return {}

        result = run(Attack("silent", 0.2, hang), cast("Installation", None))
    assert (result.passed, result.why) == (
        False,
        "OutOfTimeError: the attack had not ended after 0.2 s",
    )
