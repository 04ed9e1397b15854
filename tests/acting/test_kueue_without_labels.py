"""Kueue that manages also what names no queue, under one gangboard: settings of its own, so alone."""

from __future__ import annotations

import pytest

from tests.acting.identities import install, remove
from tests.acting.queued import managed_without_a_label
from tests.acting.scene import Scene
from tests.controlplane.cluster import ControlPlane
from tests.installation import Installation

pytestmark = [pytest.mark.slow, pytest.mark.controlplane]


def test_what_names_no_queue_and_is_managed_waits(controlplane_kueue: ControlPlane) -> None:
    plane = controlplane_kueue
    with (
        plane.kueue_configured(manageJobsWithoutQueueName=True),
        Installation({"kueue": plane.kubeconfig}) as installation,
    ):
        install(installation, plane, "kueue", holds=False)
        scene = Scene(installation, plane, "kueue", "acting-without-label")
        try:
            managed_without_a_label(scene)
        finally:
            scene.clear()
            remove(installation, plane, "kueue")
