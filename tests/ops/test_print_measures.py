"""Each measure of the code base is printed with its limit."""

from __future__ import annotations

from contextlib import nullcontext
from io import StringIO

import pytest
from django.core.management import call_command

from tools import confirmation_queries, package_size, watch_event_walk
from tools.management.commands.print_measures import MEASURES


@pytest.mark.django_db
def test_each_measure_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (confirmation_queries, watch_event_walk):
        monkeypatch.setattr(module, "throwaway_database", nullcontext)
    out = StringIO()
    call_command("print_measures", stdout=out, no_color=True)
    lines = out.getvalue().splitlines()
    assert [line.split(":")[0] for line in lines] == [measure.name for measure in MEASURES]
    assert 0 < confirmation_queries.page_queries() <= 60
    assert 0 < confirmation_queries.submit_queries() <= 520


def test_short_files_are_some_of_all() -> None:
    assert 0 < package_size.short_files() < package_size.files() < package_size.lines()
