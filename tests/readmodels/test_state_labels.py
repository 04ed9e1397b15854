"""Ages, state labels, printable text, liveness, data versions."""

from datetime import timedelta

import pytest

from gangboard.domain.health import Health
from gangboard.readmodels import state_labels
from gangboard.readmodels.data_versions import position
from gangboard.readmodels.formatting import duration_text, printable, quantity_text
from gangboard.readmodels.liveness import read_liveness
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster, Heartbeat
from tests.factories import NOW, make_cluster, make_heartbeats


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0 s"),
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (8040, "2 h 14 min"),
        (86_400, "1 d"),
        (183_600, "2 d 3 h"),
        (7 * 86_400, "7 d"),
        (400 * 86_400, "400 d"),
    ],
)
def test_ages_are_compact(seconds: int, text: str) -> None:
    assert duration_text(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("two\nlines", "two lines"),
        ("a \t\r\n b", "a b"),
        ("two  blanks", "two  blanks"),
        ("end\n", "end "),
        ("rings\x07", "rings␇"),
    ],
)
def test_cluster_text_is_printed_on_one_line(text: str, printed: str) -> None:
    assert printable(text) == printed


def test_every_health_has_a_label_an_icon_and_a_tone() -> None:
    faces = [state_labels.face_of(health) for health in Health]
    assert len({face.icon for face in faces}) == len(Health)
    assert [face.label for face in faces][:2] == ["Failed", "Blocked"]


def test_a_health_of_a_newer_release_still_prints() -> None:
    face = state_labels.face_of("paused")
    assert (face.label, face.icon, face.tone) == ("Paused", "?", "unknown")


def test_an_unknown_reason_still_prints() -> None:
    assert state_labels.reason_title("moon-in-the-way") == "Moon in the way"


@pytest.mark.parametrize(
    ("resource", "text", "expected"),
    [
        ("memory", "51539607552", "48 Gi"),
        ("memory", "584115552256", "544 Gi"),
        ("memory", "1649267441664", "1.5 Ti"),
        ("memory", "500", "500"),
        ("memory", "lots", "lots"),
        ("memory", "NaN", "NaN"),
        ("hugepages-2Mi", "4194304", "4 Mi"),
        ("cpu", "1536", "1536"),
        ("nvidia.com/gpu", "8", "8"),
    ],
)
def test_only_bytes_have_a_unit(resource: str, text: str, expected: str) -> None:
    assert quantity_text(resource, text) == expected


@pytest.mark.django_db
class TestLiveness:
    def test_live_processes_cause_no_warning(self) -> None:
        make_heartbeats()
        assert read_liveness(now=NOW).banners == ()

    @pytest.mark.parametrize(
        ("kind", "sentence"),
        [
            ("poll", "Poll worker is down: pages are not updated until it runs again."),
            ("act", "Act worker is down: actions wait and expire."),
            (
                "prove",
                "Prove worker is down: Holds are not tested, and undone actions are not noticed, "
                "until it runs again.",
            ),
            ("notify", "Notify worker is down: messages wait until it runs again."),
            ("beat", "Beat process is down: clusters that no worker holds are not picked up."),
        ],
    )
    def test_a_worker_that_never_started_is_reported(self, kind: str, sentence: str) -> None:
        make_heartbeats()
        Heartbeat.objects.filter(kind=kind).delete()
        assert [banner.before for banner in read_liveness(now=NOW).banners] == [sentence]

    def test_more_than_two_dead_workers_share_a_banner(self) -> None:
        (banner,) = read_liveness(now=NOW).banners
        assert banner.before == (
            "The poll, act, prove and notify workers and the beat process are down: pages are not "
            "updated, actions wait and expire, Holds are not tested, messages wait and free "
            "clusters are not picked up."
        )
        make_heartbeats()
        for kind, minutes in (("act", 5), ("prove", 4), ("notify", 3)):
            last = NOW - timedelta(minutes=minutes)
            Heartbeat.objects.filter(kind=kind).update(beat_at=last)
        (banner,) = read_liveness(now=NOW).banners
        assert banner.before == "The act, prove and notify workers are down (last sign "
        assert banner.since == NOW - timedelta(minutes=3)
        Heartbeat.objects.filter(kind="notify").update(beat_at=NOW)
        assert len(read_liveness(now=NOW).banners) == 2

    def test_a_wrong_clock_has_its_own_banner(self) -> None:
        Heartbeat.objects.create(name="poll", kind="poll", beat_at=NOW + timedelta(hours=1))
        shared, apart = read_liveness(now=NOW).banners
        assert shared.before.startswith("The act, prove and notify workers and the beat process")
        assert "a clock is wrong" in apart.before

    def test_more_than_two_processes_with_a_wrong_clock_share_a_banner(self) -> None:
        make_heartbeats()
        for kind, minutes in (("poll", 65), ("act", 60), ("beat", 61)):
            later = NOW + timedelta(minutes=minutes)
            Heartbeat.objects.filter(kind=kind).update(beat_at=later)
        Heartbeat.objects.filter(kind="notify").delete()
        silent, shared = read_liveness(now=NOW).banners
        assert silent.before.startswith("Notify worker is down: ")
        assert shared.since is None
        assert shared.before == (
            "The poll and act workers and the beat process are down, or a clock is wrong: their last "
            "signs are dated 1 h or more ahead of now."
        )

    def test_a_process_is_dead_after_15_seconds(self) -> None:
        make_heartbeats()
        Heartbeat.objects.filter(kind="poll").update(beat_at=NOW - timedelta(seconds=16))
        (banner,) = read_liveness(now=NOW).banners
        assert banner.before == "Poll worker is down (last sign "
        assert banner.since == NOW - timedelta(seconds=16)

    def test_a_heartbeat_that_is_dated_ahead_points_to_the_clock(self) -> None:
        make_heartbeats()
        Heartbeat.objects.filter(kind="poll").update(beat_at=NOW + timedelta(minutes=5))
        (banner,) = read_liveness(now=NOW).banners
        assert banner.since is None
        assert banner.before == (
            "Poll worker is down, or a clock is wrong: its last sign is dated 5 min ahead of now."
        )

    @pytest.mark.parametrize("dead", ["poll", "act", "prove", "beat"])
    def test_each_process_is_judged_by_its_own_heartbeat(self, dead: str) -> None:
        """While one is dead no order passes between them, which is not the fault of the others."""
        make_heartbeats()
        orders = ("poll-orders", "act-orders") if dead == "beat" else (f"{dead}-orders",)
        silent = Heartbeat.objects.filter(kind__in=(dead, *orders))
        silent.update(beat_at=NOW - timedelta(minutes=3))
        assert [kind for kind, _ in read_liveness(now=NOW).dead] == [dead]

    def test_undelivered_tasks_are_reported_while_processes_live(self) -> None:
        make_heartbeats()
        orders = Heartbeat.objects.filter(kind="poll-orders")
        orders.update(beat_at=NOW - timedelta(minutes=3))
        (banner,) = read_liveness(now=NOW).banners
        assert banner.before == "Poll worker receives no tasks (last task "
        assert banner.since == NOW - timedelta(minutes=3)
        assert banner.after == " ago): it is busy, or the message broker (Redis) is down."
        orders.delete()
        (banner,) = read_liveness(now=NOW).banners
        assert banner.before == (
            "Poll worker receives no tasks: it is busy, or the message broker (Redis) is down."
        )

    @pytest.mark.parametrize("new", ["poll", "beat"])
    def test_task_delivery_has_a_grace_period_after_a_start(self, new: str) -> None:
        make_heartbeats()
        Heartbeat.objects.filter(kind=new).update(began_at=NOW - timedelta(seconds=10))
        Heartbeat.objects.filter(kind="poll-orders").update(beat_at=NOW - timedelta(minutes=3))
        assert read_liveness(now=NOW).banners == ()

    def test_one_living_worker_is_enough(self) -> None:
        make_heartbeats()
        Heartbeat.objects.create(
            name="poll-2", kind="poll", beat_at=NOW - timedelta(hours=1), slots=8
        )
        liveness = read_liveness(now=NOW)
        assert liveness.dead == ()
        assert liveness.slots == 8, "the slots of the dead do not count"


@pytest.mark.django_db
class TestNews:
    def test_data_freshness_and_liveness_send_updates(self, owner: Viewer) -> None:
        cluster = make_cluster()
        make_heartbeats()
        first = position(viewer=owner, now=NOW)
        assert position(viewer=owner, now=NOW + timedelta(seconds=1)) == first
        versions = {first}

        def moved(now_after: float) -> bool:
            place = position(viewer=owner, now=NOW + timedelta(seconds=now_after))
            new = place not in versions
            versions.add(place)
            return new

        Cluster.objects.filter(pk=cluster.pk).update(data_version=2)
        assert moved(2), "the data moved"
        assert moved(16), "the workers died"
        assert moved(40), "it became stale"
        assert moved(200), "it became unknown"
        assert not moved(300)

    def test_other_clusters_send_no_update(self) -> None:
        own, another = make_cluster("eu-train"), make_cluster("us-train")
        viewer = Viewer(3, "rene", (Scope(own.pk, "research", "viewer"),))
        before = position(viewer=viewer, now=NOW)
        Cluster.objects.filter(pk=another.pk).update(data_version=99)
        assert position(viewer=viewer, now=NOW) == before
