"""A cluster that accepts connections and sends no byte."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def black_hole(folder: Path) -> Iterator[Path]:
    """Listen on loopback without ever accepting; yields the kubeconfig that points there."""
    with socket.create_server(("127.0.0.1", 0), backlog=1) as listener:
        server = f"https://127.0.0.1:{listener.getsockname()[1]}"
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "hole", "cluster": {"server": server}}],
            "users": [{"name": "hole", "user": {"token": "nobody-reads-this"}}],
            "contexts": [{"name": "hole", "context": {"cluster": "hole", "user": "hole"}}],
            "current-context": "hole",
        }
        path = folder / "hole.kubeconfig"
        path.write_text(json.dumps(document))
        yield path
