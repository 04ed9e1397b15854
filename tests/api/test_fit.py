"""`fit` of `gangs/{id}/`: where the waiting pods could go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gangboard.store.gangs import Detail
from tests.api.conftest import World, make_gang
from tests.readmodels.room import WHY_NOT_HERE, make_fit

GetApi = Callable[..., Any]


def fit_of(get_api: GetApi, persona: str, *rows: Any) -> Any:
    gang = make_gang("east", "team-a", f"fit-{persona}", Detail(fit=rows))
    return get_api(persona, f"gangs/{gang.pk}/").json()["fit"]


def test_the_answer_has_every_number_of_the_table(get_api: GetApi, world: World) -> None:
    assert fit_of(get_api, "admin", make_fit()) == [
        {
            "unit": "llama",
            "shape": "llama-workers",
            "waiting": 4,
            "requests": {"cpu": "64", "memory": "549755813888", "nvidia.com/gpu": "8"},
            "fits_now": 0,
            "fits_empty": 7,
            "nodes": 40,
            "open_nodes": 0,
            "saturated": [
                {
                    "label": "nvidia.com/gpu",
                    "nodes": 5,
                    "detail": None,
                    "examples": ["h100-1", "h100-2", "h100-3"],
                },
                {"label": "pods", "nodes": 2, "detail": None, "examples": ["h100-4", "h100-5"]},
            ],
            "excluded": [
                {
                    "label": WHY_NOT_HERE,
                    "nodes": 32,
                    "detail": None,
                    "examples": ["a100-1", "a100-2", "a100-3"],
                },
                {
                    "label": "taint of a node that is not ready",
                    "nodes": 1,
                    "detail": "node.kubernetes.io/unreachable:NoSchedule",
                    "examples": ["h100-8"],
                },
            ],
            "blockers": [
                {
                    "label": WHY_NOT_HERE,
                    "detail": None,
                    "nodes": 32,
                    "only_nodes": 6,
                    "only_pods": 3,
                    "examples": ["a100-1", "a100-2", "a100-3"],
                },
                {
                    "label": "nvidia.com/gpu",
                    "detail": None,
                    "nodes": 31,
                    "only_nodes": 5,
                    "only_pods": None,
                    "examples": ["h100-1", "h100-2", "h100-3"],
                },
                {
                    "label": "taint of a node that is not ready",
                    "detail": "node.kubernetes.io/unreachable",
                    "nodes": 1,
                    "only_nodes": 0,
                    "only_pods": 0,
                    "examples": [],
                },
                {
                    "label": "has not said what it offers",
                    "detail": None,
                    "nodes": 1,
                    "only_nodes": None,
                    "only_pods": None,
                    "examples": [],
                },
            ],
            "more_blockers": 2,
            "unsupported": [],
            "why": None,
        }
    ]


def test_node_names_need_access_to_the_whole_cluster(get_api: GetApi, world: World) -> None:
    (row,) = fit_of(get_api, "reader", make_fit())
    assert [reason["nodes"] for reason in row["saturated"] + row["excluded"]] == [5, 2, 32, 1]
    lists = row["saturated"] + row["excluded"] + row["blockers"]
    assert all(not reason["examples"] for reason in lists)
    assert [blocker["nodes"] for blocker in row["blockers"]] == [32, 31, 1, 1]


def test_unknown_numbers_are_null_and_never_zero(get_api: GetApi, world: World) -> None:
    (row,) = fit_of(get_api, "admin", make_fit(why="nodes: forbidden"))
    assert row["why"] == "nodes: forbidden"
    assert row["waiting"] == 4
    for name in ("fits_now", "fits_empty", "nodes", "open_nodes"):
        assert row[name] is None
    assert row["saturated"] == row["excluded"] == row["blockers"] == []


def test_a_placed_gang_has_no_rows(get_api: GetApi, world: World) -> None:
    assert get_api("reader", f"gangs/{world.gangs['east/team-a'].pk}/").json()["fit"] == []
