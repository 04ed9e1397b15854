"""A gauge of gangboard's."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily


def gauge(
    name: str, says: str, labels: tuple[str, ...], rows: Iterable[tuple[tuple[str, ...], float]]
) -> Metric:
    """Return the metric `gangboard_NAME`; each row is the values of its labels and its number."""
    family = GaugeMetricFamily(f"gangboard_{name}", says, labels=labels)
    for values, number in rows:
        family.add_metric(values, number)
    return family
