"""The check of manifests in one cluster, from documents to a forecast for each gang."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from gangboard.decode.manifests import Document
from gangboard.diagnosis.engine import assess
from gangboard.domain.check import (
    NOT_OBSERVED,
    NOT_SERVED,
    UNKNOWN_KIND,
    CheckedGang,
    CheckVerdict,
    ClusterCheck,
)
from gangboard.domain.cluster_reach import silence_sentence
from gangboard.domain.forecast import Forecast, ManifestFault
from gangboard.domain.pod import Pod
from gangboard.domain.text import names
from gangboard.domain.verdict import Verdict
from gangboard.facts.cluster_view import ClusterView, kubernetes_minor
from gangboard.facts.gang import Gang
from gangboard.plugins import registry
from gangboard.polling.checks.candidates import Candidate, Candidates
from gangboard.polling.checks.conclusions import (
    Conclusion,
    awaits_completion,
    conclude,
    is_about_check,
    preemption_notes,
    refusal,
)
from gangboard.polling.checks.documents import sort_documents
from gangboard.polling.checks.expansion import (
    ExpansionError,
    NewObject,
    pods_below,
)
from gangboard.polling.checks.loaded_cluster import LoadedCluster, loaded_cluster
from gangboard.polling.checks.queue_admission import (
    apply_admission,
    entry_uid,
    with_owner,
)
from gangboard.polling.checks.scheduling import place_all, running_pod
from gangboard.polling.gang_inputs import GangReader, read_cluster_view
from gangboard.polling.gang_rows import gang_row
from gangboard.polling.visibility import why_capacity_unknown
from gangboard.store.models import Cluster
from gangboard.store.observations import SILENT_AFTER
from gangboard.store.verdict_spans import request_digest

_DEPENDENCY = "dependency-waiting"


def check_cluster(
    cluster: Cluster,
    documents: Sequence[Document],
    now: datetime,
    *,
    hidden: Sequence[Document] = (),
) -> ClusterCheck:
    """Return the forecasts about the gangs of a text in one cluster. It writes no row and sends no request.

    Gangs are judged in the order of their documents, each after the ones before it. `hidden` are documents in
    namespaces that the person may not see. They are not checked.
    """
    why = _why_unobserved(cluster, now)
    if why:
        return ClusterCheck(cluster.pk, cluster.name, why_unknown=why)
    unseen = tuple(_hidden_gang(document) for document in hidden)
    if hidden and not documents:
        return ClusterCheck(cluster.pk, cluster.name, unseen)
    with loaded_cluster(cluster, now) as loaded:
        result = _Check(loaded, now).run(documents)
    return replace(result, gangs=(*result.gangs, *unseen))


def _hidden_gang(document: Document) -> CheckedGang:
    namespace = document.namespace
    message = f"You may not see namespace {namespace} of this cluster."
    return _unjudged(document, CheckVerdict.UNKNOWN, NOT_OBSERVED, message)


def _why_unobserved(cluster: Cluster, now: datetime) -> str:
    """Return why the state of a cluster is unknown, as a sentence, or an empty text."""
    if cluster.contact_at is None or now - cluster.contact_at > SILENT_AFTER:
        return silence_sentence(cluster.name, cluster.contact_at, cluster.problem)
    if cluster.listed_at is None:
        return f"Cluster {cluster.name} has not been read completely yet."
    return ""


class _Check:
    """One check of one cluster."""

    def __init__(self, loaded: LoadedCluster, now: datetime) -> None:
        self._loaded, self._now = loaded, now
        self._candidates = Candidates(loaded, now)
        self._reader = GangReader(loaded.cache)
        self._notes: list[str] = []

    def run(self, documents: Sequence[Document]) -> ClusterCheck:
        """Return the forecasts."""
        sorted_documents = sort_documents(documents, self._candidates.expander)
        gangs = sorted_documents.gangs
        self._notes += sorted_documents.notes
        for document in sorted_documents.shared:
            why_not = self._candidates.add_shared(document)
            if why_not:
                self._notes.append(why_not)
        results: list[CheckedGang] = []
        bare = [document for document in gangs if not self._candidates.is_owner(document)]
        together = [self._candidates.prepare(document) for document in bare]
        for candidate in together:
            self._candidates.add(candidate)
        self._share_faults(together)
        judged: set[str] = set()
        by_document = {id(candidate.document): candidate for candidate in together}
        for document in gangs:
            known = by_document.get(id(document))
            candidate = known or self._candidates.prepare(document)
            if known is None:
                self._candidates.add(candidate)
            results += self._judge(candidate, judged)
        cluster = self._loaded.cluster
        return ClusterCheck(
            cluster.pk,
            cluster.name,
            tuple(results),
            "" if results else "No object of the text is of a kind that makes a gang.",
            tuple(dict.fromkeys(self._notes)),
        )

    def _share_faults(self, together: Sequence[Candidate]) -> None:
        """Give the first object of each gang of bare objects the faults of the other ones."""
        first: dict[str, Candidate] = {}
        for candidate in together:
            root = self._root_of(candidate.made) if candidate.made is not None else None
            if root is None:
                continue
            leading = first.setdefault(root, candidate)
            if leading is not candidate:
                title = candidate.document.title
                leading.faults += tuple(
                    ManifestFault(f"{title} {fault.field}", fault.sentence)
                    for fault in candidate.faults
                )

    # Forecasts

    def _judge(self, candidate: Candidate, judged: set[str]) -> Iterator[CheckedGang]:
        """Yield the forecast about the gang of an object, unless an earlier object has the same gang."""
        made = candidate.made
        if made is None:
            error = Conclusion(CheckVerdict.UNKNOWN, NOT_OBSERVED, candidate.error)
            yield self._unjudged(
                candidate, *(refusal(candidate.faults) if candidate.faults else error)
            )
            return
        root = self._root_of(made)
        if root is not None and root in judged:
            return
        if candidate.not_served:
            kinds = names(candidate.not_served)
            verb = "is" if len(candidate.not_served) == 1 else "are"
            message = f"{kinds} {verb} not served by cluster {self._loaded.cluster.name}."
            yield self._unjudged(candidate, CheckVerdict.WOULD_BLOCK, NOT_SERVED, message)
            return
        if root is None:
            kind = made.resource.kind
            message = f"{kind} {made.manifest['metadata']['name']} makes no gang: nothing keeps its pods together."
            yield self._unjudged(candidate, CheckVerdict.UNKNOWN, UNKNOWN_KIND, message)
            return
        judged.add(root)
        yield self._forecast(candidate, root)

    def _forecast(self, candidate: Candidate, root: str) -> CheckedGang:
        gang, verdict = self._settled(root)
        if verdict.finding.code == _DEPENDENCY and not awaits_completion(gang):
            gang, verdict = self._with_dependents(candidate, gang, verdict)
        word, code, message = conclude(gang, verdict, candidate.faults, candidate.forecast)
        if word is CheckVerdict.WOULD_WAIT:
            candidate.notes += preemption_notes(gang, verdict)
        finding = replace(
            verdict.finding,
            code=code,
            message=message,
            advice=tuple(step for step in verdict.finding.advice if not is_about_check(step)),
        )
        row = gang_row(
            self._loaded.cluster.pk,
            self._loaded.cluster.name,
            gang,
            replace(verdict, finding=finding, findings=(finding, *verdict.findings[1:])),
            None,
            self._now,
            watched=False,
        )
        ref = gang.owner.meta.ref
        forecast = candidate.forecast
        return CheckedGang(
            number=candidate.document.number,
            group=ref.group,
            kind=ref.kind,
            namespace=ref.namespace,
            name=ref.name,
            verdict=word,
            code=code,
            message=message,
            row=row,
            behind=forecast.behind if forecast is not None else (),
            faults=candidate.faults,
            notes=tuple(candidate.notes),
            shape=request_digest(verdict.requests, verdict.members.desired),
            nodes=len({pod.node for pod in gang.pods if pod.node}),
        )

    def _settled(self, root: str) -> tuple[Gang, Verdict]:
        """Return a gang whose pods have nodes as far as they fit, and the verdict on it."""
        gang = place_all(lambda: self._read(root), self._put_pod)
        return gang, assess(gang)

    def _with_dependents(
        self, candidate: Candidate, gang: Gang, verdict: Verdict
    ) -> tuple[Gang, Verdict]:
        """Return the gang once the parts run that others wait for, if these parts have nodes now."""
        made = candidate.made
        if made is None or not all(pod.is_placed for pod in gang.pods):
            return gang, verdict
        try:
            whole = self._candidates.expander.expand(made.manifest, dependencies_met=True)
            if candidate.forecast is not None:
                apply_admission(whole, candidate.forecast, self._candidates.expander)
        except ExpansionError:
            return gang, verdict
        self._loaded.withdraw([*(item.uid for item in made.walk()), entry_uid(made)])
        self._candidates.add(
            replace(candidate, made=whole, forecast=_moved(candidate.forecast, whole))
        )
        self._keep_nodes(gang, whole)
        return self._settled(whole.uid)

    def _keep_nodes(self, before: Gang, made: NewObject) -> None:
        """Give the pods that ran first the nodes that they had, because later pods only get what is left."""
        nodes: defaultdict[str, list[str]] = defaultdict(list)
        for pod in before.pods:
            nodes[pod.meta.controller.name if pod.meta.controller else ""].append(pod.node)
        for item in pods_below(made):
            pod = item.model
            left = nodes.get(pod.meta.controller.name if pod.meta.controller else "")
            if left:
                self._put_pod(running_pod(pod, left.pop()))

    def _unjudged(
        self, candidate: Candidate, word: CheckVerdict, code: str, message: str
    ) -> CheckedGang:
        gang = _unjudged(candidate.document, word, code, message)
        return replace(gang, faults=candidate.faults, notes=tuple(candidate.notes))

    # Gangs

    def _root_of(self, made: NewObject) -> str | None:
        return self._loaded.cache.ownership_graph.root_of(made.uid)

    def _read(self, root: str) -> Gang:
        gangs = [gang for gang, _ in self._reader.read([root], {}, self._view(), self._now)]
        return gangs[0]

    def _view(self) -> ClusterView:
        cache = self._loaded.cache
        why = why_capacity_unknown(cache.watched, self._now)
        autoscaling, _ = cache.autoscaling.observe(self._now)
        view = read_cluster_view(cache, cache.node_usage.capacity(why), autoscaling, self._now)
        return replace(view, kubernetes=kubernetes_minor(self._loaded.cluster.server_version))

    def _put_pod(self, pod: Pod) -> None:
        self._loaded.add(registry.pods(), pod)


def _unjudged(document: Document, word: CheckVerdict, code: str, message: str) -> CheckedGang:
    """Return the forecast about an object that no rule has judged."""
    return CheckedGang(
        number=document.number,
        group=document.group,
        kind=document.kind,
        namespace=document.namespace,
        name=document.name,
        verdict=word,
        code=code,
        message=message,
    )


def _moved(forecast: Forecast | None, made: NewObject) -> Forecast | None:
    return None if forecast is None else with_owner(forecast, made)
