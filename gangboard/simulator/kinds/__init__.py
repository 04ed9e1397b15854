"""One file per kind that is neither Job nor JobSet: what is served of it, and what its controller makes of a gang.

Each file offers KIND, RESOURCES and `make(builder, gang)`, which returns the pods, and is found by being here. One whose
objects can be stopped and started offers `controller(world, kubelet)`, too.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from gangboard.simulator.resources import Resource
from gangboard.simulator.scripts import Fleet


@cache
def by_kind() -> dict[str, ModuleType]:
    """Return the files of this folder by the kind that each is about."""
    found = pkgutil.iter_modules(__path__, f"{__name__}.")
    modules = (importlib.import_module(one.name) for one in found)
    return {module.KIND: module for module in modules}


def served_for(fleet: Fleet) -> tuple[Resource, ...]:
    """Return what a cluster serves so that the gangs of a fleet can be there."""
    kinds = dict.fromkeys(gang.kind for gang in fleet.gangs)
    modules = by_kind()
    every = (one for kind in kinds if kind in modules for one in modules[kind].RESOURCES)
    return tuple(dict.fromkeys(every))
