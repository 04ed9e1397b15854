"""The Reasons page shows the eight reasons that hold back most and folds the others by stage."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone

from tests import personas
from tests.factories import make_cluster, make_gang

PLACEMENT = ("fragmented", "exceeds-capacity", "waiting-for-capacity", "no-eligible-node")
START = ("image-pull", "crash-loop", "init-failing", "container-config")
ADMISSION = ("waiting-for-quota", "queue-missing", "queue-stopped")


@pytest.fixture
def page(db: None) -> str:
    now = timezone.now()
    cluster = make_cluster("eu-train", now=now)
    codes = [
        *((code, "placement") for code in PLACEMENT),
        *((code, "start") for code in START),
        *((code, "admission") for code in ADMISSION),
    ]
    for number, (code, stage) in enumerate(codes):
        make_gang(
            cluster,
            f"run-{number}",
            now=now,
            code=code,
            stage=stage,
            health="blocked",
            accelerators=100 - number,
        )
    return personas.make_owner().client.get("/reasons/").content.decode()


def _codes(part: str) -> list[str]:
    return re.findall(r"<code>([a-z-]+)</code>", part)


def test_the_eight_largest_reasons_are_open(page: str) -> None:
    open_rows = page[page.index('id="reason-rows"') : page.index('id="reason-folds"')]
    assert _codes(open_rows) == [*PLACEMENT, *START]


def test_smaller_reasons_are_folded_by_stage_with_counts(page: str) -> None:
    folds = page[page.index('id="reason-folds"') :]
    details = re.findall(r"<details.*?</details>", folds, re.S)
    fold = next(detail for detail in details if "queue-missing" in detail)
    assert _codes(fold) == list(ADMISSION)
    assert " open" not in fold.split(">")[0]
    summary = " ".join(re.sub(r"<[^>]+>", " ", fold.split("</summary>")[0]).split())
    # 92 + 91 + 90 accelerators of 3 gangs.
    assert summary == "Admission 3 reasons · 3 gangs · 273 accelerators"
