"""The benchmark of reading runs and says its figures."""

from __future__ import annotations

from contextlib import nullcontext
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tools.management.commands import benchmark_reading


@pytest.mark.django_db
def test_a_small_cluster_is_listed_watched_and_polled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark_reading, "throwaway_database", nullcontext)
    out = StringIO()
    sizes = ("--pods", "60", "--changes", "30", "--runs", "1")
    call_command("benchmark_reading", *sizes, stdout=out, no_color=True)
    relist, watch, first, unchanged, ratio = out.getvalue().splitlines()
    assert relist.startswith("relist of 60 pods: ")
    assert watch.startswith("watch of 30 changes: ")
    assert watch.endswith(" s with decoding")
    assert first.startswith("first poll of 60 pods and 6 gangs: ")
    assert unchanged.startswith("unchanged poll of 60 pods and 6 gangs: ")
    assert ratio.startswith("unchanged / first: 0.")


def test_a_size_of_zero_is_refused() -> None:
    with pytest.raises(CommandError, match="at least 1"):
        call_command("benchmark_reading", "--pods", "0")
