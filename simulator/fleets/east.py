"""East: all gangs of the cluster."""

from __future__ import annotations

from simulator.fleet_spec import Gang
from simulator.fleets.east_forming import FORMING
from simulator.fleets.east_healthy import FINISHED, RUNNING, STOPPED
from simulator.fleets.east_kinds import CLIQUES, GROUPED, RUNS, SETS, TRAINJOBS
from simulator.fleets.east_schedulers import OTHER_SCHEDULERS
from simulator.fleets.east_training import FLUX, RAYS, TRAINING
from simulator.fleets.east_troubled import TROUBLED
from simulator.fleets.east_waiting import NO_ROOM, REFUSED

GANGS: tuple[Gang, ...] = (
    *RUNNING,
    *STOPPED,
    *FINISHED,
    *FORMING,
    *REFUSED,
    *NO_ROOM,
    *TROUBLED,
    *TRAINJOBS,
    *SETS,
    *TRAINING,
    *CLIQUES,
    *RUNS,
    *OTHER_SCHEDULERS,
    *RAYS,
    *FLUX,
    *GROUPED,
)
