"""The plans of clusters for one viewer: references become names, buttons and commands, or counts if they are hidden."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.action import Verb
from gangboard.domain.advice import with_cluster_name
from gangboard.domain.cluster_plan import (
    ClusterPlan,
    PlanGain,
    PlanStep,
    PlanStepKind,
    UntriedGangs,
)
from gangboard.domain.objects import ObjectRef
from gangboard.domain.shell import command, command_line, in_context
from gangboard.domain.text import count, is_or_are, listed
from gangboard.facts.stored_verdict import is_whole
from gangboard.pages.reasons.plan_rows import (
    ClusterPlanRow,
    PlanGainRow,
    PlanGangRow,
    PlanPodRow,
    PlanStepRow,
    PlanUntriedRow,
)
from gangboard.readmodels.action_offers import board_offers
from gangboard.readmodels.action_rows import OfferRow
from gangboard.readmodels.advice import victim_of
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.gangs import build_rows
from gangboard.store.access import Viewer
from gangboard.store.cluster_plans import read_plan_rows, unpack_plan
from gangboard.store.models import Gang
from gangboard.store.uid_lookups import Reference, resolve_references

OTHER_RELEASE = "stored by another release"
NOT_MADE = "not made yet"


def read_plans(
    *,
    viewer: Viewer,
    cluster: str,
    clusters: Mapping[int, Freshness],
    whole_gangs: bool,
    now: datetime,
) -> tuple[ClusterPlanRow, ...]:
    """Return the plan of each selected cluster that answers (2 queries, and 6 for buttons).

    `clusters` are all that the viewer sees. `whole_gangs`: with the steps that stop complete gangs.
    """
    selected = {
        id_: freshness
        for id_, freshness in clusters.items()
        if cluster in ("", freshness.cluster) and not freshness.is_silent
    }
    stored = read_plan_rows(selected)
    plans = {id_: plan for id_, row in stored.items() if (plan := unpack_plan(row)) is not None}
    gangs = _read_gangs(plans, viewer)
    offers = _read_offers(plans, gangs, viewer=viewer, clusters=clusters, now=now)
    rows = []
    for id_, freshness in selected.items():
        plan = plans.get(id_)
        why = (OTHER_RELEASE if id_ in stored else NOT_MADE) if plan is None else plan.why
        if plan is None or why:
            rows.append(_unknown(freshness, why))
        else:
            printer = _Printer(viewer, id_, freshness, gangs, offers)
            rows.append(printer.row(plan, stored[id_].observed_at, whole_gangs=whole_gangs))
    return tuple(rows)


def _unknown(freshness: Freshness, why: str) -> ClusterPlanRow:
    return ClusterPlanRow(
        cluster=freshness.cluster,
        made_at=None,
        why=why,
        waiting_gangs=None,
        waiting_accelerators=None,
        undecided=None,
        complete=None,
        untried=(),
        outdated=False,
        steps=(),
        without_steps=(),
    )


def _read_gangs(plans: Mapping[int, ClusterPlan], viewer: Viewer) -> dict[Reference, Gang]:
    """Return the living gangs of the plans that the viewer may see."""
    references = {
        Reference(id_, ref.namespace, ref.uid) for id_, plan in plans.items() for ref in _refs(plan)
    }
    living = Gang.objects.filter(viewer.gang_filter(), gone_at=None).defer("memory", "detail")
    return resolve_references(living, references)


def _refs(plan: ClusterPlan) -> Iterator[ObjectRef]:
    for gain in plan.without_steps:
        yield from gain.gangs
    for step in plan.steps:
        yield from step.gangs
        for gain in step.gains:
            yield from gain.gangs


def _read_offers(
    plans: Mapping[int, ClusterPlan],
    gangs: Mapping[Reference, Gang],
    *,
    viewer: Viewer,
    clusters: Mapping[int, Freshness],
    now: datetime,
) -> Mapping[str, OfferRow]:
    """Return gang id → the button to suspend it, for the gangs that steps suspend."""
    victims = {
        gang.pk: gang
        for id_, plan in plans.items()
        for step in plan.steps
        for ref in step.gangs
        if (gang := gangs.get(Reference(id_, ref.namespace, ref.uid))) is not None
    }
    if not victims:
        return {}
    rows = build_rows(list(victims.values()), viewer=viewer, clusters=clusters, now=now)
    offers = board_offers(viewer=viewer, rows=rows, clusters=clusters)
    return {
        id_: offered[0]
        for id_, offered in offers.items()
        if offered[0].allowed and offered[0].verb == Verb.SUSPEND
    }


@dataclass(frozen=True, slots=True)
class _Printer:
    """Prints the plan of one cluster for one viewer."""

    viewer: Viewer
    cluster_id: int
    freshness: Freshness
    gangs: Mapping[Reference, Gang]
    offers: Mapping[str, OfferRow]

    def row(self, plan: ClusterPlan, made_at: datetime, *, whole_gangs: bool) -> ClusterPlanRow:
        """Return the plan up to the first step that is no longer true."""
        steps, outdated = [], False
        for step in plan.steps:
            outdated = self._is_outdated(step)
            if outdated:
                break
            if whole_gangs or step.kind is not PlanStepKind.STOP_WHOLE:
                steps.append(self._step(step))
        untried = tuple(
            _untried(entry)
            for entry in plan.untried
            if whole_gangs or entry.kind is not PlanStepKind.STOP_WHOLE
        )
        return ClusterPlanRow(
            cluster=self.freshness.cluster,
            made_at=made_at,
            why="",
            waiting_gangs=plan.waiting_gangs,
            waiting_accelerators=plan.waiting_accelerators,
            undecided=plan.undecided,
            complete=not untried and (plan.is_complete or bool(plan.untried)),
            untried=untried,
            outdated=outdated,
            steps=tuple(steps),
            without_steps=tuple(map(self._gain, plan.without_steps)),
        )

    def _gang(self, ref: ObjectRef) -> Gang | None:
        return self.gangs.get(Reference(self.cluster_id, ref.namespace, ref.uid))

    def _is_outdated(self, step: PlanStep) -> bool:
        """Return whether a gang to suspend is gone, or has become complete since the plan was made."""
        for ref in step.gangs:
            gang = self._gang(ref)
            if gang is None:
                if self.viewer.sees(self.cluster_id, ref.namespace):
                    return True
            elif step.kind is PlanStepKind.END_INCOMPLETE and is_whole(gang.stage, gang.code):
                return True
        return False

    def _step(self, step: PlanStep) -> PlanStepRow:
        nodes = self._nodes(step)
        pods = [ref for ref in step.pods if self.viewer.sees(self.cluster_id, ref.namespace)]
        victims = [gang for ref in step.gangs if (gang := self._gang(ref)) is not None]
        named = len(nodes) + len(pods) + len(victims)
        hidden = len(step.nodes) + len(step.pods) + len(step.gangs) - named
        text, commands = self._text(step, nodes, victims), () if hidden else _commands(step)
        if commands:
            text, _ = with_cluster_name(
                text, commands[0], self.freshness.cluster, self.freshness.context
            )
        return PlanStepRow(
            kind=step.kind.value,
            text=text,
            cost=self._cost(step),
            accelerators=step.accelerators,
            gains=tuple(map(self._gain, step.gains)),
            commands=tuple(
                command_line(in_context(arguments, self.freshness.context))
                for arguments in commands
            ),
            nodes=tuple(nodes),
            pods=tuple(PlanPodRow(printable(ref.namespace), printable(ref.name)) for ref in pods),
            victims=tuple(victim_of(gang, None) for gang in victims),
            hidden=hidden,
            offers=tuple(self.offers[gang.pk] for gang in victims if gang.pk in self.offers),
        )

    def _gain(self, gain: PlanGain) -> PlanGainRow:
        gangs = [gang for ref in gain.gangs if (gang := self._gang(ref)) is not None]
        return PlanGainRow(
            count=gain.count,
            of=gain.of,
            accelerators=gain.accelerators,
            gangs=tuple(
                PlanGangRow(
                    gang.pk, printable(gang.kind), printable(gang.namespace), printable(gang.name)
                )
                for gang in gangs
            ),
        )

    def _nodes(self, step: PlanStep) -> list[str]:
        if not self.viewer.names_nodes(self.cluster_id):
            return []
        return [printable(ref.name) for ref in step.nodes]

    def _text(self, step: PlanStep, nodes: list[str], victims: list[Gang]) -> str:
        named = listed(nodes) if nodes else count(len(step.nodes), "node")
        if step.kind is PlanStepKind.UNCORDON:
            return f"Uncordon {named}."
        if step.kind is PlanStepKind.REMOVE_TAINT:
            taint = f"the taint {printable(str(step.taint))}" if nodes else "a taint"
            return f"Remove {taint} from {named}."
        if step.kind is PlanStepKind.MOVE_PODS:
            return (
                f"Move {count(len(step.pods), 'pod')} to other nodes: cordon {named}, delete the pods, "
                "and uncordon after their controllers have created them elsewhere."
            )
        names = [f"{printable(gang.kind)} {printable(gang.name)}" for gang in victims]
        unnamed = len(step.gangs) - len(victims)
        if unnamed:
            names.append(f"{count(unnamed, 'gang')} that you may not see")
        is_whole_step = step.kind is PlanStepKind.STOP_WHOLE
        state = f"{is_or_are(len(step.gangs))} not complete"
        if is_whole_step:
            state = "runs completely" if len(step.gangs) == 1 else "run completely"
        return f"Suspend {listed(names)}, which {state}."

    def _cost(self, step: PlanStep) -> str:
        """Return what a step costs others. The gangs to suspend have their cost in fields of their own."""
        if step.kind is PlanStepKind.MOVE_PODS:
            return (
                "Each of these pods restarts once, on another node. "
                "A deletion ignores PodDisruptionBudgets."
            )
        shows_author = step.by and self.viewer.names_nodes(self.cluster_id)
        if step.kind is PlanStepKind.UNCORDON:
            return printable(f"Cordoned {step.by}.") if shows_author else ""
        if step.kind is PlanStepKind.REMOVE_TAINT:
            author = printable(f" Tainted {step.by}.") if shows_author else ""
            return f"Any other pod may then start there, too.{author}"
        return ""


_TRIALS = {
    PlanStepKind.UNCORDON: "Uncordons",
    PlanStepKind.REMOVE_TAINT: "Removals of taints",
    PlanStepKind.END_INCOMPLETE: "Suspends of incomplete gangs",
    PlanStepKind.MOVE_PODS: "Moves of pods",
    PlanStepKind.STOP_WHOLE: "Suspends of complete gangs",
}


def _untried(entry: UntriedGangs) -> PlanUntriedRow:
    gangs = count(entry.gangs, "gang")
    size = f" with {count(entry.accelerators, 'accelerator')}" if entry.accelerators else ""
    return PlanUntriedRow(
        kind=entry.kind.value,
        gangs=entry.gangs,
        accelerators=entry.accelerators,
        text=f"{_TRIALS[entry.kind]} were not tried for {gangs}{size}.",
    )


def _commands(step: PlanStep) -> tuple[tuple[str, ...], ...]:
    """Return the commands of a step, or none if a name is unsafe in a shell."""
    commands = tuple(_arguments(step))
    return commands if all(commands) else ()


def _arguments(step: PlanStep) -> Iterator[tuple[str, ...]]:
    names = [ref.name for ref in step.nodes]
    marks = " {}" * len(names)
    if step.kind is PlanStepKind.UNCORDON:
        yield command(f"kubectl uncordon{marks}", *names)
    elif step.kind is PlanStepKind.REMOVE_TAINT and step.taint is not None:
        prefix, slash, key = step.taint.key.rpartition("/")
        pieces = [prefix, key] if slash else [key]
        taint = "/".join(["{}"] * len(pieces)) + ":{}-"
        yield command(f"kubectl taint nodes{marks} {taint}", *names, *pieces, step.taint.effect)
    elif step.kind is PlanStepKind.MOVE_PODS:
        yield command(f"kubectl cordon{marks}", *names)
        for namespace, pods in _by_namespace(step.pods).items():
            marks_of_pods = " {}" * len(pods)
            yield command(f"kubectl delete pods -n {{}}{marks_of_pods}", namespace, *pods)
        yield command(f"kubectl uncordon{marks}", *names)


def _by_namespace(refs: Iterable[ObjectRef]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for ref in refs:
        names.setdefault(ref.namespace, []).append(ref.name)
    return names
