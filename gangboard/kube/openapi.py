"""What tells one build of a controller from another as far as an API server can: its schema."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import msgspec

from gangboard.kube.connection import Connection
from gangboard.kube.errors import KubeError, KubeErrorCode

LONGEST_HASH = 64
"""Characters that are kept; servers give a SHA-512 in hexadecimal, 128."""


class _Path(msgspec.Struct):
    serverRelativeURL: str = ""  # noqa: N815 - as it is on the wire


class _Index(msgspec.Struct):
    paths: dict[str, _Path] | None = None


_INDEX = msgspec.json.Decoder(_Index)


def schema_hash(connection: Connection, group: str, version: str) -> str:
    """Return a hash of the schema that is served for `group/version`, or empty text.

    It stands in the index `/openapi/v3` (`?hash=` of the path of a group version, Kubernetes 1.24
    and later) and changes with every change of a field, a description or a default: so with nearly
    every release of the CRD's project. Empty where the group version is not served, where there is
    no such index, and where the reader may not look. Raises KubeError when the server fails.
    """
    try:
        body = connection.get("/openapi/v3")
    except KubeError as error:
        if error.code in (KubeErrorCode.FORBIDDEN, KubeErrorCode.NOT_FOUND):
            return ""
        raise
    try:
        index = _INDEX.decode(body)
    except msgspec.DecodeError:
        return ""
    found = (index.paths or {}).get(f"apis/{group}/{version}" if group else f"api/{version}")
    hashes = parse_qs(urlsplit(found.serverRelativeURL).query).get("hash") if found else None
    return hashes[0][:LONGEST_HASH] if hashes else ""
