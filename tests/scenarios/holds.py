"""A child Job that stays suspended although the JobSet runs: only a Hold makes that possible.

The resource and the policy are those that the product will install; here they are set up by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from tests.controlplane.client import Client, Json, wait
from tests.controlplane.objects import jobset
from tests.scenarios.scenario import Played, Scenario, Stage, patiently

MANIFEST = Path(__file__).with_name("hold.yaml")


def install_hold(client: Client) -> None:
    """Create the Hold resource and the policy that turns every un-suspend of a held Job back."""
    client.create_all(yaml.safe_load_all(MANIFEST.read_text()))
    wait(lambda: _is_served(client), what="the Hold resource to be served")


def _is_served(client: Client) -> bool:
    groups = client.request("GET", "/apis")["groups"]
    return any(group["name"] == "gangboard.dev" for group in groups)


def three_jobs(ns: str, nodes: Mapping[str, str]) -> list[Json]:
    """Return a JobSet of three Jobs."""
    return [jobset("trio", ns, jobs={"w": {"replicas": 3, "pods": 2, "node_selector": nodes}})]


def hold_one(stage: Stage) -> None:
    """Hold w-1, see by dry-run that an un-suspend would be turned back, then suspend it."""
    stage.wait_running(6)
    client, ns = stage.client, stage.namespace
    owner = client.get("jobset.x-k8s.io/v1alpha2", "JobSet", "trio", ns)["metadata"]["uid"]
    spec = {"jobName": "trio-w-1", "ownerUID": owner, "by": "tests", "reason": "scenario"}
    metadata = {"name": "trio-w-1", "namespace": ns}
    client.create(
        {"apiVersion": "gangboard.dev/v1alpha1", "kind": "Hold", "metadata": metadata, "spec": spec}
    )
    resume = {"spec": {"suspend": False}}

    def is_turned_back() -> bool:
        answer = client.patch("batch/v1", "Job", "trio-w-1", resume, ns, dry_run=True)
        return bool(answer["spec"].get("suspend"))

    patiently(is_turned_back, "the policy to be in force")
    client.patch("batch/v1", "Job", "trio-w-1", {"spec": {"suspend": True}}, ns)


HOLDS = (
    Scenario(
        "job-suspended", "JobSet", "trio", "job-suspended", "suspended", three_jobs,
        says=("1 of 3", "trio-w-1", "held by tests"), members={"desired": 6, "held": 2, "ready": 4}, nodes=1,
        act=hold_one, twin="whole",
    ),
)  # fmt: skip

PLAYED: Played = {"k137": HOLDS}
