"""How a change works on versions of Kubernetes that no control plane of the tests has.

`test_change_methods.py` proves each row on 1.35 to 1.37.
"""

from __future__ import annotations

import itertools

import pytest

from gangboard.domain.advice import AdviceKind, ChangeMethod
from gangboard.placement.advice.change_methods import ChangedObject, Minor, change_method

ALL_ROWS = list(itertools.product(AdviceKind, ChangedObject))
SIZE_OF_JOB = AdviceKind.SIZE, ChangedObject.JOB
TOLERATION_OF_POD = AdviceKind.TOLERATE, ChangedObject.POD
OF_GANGS = (
    (AdviceKind.SIZE, ChangedObject.GANG_JOB),
    (AdviceKind.QUORUM, ChangedObject.GANG_JOB),
    (AdviceKind.QUORUM, ChangedObject.POD_GROUP),
)


def in_place(minor: Minor | None) -> set[tuple[AdviceKind, ChangedObject]]:
    """Return the changes that work in place on this version."""
    return {row for row in ALL_ROWS if change_method(*row, minor) is ChangeMethod.IN_PLACE}


@pytest.mark.parametrize("minor", [(1, 37), (1, 38), (1, 39), (1, 99), (2, 0)])
def test_a_change_stays_possible_in_later_versions(minor: Minor) -> None:
    assert in_place(minor) == {SIZE_OF_JOB, TOLERATION_OF_POD, *OF_GANGS}


@pytest.mark.parametrize("minor", [(1, 27), (1, 34), (1, 35), (1, 36)])
def test_a_group_cannot_be_changed_before_137(minor: Minor) -> None:
    """Kubernetes 1.34 lets an Indexed Job change its completions with its parallelism (validateCompletions)."""
    assert in_place(minor) == {SIZE_OF_JOB, TOLERATION_OF_POD}


def test_completions_of_an_old_indexed_job_cannot_be_changed() -> None:
    assert in_place((1, 26)) == {TOLERATION_OF_POD}


def test_an_unknown_version_is_promised_nothing() -> None:
    assert in_place(None) == set()
