"""A stranger's kubeconfig names gangboard's own key as the token for the stranger's server."""

import contextlib
import tempfile
import time
from pathlib import Path

from tests.attack.found import Figures
from tests.installation import Installation
from tests.kube.certificates import issue
from tests.kube.server import Server
from tests.ops.kubeconfigs import write_kubeconfig

SECONDS = 40
PATIENCE = 10.0
"""Seconds in which a cluster that was added is polled."""
CLUSTER = "stranger"
KEY = "encryption_key"


def attack(board: Installation) -> Figures:
    """Every form of the name is refused, with or without the flag, and the server receives no
    request."""
    authority = issue("stranger", names=(), is_authority=True)
    server = Server(issue("localhost", authority), lambda _, wire: wire.json({}, status=401))
    tried = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as ending:
        ending.callback(server.stop)
        (Path(folder) / "link").symlink_to(board.folder / KEY)
        for name in (
            str(board.folder / KEY),
            "link",
            f"{board.folder}/../{board.folder.name}/{KEY}",
        ):
            kubeconfig = write_kubeconfig(
                Path(folder) / "kubeconfig",
                server=server.url,
                user={"tokenFile": name},
                authority=authority.certificate_pem,
            )
            for flag in ((), ("--allow-token-file",)):
                _try(board, server, kubeconfig, flag)
                tried += 1
    heard = [str(request.headers) for request in server.requests]
    key = (board.folder / KEY).read_text().strip()
    assert not any(key in text for text in heard), "the encryption key was sent to the stranger"
    assert heard == [], "a kubeconfig that names our key was taken"
    return {"tried": tried, "heard": len(heard)}


def _try(board: Installation, server: Server, kubeconfig: Path, flag: tuple[str, ...]) -> None:
    """Add the cluster; where the command does not refuse it, wait until it is polled."""
    with contextlib.suppress(AssertionError):
        board.manage("add_cluster", CLUSTER, "--kubeconfig", str(kubeconfig), *flag)
        give_up_at = time.monotonic() + PATIENCE
        while not server.requests and time.monotonic() < give_up_at:
            time.sleep(0.1)
        board.manage("remove_cluster", CLUSTER)
