"""`hold-cordon`: one Job whose nodes an admission system has chosen, moved by a cordon of one node for a moment.

The system pins new pods to its assignment, so a change of the template would keep them pending. It replaces a
node that is cordoned once the pods there are gone. The Hold keeps the Job suspended until then.
"""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.domain.action import ClusterLevers, Step, StepKind
from gangboard.domain.hold import HOLD_CORDON_LEVER
from gangboard.domain.owner import Owner
from gangboard.facts.gang import Gang
from gangboard.levers.hold.confirmation_texts import cluster_warnings, proof_sentence
from gangboard.levers.hold.readiness import ProofTexts, installation_refusal, readiness_under_hold
from gangboard.levers.hold.requests import create_hold, created_holds, delete_created_hold
from gangboard.plugins.lever import CreatedResource, Lever, LeverState, Readiness
from gangboard.policy.cordons import cordon, uncordon, wait_replaced, wait_tainted
from gangboard.policy.decision import PROVED_SECONDS, Decision, DesiredAction, PlanRefusal
from gangboard.policy.phrases import moment
from gangboard.policy.requests import prove, restart_job, suspend_job, wait_stopped

_SETTING = "GANGBOARD_CORDON=on"
_PROOF_TEXTS = ProofTexts(
    ready="The Hold is ready, and a cordoned node was replaced.",
    unproved="The Hold is ready. No cordoned node was replaced here yet.",
    refuted="The Hold is ready. The last cordoned node was not replaced.",
)


class HoldCordon(Lever):
    """A cordon, a Hold, the system's new assignment, the release, and the end of the cordon."""

    key = HOLD_CORDON_LEVER
    position = 27
    label = "Hold and cordon"
    title = "Relocate one Job by a cordon"
    done = "Relocated"
    applied = "Restarted"
    state = "away"
    optional = True
    cordons = True

    def decide(self, gang: Gang, subject: Owner, desired: DesiredAction) -> Decision:
        """Return the cordon, the Hold, the suspend, the wait for another node, and the release."""
        node, is_cordoned = _node_of(desired)
        return Decision(
            lambda: _steps(gang, subject, desired, node, is_cordoned),
            before={},
            after={},
            watch_seconds=PROVED_SECONDS,
            reactions=(*_reactions(gang, node, is_cordoned), proof_sentence(desired.levers)),
            warnings=(
                *cluster_warnings(desired.levers),
                *_proof_warnings(gang, desired.levers),
                # Observed on Kueue 0.19 on a busy machine, with a node that could take the pods.
                f"If {gang.queue_system} finds no replacement for the node, it evicts the whole of {gang.name}.",
            ),
        )

    def readiness(self, levers: ClusterLevers, kinds: str, closed_reason: str) -> LeverState:
        """Return whether the Hold is ready, nodes may be cordoned, and an admission system replaced one."""
        if not levers.cordon:
            text = f"Off: {_SETTING} lets gangboard cordon a node for a moment."
            return LeverState(Readiness.OFF, text)
        return readiness_under_hold(
            levers,
            closed_reason,
            proved_at=levers.cordon_proved_at,
            refuted_at=levers.cordon_refuted_at,
            texts=_PROOF_TEXTS,
        )

    def unavailable(self, levers: ClusterLevers) -> PlanRefusal | None:
        """Refuse without the right to cordon, and in a cluster without the Hold."""
        if not levers.cordon:
            return PlanRefusal(
                "an admission system chose its nodes, so the node must be cordoned for a moment, and gangboard may not "
                f"cordon nodes: set {_SETTING} and apply the output of manage.py print_rbac again",
                _SETTING,
            )
        return installation_refusal(levers)

    def created_resource(self, parents: Sequence[tuple[str, str]]) -> CreatedResource:
        """Return the resource Hold, with the conditions of lever `hold`."""
        return created_holds(parents)


def _node_of(desired: DesiredAction) -> tuple[str, bool]:
    """Return the node to leave and whether it is cordoned already. The name is empty for a button."""
    nodes = desired.surroundings.nodes if desired.surroundings is not None else ()
    name = desired.avoid.nodes[0] if desired.avoid is not None and desired.avoid.nodes else ""
    return name, any(node.name == name and node.unschedulable for node in nodes)


def _steps(
    gang: Gang, job: Owner, desired: DesiredAction, node: str, is_cordoned: bool
) -> tuple[Step, ...]:
    """Return the steps. A node that another client has cordoned stays cordoned."""
    assert desired.replacement is not None  # noqa: S101  # a plan with a place has one
    return (
        *(() if is_cordoned else (cordon(node, desired.action),)),
        wait_tainted(node),
        create_hold(gang, job, desired),
        prove(StepKind.PROVE_HOLD, gang, job, "is turned back"),
        suspend_job(gang, job, desired.action, suspend=True),
        wait_stopped(gang, job),
        wait_replaced(gang, desired.replacement.entry, node),
        delete_created_hold(gang, job, desired),
        prove(StepKind.PROVE_RELEASE, gang, job, "is let through"),
        restart_job(gang, job, desired.action),
        *(() if is_cordoned else (uncordon(node, desired.action),)),
    )


def _reactions(gang: Gang, node: str, is_cordoned: bool) -> tuple[str, ...]:
    place = f"Node {node}" if node else "The node to leave"
    text = (
        f"{place} is cordoned already and stays so."
        if is_cordoned
        else f"{place} is cordoned for everybody while the Job moves: no new pod starts there until then."
    )
    return (
        text,
        f"{gang.queue_system} assigns another node to its pods there. Its other pods get their former nodes again.",
    )


def _proof_warnings(gang: Gang, levers: ClusterLevers) -> tuple[str, ...]:
    """Warn if the admission system was not seen to replace a node, which no object shows."""
    if levers.cordon_refuted_at is not None:
        return (
            f"{gang.queue_system} did not replace the last cordoned node, at {moment(levers.cordon_refuted_at)}: its "
            "pods would restart where they were.",
        )
    if levers.cordon_proved_at is None:
        return (
            f"No node was replaced in this cluster yet. If {gang.queue_system} does not replace it in time, gangboard "
            "ends the cordon, and the Job restarts where it was.",
        )
    return ()
