from datetime import UTC, datetime, timedelta

import pytest

from gangboard.decode.wire import WireMeta, WireOwnerReference, api_group, read_meta, read_time


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-10-02T08:00:03Z", datetime(2026, 10, 2, 8, 0, 3, tzinfo=UTC)),
        ("2026-10-02T08:00:03.123456Z", datetime(2026, 10, 2, 8, 0, 3, 123456, tzinfo=UTC)),
        ("2026-10-02T10:00:03+02:00", datetime(2026, 10, 2, 8, 0, 3, tzinfo=UTC)),
    ],
)
def test_times_are_aware_and_in_utc(text: str, expected: datetime) -> None:
    time = read_time(text)
    assert time == expected
    assert time.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "yesterday",
        "2026-10-02",
        "2026-10-02T08:00:03",
        "2026-13-02T08:00:03Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59-14:00",
    ],
)
def test_invalid_times_are_none(text: str | None) -> None:
    assert read_time(text) is None


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("9999-12-31T23:59:59Z", 9000),
        ("9876-05-04T03:02:01+01:00", 9000),
        ("0002-01-01T00:00:00+14:00", 1000),
        ("0999-12-31T23:59:59Z", 1000),
    ],
)
def test_ten_years_can_be_added_to_any_time(text: str, year: int) -> None:
    time = read_time(text)
    assert time == datetime(year, 1, 1, tzinfo=UTC)
    decade = timedelta(days=3653)
    assert time - decade < time < time + decade


def test_controller_is_the_reference_with_controller_true() -> None:
    metadata = WireMeta(
        name="p",
        uid="u",
        namespace="team-a",
        owner_references=[
            WireOwnerReference("a1", "Workload", "w", "scheduling.k8s.io/v1beta1"),
            WireOwnerReference("77aa", "Job", "llm-train", "batch/v1", True),
        ],
    )
    meta = read_meta(metadata, "", "Pod", "v1")
    assert meta.controller is not None
    assert (meta.controller.group, meta.controller.kind, meta.controller.name) == (
        "batch",
        "Job",
        "llm-train",
    )
    assert meta.controller.uid == "77aa"
    assert meta.owner_uids == ("a1", "77aa")


@pytest.mark.parametrize(
    ("api_version", "group"),
    [("v1", ""), ("batch/v1", "batch"), ("jobset.x-k8s.io/v1alpha2", "jobset.x-k8s.io"), ("", "")],
)
def test_api_group_precedes_the_version(api_version: str, group: str) -> None:
    assert api_group(api_version) == group
