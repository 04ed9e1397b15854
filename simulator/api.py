"""The API without its transport: one request in, one response out."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from simulator import discovery, refusals
from simulator.events import stored_form
from simulator.faults import Fault, Faults
from simulator.lists import Alter, list_page, render
from simulator.patches import PatchError, json_patch, merge_patch
from simulator.pod_logs import PodLogs
from simulator.requests import Request, resolve
from simulator.resources import CORE_EVENTS, NAMESPACES, PODS, Resource
from simulator.responses import (
    Answer,
    alteration,
    dump,
    forbidden,
    json_answer,
    refuse,
    spoil,
)
from simulator.store import Json, Key, Store, Written, encode, with_type
from simulator.watches import Watch
from simulator.writes import Writer

_TEXT = "text/plain; charset=utf-8"
_MERGE = "application/merge-patch+json"
_JSON_PATCH = "application/json-patch+json"
_GRACE = 30


class API:
    """The API server without its transport."""

    def __init__(
        self,
        *,
        store: Store,
        writer: Writer,
        resources: tuple[Resource, ...],
        minor: str,
        faults: Faults,
        bookmark_seconds: float,
    ) -> None:
        self.store = store
        self.writer = writer
        self.resources = resources
        self.minor = minor
        self.faults = faults
        self.logs = PodLogs()
        self.stopping = threading.Event()
        self.on_write: Callable[[Resource, Key], None] = lambda _resource, _key: None
        """Called before every write by a client, so that scripts release the object."""
        self.releases: dict[str, str] = {}
        """API group of custom resources → its release, for tests that install another one. The release
        changes the schema's hash."""
        self._bookmark_seconds = bookmark_seconds

    def answer(self, request: Request) -> Answer:
        """Answer a request. Refusals are responses as well."""
        met: list[Fault] = []
        try:
            resolve(request, self.resources)
            met = self.faults.meet(request)
            for fault in met:
                refuse(fault, request)
            if request.read_only and request.verb not in ("list", "get", "watch", "discovery"):
                raise forbidden(request)
            applied = all(fault.applied for fault in met)
            response = self._dispatch(request, alteration(met)) if applied else Answer(200, b"{}")
            response.faults = met
            for fault in met:
                spoil(fault, response)
        except refusals.PageNotFound:
            return Answer(404, b"404 page not found\n", content_type=_TEXT)
        except refusals.Refusal as refusal:
            body = json.dumps(refusal.body, separators=(",", ":")).encode()
            return Answer(refusal.code, body, headers=refusal.headers, faults=met)
        return response

    def _dispatch(self, request: Request, alter: Alter | None) -> Answer:
        resource = request.resource
        if resource is None:
            return self._without_object(request)
        if request.verb == "list":
            return Answer(200, list_page(self.store, request, alter))
        if request.verb == "watch":
            watch = Watch(self.store, request, self.stopping, self._bookmark_seconds, alter)
            return Answer(200, chunks=watch.lines())
        if request.is_log:
            pod = self.store.find(resource, _key(request))
            if pod is None:
                raise refusals.not_found(resource, request.name)
            return Answer(200, chunks=self.logs.read(request, pod), content_type="text/plain")
        if request.verb == "get":
            return self._get(request, resource, alter)
        if request.verb == "create" and not request.name:
            return self._create(request, resource)
        if request.verb in ("patch", "update") and request.name:
            return self._change(request, resource)
        if request.verb == "delete" and request.name:
            return self._delete(request, resource)
        raise refusals.method_not_allowed()

    # Reading

    def _without_object(self, request: Request) -> Answer:
        segments = request.segments
        if segments in (["healthz"], ["livez"], ["readyz"]):
            return Answer(200, b"ok", content_type=_TEXT)
        if request.method == "POST" and segments[:2] == ["apis", "authorization.k8s.io"]:
            return self._review(request)
        if segments == ["version"]:
            return json_answer(discovery.version_document(self.minor))
        if segments == ["openapi", "v3"]:
            return json_answer(discovery.schema_index(self.resources, self.minor, self.releases))
        if segments in (["api"], ["apis"]):
            core = segments == ["api"]
            if "apidiscovery.k8s.io" in request.wants and "v=v2;" in request.wants:
                document = discovery.aggregated(self.resources, core=core)
                return Answer(200, dump(document), content_type=discovery.AGGREGATED)
            if core:
                return json_answer(discovery.api_versions(request.headers.get("Host") or ""))
            return json_answer(discovery.group_list(self.resources))
        result: Json | None = None
        if segments[:1] == ["api"] and len(segments) == 2:
            result = discovery.resource_list(self.resources, "", segments[1])
        elif segments[:1] == ["apis"] and len(segments) == 2:
            result = discovery.group_document(self.resources, segments[1])
        elif segments[:1] == ["apis"] and len(segments) == 3:
            result = discovery.resource_list(self.resources, segments[1], segments[2])
        if result is None:
            raise refusals.PageNotFound
        return json_answer(result)

    def _review(self, request: Request) -> Answer:
        review = request.json()
        attributes = review.get("spec", {}).get("resourceAttributes", {})
        verb, plural = attributes.get("verb", ""), attributes.get("resource", "")
        writes = verb not in ("get", "list", "watch")
        denied = (request.read_only and writes) or self.faults.forbids(verb, plural)
        return json_answer({**review, "status": {"allowed": not denied}}, code=201)

    def _get(self, request: Request, resource: Resource, alter: Alter | None) -> Answer:
        stored = self.store.table(resource).objects.get(_key(request))
        if stored is None:
            raise refusals.not_found(resource, request.name)
        body = render(resource, stored)
        if alter:
            body = alter(body)
        return Answer(200, with_type(body, resource, request.version))

    # Writing

    def _create(self, request: Request, resource: Resource) -> Answer:
        obj = request.json()
        if not isinstance(obj, dict) or not isinstance(obj.get("metadata", {}), dict):
            raise refusals.bad_request("the object provided is unrecognized")
        if resource == CORE_EVENTS:
            obj = stored_form(obj)
        meta = obj.setdefault("metadata", {})
        for field_name in ("uid", "resourceVersion", "creationTimestamp", "generation"):
            meta.pop(field_name, None)
        if resource.namespaced:
            meta["namespace"] = request.namespace
            if ("", request.namespace) not in self.store.table(NAMESPACES).objects:
                raise refusals.not_found(NAMESPACES, request.namespace)
        if not meta.get("name") and not meta.get("generateName"):
            reason = "name or generateName is required"
            raise refusals.invalid(resource, "", "metadata.name", reason, "FieldValueRequired")
        if resource.has_status and resource.plural not in ("nodes", "pods"):
            obj.pop("status", None)
        created = self.writer.create(
            resource, obj, manager=request.manager, dry_run=request.is_dry_run
        )
        return self._object(request, resource, created, code=201)

    def _change(self, request: Request, resource: Resource) -> Answer:
        body = request.json()
        change = (
            self._update(body) if request.verb == "update" else self._patch(request, resource, body)
        )
        if not request.is_dry_run:
            self.on_write(resource, _key(request))
        changed = self.writer.change(
            resource,
            _key(request),
            lambda obj: _plain(change(_typed(obj, request, resource))),
            manager=request.manager,
            subresource=request.subresource,
            dry_run=request.is_dry_run,
        )
        return self._object(request, resource, changed)

    def _update(self, body: Any) -> Callable[[Json], Any]:
        if not isinstance(body, dict) or "metadata" not in body:
            raise refusals.bad_request("the object provided is unrecognized")
        return lambda _obj: body

    def _patch(self, request: Request, resource: Resource, body: Any) -> Callable[[Json], Any]:
        media = (request.headers.get("Content-Type") or "").partition(";")[0].strip()
        if media == _MERGE:
            return lambda obj: merge_patch(obj, body)
        if media != _JSON_PATCH:
            raise refusals.unsupported_media(resource)

        def apply(obj: Json) -> Any:
            try:
                return json_patch(obj, body)
            except PatchError as error:
                raise refusals.patch_not_applicable() from error

        return apply

    def _delete(self, request: Request, resource: Resource) -> Answer:
        options = request.json()
        preconditions = options.get("preconditions") or {}
        dry_run = request.is_dry_run or options.get("dryRun") == ["All"]
        grace = options.get("gracePeriodSeconds", request.number("gracePeriodSeconds"))
        with self.store.lock:
            obj = self.store.find(resource, _key(request))
            if obj is None:
                raise refusals.not_found(resource, request.name)
            meta = obj["metadata"]
            if preconditions.get("uid", meta["uid"]) != meta["uid"]:
                raise refusals.precondition_failed(
                    resource, request.name, "UID", preconditions["uid"], meta["uid"]
                )
            version = preconditions.get("resourceVersion", meta["resourceVersion"])
            if version != meta["resourceVersion"]:
                raise refusals.precondition_failed(
                    resource, request.name, "ResourceVersion", version, meta["resourceVersion"]
                )
            if not dry_run:
                self.on_write(resource, _key(request))
                lingering = self._delete_or_mark(resource, _key(request), obj, grace)
                if lingering is not None:
                    return self._object(request, resource, lingering)
        details = {"name": request.name, "kind": resource.plural, "uid": meta["uid"]}
        if resource.group:
            details["group"] = resource.group
        success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return json_answer({**success, "details": details})

    def _delete_or_mark(
        self, resource: Resource, key: Key, obj: Json, grace: int | None
    ) -> Json | None:
        """Delete an object, or mark and return it if a kubelet or finalizer still has to release it."""
        if resource == PODS:
            spec = obj.get("spec", {})
            seconds = spec.get("terminationGracePeriodSeconds", _GRACE) if grace is None else grace
            running = obj.get("status", {}).get("phase") in ("Pending", "Running")
            if seconds and spec.get("nodeName") and running:
                return self.writer.mark_deleted(resource, key, grace=seconds)
            # A pod without a kubelet is marked and removed at once.
            marked = self.writer.mark_deleted(resource, key)
            self.writer.remove(resource, key)
            return marked
        if obj["metadata"].get("finalizers"):
            return self.writer.mark_deleted(resource, key)
        self.writer.remove(resource, key)
        return None

    def _object(
        self, request: Request, resource: Resource, obj: Json, *, code: int = 200
    ) -> Answer:
        body = render(resource, Written(0, encode(obj)))
        return Answer(code, with_type(body, resource, request.version))


def _key(request: Request) -> Key:
    return request.namespace, request.name


def _typed(obj: Json, request: Request, resource: Resource) -> Json:
    return {"apiVersion": resource.api_version(request.version), "kind": resource.kind, **obj}


def _plain(obj: Any) -> Json:
    if not isinstance(obj, dict) or not isinstance(obj.get("metadata"), dict):
        raise refusals.patch_not_applicable()
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}
