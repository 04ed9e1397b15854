"""The benchmark makes its fleet, asks for its pages, and says when one grows."""

from __future__ import annotations

import pytest

from gangboard.store.models import Gang
from tools.management.commands import benchmark_pages


@pytest.mark.django_db
def test_the_benchmark_requests_each_page_at_each_size() -> None:
    costs = benchmark_pages.run([5, 30], times=1, seed=1)
    assert [(cost.page, cost.gangs) for cost in costs] == [
        *(("Board", 5), ("Reasons", 5)),
        *(("Board", 30), ("Reasons", 30)),
    ]
    assert all(cost.seconds > 0 and cost.kilobytes > 1 for cost in costs)
    assert Gang.objects.count() == 30
