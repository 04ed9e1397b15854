"""All states that `capture` knows, by name."""

from __future__ import annotations

from tests.controlplane import (
    states_of_groups,
    states_of_jobs,
    states_of_jobsets,
    states_of_workloads,
)
from tests.controlplane.states import State

STATES: dict[str, State] = {
    state.name: state
    for module in (states_of_jobs, states_of_groups, states_of_jobsets, states_of_workloads)
    for state in module.STATES
}
