"""JobSets of the demo end when their Jobs do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.simulator.conftest import Start, client_of

_ENDED = ("Complete", "Completed", "Failed")


def _owners(obj: dict[str, Any]) -> set[str]:
    return {str(owner["uid"]) for owner in obj["metadata"].get("ownerReferences", [])}


def _end_time(obj: dict[str, Any]) -> str | None:
    conditions = obj.get("status", {}).get("conditions", [])
    ends = [
        str(condition["lastTransitionTime"])
        for condition in conditions
        if condition["type"] in _ENDED and condition["status"] == "True"
    ]
    return max(ends, default=None)


@pytest.mark.parametrize("fleet", ["east", "west"])
def test_no_jobset_ends_before_its_jobs(start: Start, tmp_path: Path, fleet: str) -> None:
    client = client_of(start(fleet), tmp_path)
    jobs = client.list("batch/v1", "Job")
    ended = [obj for obj in client.list("jobset.x-k8s.io/v1alpha2", "JobSet") if _end_time(obj)]
    client.close()
    assert ended
    for jobset in ended:
        uid = jobset["metadata"]["uid"]
        mine = [job for job in jobs if uid in _owners(job)]
        ends = [end for job in mine if (end := _end_time(job))]
        assert str(_end_time(jobset)) >= max(ends, default=""), jobset["metadata"]["name"]
