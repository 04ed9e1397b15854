"""Fields of Grove's objects (operator/api/core/v1alpha1 of v0.1.0-alpha.12-rc1)."""

from __future__ import annotations

import msgspec

from gangboard.decode.jobs import WireTemplateSpec
from gangboard.decode.key_fields import KeyField
from gangboard.decode.owner_meta import WireOwnerMeta
from gangboard.decode.wire import Int32, Wire, WireCondition, read_text

GROUP = "grove.io"
PODCLIQUESET, SCALING_GROUP, PODCLIQUE = "PodCliqueSet", "PodCliqueScalingGroup", "PodClique"
CLIQUE_LABEL, PODGANG_LABEL = "grove.io/podclique", "grove.io/podgang"
SET_INDEX, GROUP_INDEX = "set replica", "group replica"
"""Keys in `Owner.detail` of a PodClique or scaling group: its replica of the set and of the scaling group."""

# Error codes with which Grove only requeues the object (operator/internal/errors/errors.go).
_REQUEUE_CODES = frozenset({"ERR_REQUEUE_AFTER", "ERR_CONTINUE_RECONCILE_AND_REQUEUE"})


class WireError(Wire):
    """One entry of `lastErrors`."""

    code: str | None = None
    description: str | None = None


class WireStatus(Wire):
    """Common fields of `status`."""

    conditions: list[WireCondition] | None = None
    last_errors: list[WireError] | None = None


class WireCliqueSpec(Wire):
    """`spec` of a PodClique, also in a template."""

    pod_spec: WireTemplateSpec | None = None
    replicas: Int32 | None = None
    min_available: KeyField[Int32 | None] = None

    @property
    def pod(self) -> WireTemplateSpec:
        """The spec of its pods."""
        return self.pod_spec or WireTemplateSpec()


class _WireCliqueTemplate(Wire):
    name: str = ""
    spec: WireCliqueSpec | None = None


class WireScalingGroup(Wire):
    """An entry of `podCliqueScalingGroups` in a template."""

    name: str = ""
    clique_names: list[str] | None = None
    replicas: Int32 | None = None


class _WireScalingGroupSpec(WireScalingGroup):
    """`spec` of a PodCliqueScalingGroup, which has no name."""

    clique_names: KeyField[list[str] | None] = None


class WireSetTemplate(Wire):
    """`spec.template` of a PodCliqueSet."""

    cliques: list[_WireCliqueTemplate] | None = None
    groups: list[WireScalingGroup] | None = msgspec.field(
        default=None, name="podCliqueScalingGroups"
    )
    priority_class_name: str | None = None


class WireSet(Wire):
    """`spec` of a PodCliqueSet."""

    replicas: Int32 | None = None
    template: WireSetTemplate | None = None


class WirePodCliqueSet(Wire):
    """The fields of a PodCliqueSet that gangboard reads."""

    metadata: WireOwnerMeta
    spec: WireSet | None = None
    status: WireStatus | None = None


class WireClique(WireStatus):
    """`status` of a PodClique."""

    scheduled_replicas: Int32 | None = None


class WireLabels(Wire):
    """Labels of a PodClique or scaling group."""

    podgang: str | None = msgspec.field(default=None, name=PODGANG_LABEL)
    set_index: str | None = msgspec.field(default=None, name="grove.io/podcliqueset-replica-index")
    group_index: str | None = msgspec.field(
        default=None, name="grove.io/podcliquescalinggroup-replica-index"
    )

    @property
    def detail(self) -> dict[str, str]:
        """The replica indexes, as `Owner.detail` keeps them."""
        indexes = {SET_INDEX: self.set_index, GROUP_INDEX: self.group_index}
        return {name: read_text(text) for name, text in indexes.items() if text}


class WireLabelledMeta(WireOwnerMeta):
    """`metadata` of a PodClique or scaling group."""


class WirePodClique(Wire):
    """The fields of a PodClique that gangboard reads."""

    metadata: WireLabelledMeta
    spec: WireCliqueSpec | None = None
    status: WireClique | None = None


class WirePodCliqueScalingGroup(Wire):
    """The fields of a PodCliqueScalingGroup that gangboard reads."""

    metadata: WireLabelledMeta
    spec: _WireScalingGroupSpec | None = None
    status: WireStatus | None = None


def last_error(status: WireStatus | None) -> dict[str, str]:
    """Return the last error that is not a requeue, as `Owner.detail` keeps it.

    Grove writes the errors of its last reconcile and removes them after a successful one.
    """
    errors = [
        error
        for error in (status.last_errors if status else None) or ()
        if error.code not in _REQUEUE_CODES
    ]
    if not errors or not errors[-1].description:
        return {}
    return {"error code": errors[-1].code or "", "error": read_text(errors[-1].description)}
