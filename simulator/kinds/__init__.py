"""One file per kind that is neither Job nor JobSet: what is served of it, and what its controller makes of a gang.

Each file offers KIND, RESOURCES and `make(builder, gang)`, which returns the pods, and is found by being here. One whose
objects can be stopped and started offers `controller(world, kubelet)`, too; of a kind that is called as another one
it offers API.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from simulator.fleet_spec import Fleet
from simulator.resources import Resource


@cache
def by_kind() -> dict[tuple[str, str], ModuleType]:
    """Return the files of this folder by the kind that each is about, and its API where that is told (`Gang.api`)."""
    found = pkgutil.iter_modules(__path__, f"{__name__}.")
    modules = (importlib.import_module(one.name) for one in found)
    return {(module.KIND, getattr(module, "API", "")): module for module in modules}


def served_for(fleet: Fleet) -> tuple[Resource, ...]:
    """Return what a cluster serves so that the gangs of a fleet can be there."""
    kinds = dict.fromkeys((gang.kind, gang.api) for gang in fleet.gangs)
    modules = by_kind()
    every = (one for kind in kinds if kind in modules for one in modules[kind].RESOURCES)
    return tuple(dict.fromkeys(every))
