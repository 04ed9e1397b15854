"""Objects as `kubectl get -o json` printed them. The demo includes those in `captures/` beside its scripted
gangs.

To add a kind without a controller in `kinds/` to the demo, add one file there: a List or one object. It never
changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from simulator.resources import Resource

Json = dict[str, Any]
FOLDER = Path(__file__).parent / "captures"


def captured_objects(folder: Path = FOLDER) -> tuple[Json, ...]:
    """Return the objects of all files, sorted by file name. Raises ValueError for invalid JSON."""
    contents = (json.loads(path.read_text()) for path in sorted(folder.glob("*.json")))
    return tuple(item for content in contents for item in content.get("items", [content]))


def resources_of(objects: Iterable[Json]) -> tuple[Resource, ...]:
    """Return the custom resources of objects. The plural of a kind is its name with an `s`."""
    kinds = dict.fromkeys(
        (*item["apiVersion"].rpartition("/")[::2], item["kind"], "namespace" in item["metadata"])
        for item in objects
    )
    return tuple(
        Resource(group, (version,), f"{kind.lower()}s", kind, namespaced, custom=True)
        for group, version, kind, namespaced in kinds
    )
