"""Requests that most tests of this folder use."""

from __future__ import annotations

import pytest

from gangboard.kube.connection import Connection
from gangboard.kube.errors import KubeError
from tests.kube.conftest import TOKEN
from tests.kube.server import Request, Wire

PODS = "/api/v1/pods"


def refused(connection: Connection, **settings: float) -> KubeError:
    with pytest.raises(KubeError) as caught:
        connection.get(PODS, **settings)  # type: ignore[arg-type]
    error = caught.value
    assert connection.host in error.sentence
    assert TOKEN not in error.sentence
    assert error.__cause__ is not None or error.status is not None or error.code == "too-large"
    return error


def ok(request: Request, wire: Wire) -> None:
    wire.json({"kind": "PodList"})
