"""A plane with the schedulers of all three APIs, and one gangboard that acts on it, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gangboard.kube.service_accounts import ACTOR, NAMESPACE
from gangboard.policy.lever_permissions import PermissionOptions
from tests.controlplane import gang_schedulers, grove
from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane
from tests.installation import Installation
from tests.permissions.installed import Installed, installed

NO_KUEUE = PermissionOptions(not_served=frozenset({"workloads.kueue.x-k8s.io"}))


@pytest.fixture(scope="package")
def gang_plane(controlplane_137: ControlPlane) -> Iterator[Client]:
    """1.37 with coscheduling, Volcano and KAI beside its own scheduler, and the kinds of Grove. Unbuilt ones skip, or fail where CI is set."""
    gang_schedulers.require_built()
    grove.serve(controlplane_137.client)  # KAI's podgrouper reads PodGangs
    with gang_schedulers.started(controlplane_137) as client:
        yield client
    grove.serve_no_more(controlplane_137.client)


@pytest.fixture(scope="package")
def accounts(gang_plane: Client, controlplane_137: ControlPlane) -> Iterator[Installed]:
    """Reader and actor, with the limits that `print_rbac` prints."""
    with installed(controlplane_137, NO_KUEUE) as result:
        yield result


@pytest.fixture(scope="package")
def board(accounts: Installed, controlplane_137: ControlPlane) -> Iterator[Installation]:
    """A whole gangboard that watches it, begun when all of it is served."""
    token = controlplane_137.service_account_token(NAMESPACE, ACTOR)
    actor = controlplane_137.kubeconfig_for(token, name="gangs-actor")
    admin = controlplane_137.kubeconfig
    with Installation({"gangs": admin}, actors={"gangs": actor}) as installation:
        yield installation
