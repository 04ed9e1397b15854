"""Gang requests of a JobSet: `spec.scheduling`, and its earlier draft `spec.gangPolicy`.

No release up to v0.12 has either field.

`spec.scheduling` comes from the merged KEP (keps/969-WAS-integration, jobset#1253; code in jobset#1250):

- A policy at the top stands for one group of all pods. With a startup order it is one group per ReplicatedJob.
- An entry of `replicatedJobs` stands for a group of the ReplicatedJobs that it names. With `job` it is one group per Job.
- Without a policy, the group is a gang. A gang without `minCount` needs all its pods.

`spec.gangPolicy` (jobset#1111, closed) has three named modes. In the third, the user provides the Workload.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import msgspec

from gangboard.decode.jobs import WireScheduling, read_gang_request
from gangboard.decode.podspec import NULL
from gangboard.decode.wire import Wire, read_text
from gangboard.domain.owner import GangForm, GangRequest, Role
from gangboard.domain.text import names

_SCHEDULING = "spec.scheduling"
_POLICY = "spec.gangPolicy"
_MAX_ENTRIES_NAMED = 4
"""Entries that a sentence names one by one."""
_ALL_IN_ONE, _PER_ROLE, _TEMPLATE = (
    "JobSetAsGang",
    "JobSetGangPerReplicatedJob",
    "JobSetWorkloadTemplate",
)


class WireGangItem(WireScheduling):
    """One entry of `spec.scheduling.replicatedJobs`."""

    target_replicated_jobs: list[str] | None = None
    job: WireScheduling | None = None


class WireJobSetScheduling(WireScheduling):
    """`spec.scheduling`."""

    replicated_jobs: list[WireGangItem] | None = None


class WireGangPolicy(Wire):
    """`spec.gangPolicy`. gangboard only reads whether it has a template."""

    gang_policy_option: str | None = None
    workload: msgspec.Raw = NULL
    workload_template: msgspec.Raw = NULL

    @property
    def has_template(self) -> bool:
        """Whether it contains a Workload template, under the field name of either draft."""
        return any(
            bytes(template) != bytes(NULL) for template in (self.workload, self.workload_template)
        )


JobSetGangRequests = tuple[GangRequest | None, tuple[Role, ...]]
"""The gang request of the JobSet, and its roles with their gang requests."""


def read_gang_requests(
    roles: tuple[Role, ...],
    scheduling: WireJobSetScheduling | None,
    policy: WireGangPolicy | None,
) -> JobSetGangRequests:
    """Return the gang requests of a JobSet with these roles, from either field."""
    if scheduling is not None and scheduling.replicated_jobs:
        return _requests_of_entries(roles, scheduling.replicated_jobs)
    if scheduling is not None:
        request = read_gang_request(scheduling, quorum=_size(roles), default="gang")
        return _requests_of_policy(roles, request)
    return _requests_of_option(roles, policy) if policy is not None else (None, roles)


def _requests_of_policy(roles: tuple[Role, ...], request: GangRequest | None) -> JobSetGangRequests:
    if request is None or request.policy not in ("gang", "basic"):
        return request, roles
    if request.policy == "basic":
        text = f"One group of all its pods, which are placed one by one ({_SCHEDULING})"
        return replace(request, form=GangForm.POD_BY_POD, words=text), roles
    if any(role.depends_on for role in roles):
        return _requests_per_role(roles, f"{_SCHEDULING}; they start one after the other")
    return _request_for_all(roles, request, _SCHEDULING), roles


def _request_for_all(roles: Sequence[Role], request: GangRequest, field: str) -> GangRequest:
    text = f"All its pods are one gang{_minimum_text(request, roles)} ({field})"
    return replace(request, form=GangForm.WHOLE, words=text)


def _requests_per_role(roles: Iterable[Role], field: str) -> JobSetGangRequests:
    own_roles = tuple(replace(role, gang_request=_derived_request((role,))) for role in roles)
    text = f"Each ReplicatedJob is a gang of its own ({field})"
    return GangRequest("gang", form=GangForm.PER_ROLE, words=text), own_roles


def _requests_of_option(roles: tuple[Role, ...], policy: WireGangPolicy) -> JobSetGangRequests:
    """Return the gang requests of `gangPolicy`. A template without an option means the template option."""
    option = read_text(policy.gang_policy_option or "")
    if not option and policy.has_template:
        option = _TEMPLATE
    field = f"{_POLICY}: {option}"
    if option == _ALL_IN_ONE:
        return _request_for_all(roles, _derived_request(roles), field), roles
    if option == _PER_ROLE:
        return _requests_per_role(roles, field)
    if option == _TEMPLATE:
        text = f"Groups as in a Workload template of its own ({field})"
        return GangRequest("gang", form=GangForm.CUSTOM, words=text), roles
    if not option:
        return None, roles
    return GangRequest("unknown", words=f"A mode that is not known here ({field})"), roles


# Entries of replicatedJobs


def _requests_of_entries(
    roles: tuple[Role, ...], entries: Sequence[WireGangItem]
) -> JobSetGangRequests:
    """Return the gang requests of the entries. A role outside all entries has none."""
    requests: dict[str, GangRequest] = {}
    forms: set[GangForm] = set()
    texts: list[str] = []
    for entry in entries:
        targets = [read_text(name) for name in entry.target_replicated_jobs or ()]
        own_roles = [role for role in roles if role.name in targets]
        request, form, form_text = _request_of_entry(entry, own_roles)
        requests.update((role.name, request) for role in own_roles)
        forms.add(form)
        texts.append(f"{names(targets)}: {form_text}")
    if len(texts) > _MAX_ENTRIES_NAMED:
        texts[_MAX_ENTRIES_NAMED:] = [f"{len(texts) - _MAX_ENTRIES_NAMED} more entries"]
    form = forms.pop() if len(forms) == 1 else GangForm.CUSTOM
    return (
        GangRequest(
            "gang"
            if any(role_request.policy == "gang" for role_request in requests.values())
            else "basic",
            form=form,
            words=f"{'; '.join(texts)} ({_SCHEDULING})",
        ),
        tuple(replace(role, gang_request=requests.get(role.name)) for role in roles),
    )


def _request_of_entry(
    entry: WireGangItem, roles: Sequence[Role]
) -> tuple[GangRequest, GangForm, str]:
    """Return the gang request of one entry for these roles, its form, and its text."""
    wire = entry if entry.job is None else entry.job
    size = _size(roles) if entry.job is None else sum(role.pods for role in roles)
    request = read_gang_request(wire, quorum=size, default="gang") or GangRequest("gang", size)
    if request.policy == "basic":
        return request, GangForm.POD_BY_POD, "pod by pod"
    if request.policy != "gang":
        return request, GangForm.CUSTOM, "a policy that is not known here"
    if entry.job is not None:
        return request, GangForm.PER_JOB, "a gang for each Job"
    form = GangForm.PER_ROLE if len(roles) == 1 else GangForm.CUSTOM
    return request, form, f"one gang{_minimum_text(request, roles)}"


def _derived_request(roles: Iterable[Role]) -> GangRequest:
    return GangRequest("gang", _size(roles), derived=True)


def _size(roles: Iterable[Role]) -> int:
    """Return the number of pods of these roles, which is the default of `minCount`."""
    return sum(role.replicas * role.pods for role in roles)


def _minimum_text(request: GangRequest, roles: Iterable[Role]) -> str:
    if request.derived or request.quorum is None:
        return ""
    return f", for which {request.quorum:,} of its {_size(roles):,} pods are enough"
