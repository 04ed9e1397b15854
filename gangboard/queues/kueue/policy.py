"""Settings of a ClusterQueue: namespaces, admission checks, preemption and the choice of flavors.

The defaults are those of the API (clusterqueue_types.go of v0.19.2). v1beta1 names the values `MayStopSearch` of both
versions also `Borrow` and `Preempt`.
"""

from __future__ import annotations

from gangboard.decode.selectors import WireLabelSelector, read_selector
from gangboard.decode.wire import Wire
from gangboard.domain.queue_policy import PreemptionPolicy, QueuePolicy, RequiredCheck

_NEXT_FLAVOR = "TryNextFlavor"
_POLICIES = {policy.value: policy for policy in PreemptionPolicy}


class _WireCheck(Wire):
    name: str = ""
    on_flavors: list[str] | None = None


class WireChecks(Wire):
    """`spec.admissionChecksStrategy`."""

    admission_checks: list[_WireCheck] | None = None


class _WireBorrowing(Wire):
    policy: str | None = None


class WirePreemption(Wire):
    """`spec.preemption`."""

    within_cluster_queue: str | None = None
    reclaim_within_cohort: str | None = None
    borrow_within_cohort: _WireBorrowing | None = None


class WireFungibility(Wire):
    """`spec.flavorFungibility`."""

    when_can_borrow: str | None = None
    when_can_preempt: str | None = None
    preference: str | None = None


def read_policy(
    selector: WireLabelSelector | None,
    checks: WireChecks | None,
    check_names: list[str] | None,
    preemption: WirePreemption | None,
    fungibility: WireFungibility | None,
    *,
    is_by_variant: bool,
) -> QueuePolicy:
    """Return the settings. A missing namespace selector admits no namespace.

    `check_names` is `spec.admissionChecks` of v1beta1, which excludes the strategy.
    """
    preemption, fungibility = preemption or WirePreemption(), fungibility or WireFungibility()
    borrowing = preemption.borrow_within_cohort or _WireBorrowing()
    return QueuePolicy(
        namespaces=read_selector(selector) if selector is not None else None,
        checks=(
            *(RequiredCheck(name) for name in check_names or ()),
            *(
                RequiredCheck(check.name, tuple(check.on_flavors or ()))
                for check in (checks or WireChecks()).admission_checks or ()
            ),
        ),
        within_queue=_read_preemption(preemption.within_cluster_queue),
        reclaim=_read_preemption(preemption.reclaim_within_cohort),
        borrows_by_preemption=borrowing.policy not in (None, "", PreemptionPolicy.NEVER),
        stops_at_borrowing=fungibility.when_can_borrow != _NEXT_FLAVOR,
        stops_at_preemption=fungibility.when_can_preempt not in (None, "", _NEXT_FLAVOR),
        prefers_preemption=fungibility.preference == "PreemptionOverBorrowing",
        is_by_variant=is_by_variant,
    )


def _read_preemption(policy: str | None) -> PreemptionPolicy:
    return _POLICIES.get(policy or PreemptionPolicy.NEVER, PreemptionPolicy.UNKNOWN)
