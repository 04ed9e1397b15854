"""One file per kind other than Job and JobSet: its served resources, and its controller's objects of a gang.

Each file in this folder has KIND, RESOURCES and `make(builder, gang)`, which returns the pods, and is
discovered by its presence. A kind whose objects can be suspended and resumed also has `controller(world,
kubelet)`. A kind that shares its name with another one has API.
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
    """Return the modules of this folder by kind and API (`Gang.api`), which is empty for a unique kind."""
    infos = pkgutil.iter_modules(__path__, f"{__name__}.")
    modules = (importlib.import_module(info.name) for info in infos)
    return {(module.KIND, getattr(module, "API", "")): module for module in modules}


def served_for(fleet: Fleet) -> tuple[Resource, ...]:
    """Return the resources that the gangs of a fleet need."""
    kinds = dict.fromkeys((gang.kind, gang.api) for gang in fleet.gangs)
    modules = by_kind()
    every = (resource for kind in kinds if kind in modules for resource in modules[kind].RESOURCES)
    return tuple(dict.fromkeys(every))
