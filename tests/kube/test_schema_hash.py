"""The schema hash, which distinguishes builds of JobSet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangboard.kube.connection import Connection
from gangboard.kube.discovery import schema_hash
from gangboard.kube.errors import KubeError
from tests.kube.server import Server
from tests.kube.test_discovery import answering

Serve = Callable[..., Server]
Connect = Callable[..., Connection]
HASH = "EC375E2361C61A1F6254BE3CDB274BCEC9408D2F0BA971232987BDC61121F7E2DBE2EEED2878101C1E5631F0B1F22818CCF4C23658066A9F5DB3FBF7973A1303"
"""Observed on 1.37.0 with JobSet v0.12.0."""
INDEX = {
    "paths": {
        "api/v1": {"serverRelativeURL": "/openapi/v3/api/v1?hash=CORE"},
        "apis/jobset.x-k8s.io/v1alpha2": {
            "serverRelativeURL": f"/openapi/v3/apis/jobset.x-k8s.io/v1alpha2?hash={HASH}"
        },
        "apis/odd/v1": {"serverRelativeURL": "/openapi/v3/apis/odd/v1"},
    }
}


@pytest.mark.parametrize(
    ("group", "version", "expected"),
    [
        ("jobset.x-k8s.io", "v1alpha2", HASH[:64]),
        ("", "v1", "CORE"),
        ("jobset.x-k8s.io", "v1", ""),
        ("odd", "v1", ""),
    ],
)
def test_the_hash_is_in_the_index(
    serve: Serve, connect: Connect, group: str, version: str, expected: str
) -> None:
    server = serve(answering({"/openapi/v3": INDEX}))
    assert schema_hash(connect(server), group, version) == expected


@pytest.mark.parametrize("answer", [403, 404, {"paths": None}, {"paths": {"a": 1}}, {}])
def test_a_missing_index_entry_gives_no_hash(serve: Serve, connect: Connect, answer: Any) -> None:
    server = serve(answering({"/openapi/v3": answer}))
    assert schema_hash(connect(server), "jobset.x-k8s.io", "v1alpha2") == ""


def test_a_server_that_fails_is_not_a_build(serve: Serve, connect: Connect) -> None:
    server = serve(answering({"/openapi/v3": 500}))
    with pytest.raises(KubeError):
        schema_hash(connect(server), "jobset.x-k8s.io", "v1alpha2")
