"""Discovery documents, in all formats that clients request."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from simulator.requests import AUTHORIZATION
from simulator.resources import Resource, git_version

Json = dict[str, Any]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def version_document(minor: str) -> Json:
    """Return the document of `/version`."""
    git = git_version(minor)
    _, number, _ = git.split(".")
    return {
        "major": "1",
        "minor": number,
        "emulationMajor": "1",
        "emulationMinor": number,
        "gitVersion": git,
        "gitCommit": "simulated",
        "gitTreeState": "clean",
        "buildDate": "2026-08-26T00:00:00Z",
        "goVersion": "go1.26.8",
        "compiler": "gc",
        "platform": "linux/amd64",
    }


def api_versions(host: str) -> Json:
    """Return the plain document of `/api`."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": host}],
    }


def group_list(resources: tuple[Resource, ...]) -> Json:
    """Return the plain document of `/apis`."""
    groups = [group_document(resources, group) for group in _groups(resources)]
    bare = [{key: value for key, value in g.items() if key != "apiVersion"} for g in groups if g]
    for group in bare:
        group.pop("kind", None)
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": bare}


def group_document(resources: tuple[Resource, ...], group: str) -> Json | None:
    """Return the plain document of `/apis/<group>`; None if it is not served."""
    versions = _versions(resources, group)
    if not versions:
        return None
    version_list = [
        {"groupVersion": f"{group}/{version}", "version": version} for version in versions
    ]
    return {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": group,
        "versions": version_list,
        "preferredVersion": version_list[0],
    }


def resource_list(resources: tuple[Resource, ...], group: str, version: str) -> Json | None:
    """Return the plain document of `/api/v1` or `/apis/<group>/<version>`; None if it is not served."""
    if version not in _versions(resources, group):
        return None
    rows: list[Json] = []
    for resource in _served_in(resources, group, version):
        row: Json = {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": list(resource.verbs),
        }
        if resource.short:
            row["shortNames"] = list(resource.short)
        rows.append(row)
        if resource.has_status:
            verbs = ["get", "patch", "update"]
            name = f"{resource.plural}/status"
            rows.append({**row, "name": name, "singularName": "", "verbs": verbs})
            rows[-1].pop("shortNames", None)
    if group == AUTHORIZATION:
        rows.append(_REVIEW)
    joined = f"{group}/{version}" if group else version
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": joined,
        "resources": rows,
    }


def aggregated(resources: tuple[Resource, ...], *, core: bool) -> Json:
    """Return the aggregated discovery document of `/api` or `/apis`."""
    groups = [""] if core else _groups(resources)
    items = []
    for group in groups:
        versions = [
            {
                "version": version,
                "resources": [
                    _discovered(r, version) for r in _served_in(resources, group, version)
                ],
                "freshness": "Current",
            }
            for version in _versions(resources, group)
        ]
        meta: Json = {"creationTimestamp": None}
        if group:
            meta["name"] = group
        items.append({"metadata": meta, "versions": versions})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def schema_index(resources: tuple[Resource, ...], minor: str, releases: Mapping[str, str]) -> Json:
    """Return `/openapi/v3`: the path and hash of the schema of each group version.

    The schemas themselves are not served. A hash (SHA-512, as on the real server) changes with the minor for
    built-in groups, and with `releases` for a group of custom resources.
    """
    paths = {}
    for group in ("", *_groups(resources)):
        custom = any(resource.custom for resource in resources if resource.group == group)
        release = releases.get(group, "") if custom else minor
        for version in _versions(resources, group):
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            digest = hashlib.sha512(f"{path} {release}".encode()).hexdigest().upper()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


_REVIEW: Json = {
    "name": "selfsubjectaccessreviews",
    "singularName": "selfsubjectaccessreview",
    "namespaced": False,
    "kind": "SelfSubjectAccessReview",
    "verbs": ["create"],
}


def _discovered(resource: Resource, version: str) -> Json:
    kind = {"group": "", "version": "", "kind": resource.kind}
    if resource.custom:
        kind |= {"group": resource.group, "version": version}
    document: Json = {
        "resource": resource.plural,
        "responseKind": kind,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short:
        document["shortNames"] = list(resource.short)
    if resource.has_status:
        verbs = ["get", "patch", "update"]
        document["subresources"] = [{"subresource": "status", "responseKind": kind, "verbs": verbs}]
    return document


def _groups(resources: tuple[Resource, ...]) -> list[str]:
    named = dict.fromkeys(resource.group for resource in resources if resource.group)
    return [*named, AUTHORIZATION]


def _served_in(resources: tuple[Resource, ...], group: str, version: str) -> list[Resource]:
    return [r for r in resources if r.group == group and version in r.versions]


def _versions(resources: tuple[Resource, ...], group: str) -> list[str]:
    if group == AUTHORIZATION:
        return ["v1"]
    # Stable versions come first, as the real server orders them by maturity.
    unordered = dict.fromkeys(v for r in resources if r.group == group for v in r.versions)
    return sorted(unordered, key=lambda version: ("alpha" in version, "beta" in version))
