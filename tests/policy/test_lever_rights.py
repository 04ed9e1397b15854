"""The rights of each lever: together they are the role that print_rbac prints, no more and no less."""

from __future__ import annotations

import pytest

from gangboard.actions.permissions.roles import actor_roles
from gangboard.policy.lever_permissions import PermissionOptions, lever_rights

HOLDS = "holds.gangboard.dev"
CASES = [
    PermissionOptions(),
    PermissionOptions(parallelism=True),
    PermissionOptions(
        not_served=frozenset({"jobsets.jobset.x-k8s.io", "workloads.kueue.x-k8s.io"})
    ),
]


@pytest.mark.parametrize("wanted", CASES)
def test_all_of_them_are_the_role_of_the_actor(wanted: PermissionOptions) -> None:
    rights = {
        (right.group, right.plural, right.verb)
        for lever in lever_rights(wanted)
        for right in lever.rights
    }
    role = actor_roles(wanted)[0]
    assert rights == {
        (group, plural, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for plural in rule["resources"]
        for verb in rule["verbs"]
    }


def test_each_lever_needs_its_own() -> None:
    result = {
        lever.lever: lever.rights for lever in lever_rights(PermissionOptions(parallelism=True))
    }
    resources = {
        lever: {right.resource for right in rights if right.verb in ("patch", "create")}
        for lever, rights in result.items()
    }
    assert resources["hold"] == {HOLDS, "jobs.batch", "jobsets.jobset.x-k8s.io"}
    assert resources["parallelism"] == {"jobs.batch", "jobsets.jobset.x-k8s.io"}
    assert resources["kueue-active"] == {"workloads.kueue.x-k8s.io"}
    assert resources["kueue-exclusion"] == {"workloads.kueue.x-k8s.io", "jobs.batch"}
    assert resources["volcano_command"] == {"commands.bus.volcano.sh"}
    assert all(
        ("", "pods", "list") in {(r.group, r.plural, r.verb) for r in rights}
        for rights in result.values()
    )


def test_disabled_and_unserved_levers_are_unavailable() -> None:
    assert "parallelism" not in {lever.lever for lever in lever_rights(PermissionOptions())}
    without = lever_rights(PermissionOptions(not_served=frozenset({HOLDS})))
    assert [lever.lever for lever in without if lever.lever in ("hold", "native")] == ["native"]
    without = lever_rights(PermissionOptions(not_served=frozenset({"workloads.kueue.x-k8s.io"})))
    assert not [lever.lever for lever in without if lever.lever.startswith("kueue")]
