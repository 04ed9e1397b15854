"""Who adds node labels to the pods of a Workload: its flavors and its admission checks.

Kueue writes the node labels of the assigned flavors, and those of `podSetUpdates` of checks, into the node selector of
the pods when it starts their owner. The Workload keeps the pod templates as the owner had them.
"""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.decode.wire import Int32, Wire
from gangboard.domain.queue import LabelSources
from gangboard.queues.kueue.topology import POD_SET_LABEL


class _WirePodSpec(Wire):
    node_selector: dict[str, str | None] | None = None


class _WireTemplate(Wire):
    spec: _WirePodSpec | None = None


class WirePodSet(Wire):
    """One of `spec.podSets`."""

    name: str = ""
    count: Int32 | None = None
    template: _WireTemplate | None = None

    @property
    def selected(self) -> frozenset[str]:
        """Node labels that its template selects."""
        spec = (self.template or _WireTemplate()).spec or _WirePodSpec()
        return frozenset(spec.node_selector or ())


class WireFlavorNames(Wire):
    """The names in one of `status.admission.podSetAssignments`."""

    name: str = ""
    flavors: dict[str, str] | None = None


class _WireUpdate(Wire):
    name: str = ""
    node_selector: dict[str, str | None] | None = None


class WireCheckUpdates(Wire):
    """One of `status.admissionChecks`, with what it changes of the pods."""

    name: str | None = None
    pod_set_updates: list[_WireUpdate] | None = None


def label_sources(
    pod_sets: Sequence[WirePodSet] | None,
    assignments: Sequence[WireFlavorNames] | None,
    checks: Sequence[WireCheckUpdates] | None,
) -> tuple[LabelSources, ...]:
    """Return the sources of the node labels of each assigned pod set."""
    own = {one.name: one.selected for one in pod_sets or ()}
    return tuple(
        LabelSources(
            POD_SET_LABEL,
            part.name,
            own.get(part.name, frozenset()),
            tuple(sorted(set((part.flavors or {}).values()))),
            {
                key: check.name or ""
                for check in checks or ()
                for update in check.pod_set_updates or ()
                if update.name == part.name
                for key in update.node_selector or ()
            },
        )
        for part in assignments or ()
    )
