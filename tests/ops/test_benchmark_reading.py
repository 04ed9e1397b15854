"""The benchmark of reading runs and says its figures."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command


def test_a_small_cluster_is_listed_and_watched() -> None:
    out = StringIO()
    sizes = ("--pods", "60", "--changes", "30", "--runs", "1")
    call_command("benchmark_reading", *sizes, stdout=out, no_color=True)
    relist, watch = out.getvalue().splitlines()
    assert relist.startswith("relist of 60 pods: ")
    assert watch.startswith("watch of 30 changes: ")
    assert watch.endswith(" s with decoding")


def test_a_size_of_nothing_is_refused() -> None:
    with pytest.raises(CommandError, match="at least 1"):
        call_command("benchmark_reading", "--pods", "0")
