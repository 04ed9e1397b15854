"""Pages of acting by each person: buttons and their reasons, the record, the Holds, a node."""

from __future__ import annotations

import csv
import io
import json
import re
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.test import Client
from django.utils import timezone

from gangboard.pages.core import exports
from gangboard.store.models import Action, AuditEntry, Cluster, Gang
from tests.personas import Person, make_owner, make_stranger
from tests.recorded_actions import make_audit
from tests.stored_jobsets import make_hold
from tests.web.acting import (
    REASON,
    hold_job,
    make_acting_cluster,
    make_record,
    text_of,
    without_token,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def record(cluster: Cluster, gang: Gang) -> dict[str, Action]:
    return make_record(cluster, gang, now=timezone.now())


def text(person: Person, path: str, status: int = 200) -> str:
    response = person.client.get(path)
    assert response.status_code == status, path
    return text_of(response)


class TestGang:
    def test_every_job_and_the_owner_has_a_button(self, operator: Person, gang: Gang) -> None:
        page = text(operator, f"/gangs/{gang.pk}/")
        for name in ("Job llama-workers-0", "Job llama-workers-2", "JobSet llama"):
            assert f'Suspend<span class="unseen"> {name}</span></a>' in page
        assert page.count('name="target"') == 3
        assert 'title="Hold"' in page
        assert "from the policies of this JobSet" in page

    def test_a_viewer_reads_the_missing_right_once(self, viewer: Person, gang: Gang) -> None:
        page = text(viewer, f"/gangs/{gang.pk}/")
        assert page.count("You have only read access to this namespace.") == 1, "of the owner"
        assert 'aria-disabled="true"' not in page
        assert "/actions/confirm/?" not in page
        assert 'name="target"' not in page

    def test_a_held_job_shows_its_author_start_end_and_reason(
        self, operator: Person, cluster: Cluster, gang: Gang
    ) -> None:
        now = timezone.now()
        hold_job(cluster, gang, 0, now=now)
        page = text(operator, f"/gangs/{gang.pk}/")
        assert "Held by olga for <time" in page
        assert ">20 min</time>, until" in page
        assert f"“{REASON}”" in page
        assert 'Resume<span class="unseen"> Job llama-workers-0</span></a>' in page

    def test_an_open_action_stands_beside_its_button(
        self, operator: Person, gang: Gang, record: dict[str, Action]
    ) -> None:
        page = text(operator, f"/gangs/{gang.pk}/")
        row = page[page.index("pick-") : page.index("past-title")]
        assert "Suspended, watching" in row
        assert "2 pods are still ending; the last one has 24 s left." in row
        assert "An action on it is not over yet." in row
        assert "Reverted by jobset" in row
        assert page.count('name="target"') == 2

    def test_the_timeline_shows_the_nodes_of_the_pods(
        self, operator: Person, gang: Gang, record: dict[str, Action]
    ) -> None:
        Action.objects.filter(pk=record["held"].pk).update(context={"nodes": ["gpu-09"]})
        page = text(operator, f"/gangs/{gang.pk}/")
        assert "Held since 12:31:07; its 2 pods are gone. It was on gpu-09." in page

    def test_shared_fragments_contain_no_csrf_token(self, operator: Person, gang: Gang) -> None:
        for path in (f"/live/gangs/{gang.pk}/", "/live/board/", "/live/holds/", "/live/actions/"):
            page = text(operator, f"{path}?version=x")
            assert "csrf" not in page.lower(), path
            assert "<form method" not in page.replace('method="get"', ""), path


class TestBoard:
    def test_a_row_has_the_owners_action_in_its_menu(self, operator: Person, gang: Gang) -> None:
        page = text(operator, "/")
        assert '<summary aria-label="Actions on llama"' in page
        assert "Suspend JobSet llama …</a>" in page
        assert "verb=suspend&target=eu-train%2Fjobset.x-k8s.io%2FJobSet%2Fresearch%2Fllama" in page

    def test_a_viewer_reads_the_missing_right(self, viewer: Person, gang: Gang) -> None:
        page = text(viewer, "/")
        assert "You have only read access to this namespace." in page
        assert "/actions/confirm/" not in page


class TestRecord:
    def test_the_list_shows_states_reasons_and_people(
        self, viewer: Person, record: dict[str, Action]
    ) -> None:
        page = text(viewer, "/actions/")
        for fragment in ("Held", "Suspended, watching", "Reverted by jobset", "Refused", REASON):
            assert fragment in page, fragment

    @pytest.mark.parametrize(
        ("query", "names"),
        [
            ("state=verified", {"llama-workers-0"}),
            ("open=1", {"llama-workers-1"}),
            ("lever=native", {"llama-workers-2"}),
            ("q=workers-1", {"llama-workers-1"}),
            ("actor=nobody", set()),
            ("cluster=elsewhere", set()),
            ("cursor=nonsense", {"llama-workers-0", "llama-workers-1", "llama-workers-2"}),
            ("q=%00&state='%3B--", set()),
        ],
    )
    def test_filters_are_in_the_address(
        self, viewer: Person, record: dict[str, Action], query: str, names: set[str]
    ) -> None:
        page = text(viewer, f"/actions/?{query}")
        assert {
            n for n in (f"llama-workers-{i}" for i in range(3)) if f">Suspend {n}<" in page
        } == names

    def test_an_action_shows_every_request_and_result(
        self, viewer: Person, record: dict[str, Action]
    ) -> None:
        page = text(viewer, f"/actions/{record['reverted'].pk}/")
        for fragment in (
            "jobset resumed it 0.1 s after it was suspended.",
            "<code>false</code> → <code>true</code>",
            '{"op":"replace","path":"/spec/suspend","value":true}',
            "/apis/batch/v1/namespaces/research/jobs/llama-workers-2",
            "lever not tested, forced by an admin",
            "dry run",
            "The API server answered 200.",
            f"/gangs/{record['reverted'].gang_id}/",
        ):
            assert fragment in page, fragment

    def test_a_missing_step_is_shown_as_not_sent(
        self, viewer: Person, record: dict[str, Action]
    ) -> None:
        page = text(viewer, f"/actions/{record['refused'].pk}/")
        assert "The API server left it resumed." in page
        assert page.count("never sent") == 1
        assert "not yet" not in page

    def test_strangers_get_404(self, record: dict[str, Action]) -> None:
        stranger = make_stranger()
        assert "llama" not in text(stranger, "/actions/")
        missing = without_token(text(stranger, "/actions/0000/", 404))
        for path in (f"/actions/{record['held'].pk}/", "/actions/batches/none/"):
            assert without_token(text(stranger, path, 404)) == missing

    def test_an_export_matches_the_page_and_is_audited(
        self, viewer: Person, record: dict[str, Action]
    ) -> None:
        Action.objects.filter(state="verified").update(reason="=HYPERLINK(1)")
        answer: Any = viewer.client.post("/actions/export.csv?state=verified")
        assert answer["Content-Type"] == "text/csv; charset=utf-8"
        assert "attachment" in answer["Content-Disposition"]
        rows = list(csv.DictReader(io.StringIO(answer.getvalue().decode())))
        assert [(row["name"], row["reason"]) for row in rows] == [
            ("llama-workers-0", "'=HYPERLINK(1)")
        ]
        answer = viewer.client.post("/actions/export.jsonl")
        documents = [json.loads(line) for line in answer.getvalue().decode().splitlines()]
        assert {document["state"] for document in documents} == {
            "verified",
            "applied",
            "reverted",
            "refused",
        }
        assert [entry.event for entry in AuditEntry.objects.all()] == ["export", "export"]
        assert viewer.client.post("/actions/export.xml").status_code == 404
        for read_ in (viewer.client.get, viewer.client.head):
            assert read_("/actions/export.csv").status_code == 405

    def test_an_export_needs_the_csrf_token(
        self, viewer: Person, record: dict[str, Action]
    ) -> None:
        client = Client(enforce_csrf_checks=True)
        client.force_login(viewer.user)
        page = client.get("/actions/").content.decode()
        assert client.post("/actions/export.csv").status_code == 403
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token is not None
        answer: Any = client.post("/actions/export.csv", {"csrfmiddlewaretoken": token.group(1)})
        assert (answer.status_code, b"llama" in answer.getvalue()) == (200, True)

    def test_each_user_runs_one_export_at_a_time(
        self, viewer: Person, operator: Person, record: dict[str, Action]
    ) -> None:
        first: Any = viewer.client.post("/actions/export.csv")
        second = viewer.client.post("/actions/export.jsonl")
        assert second.status_code == 429
        assert int(second["Retry-After"]) > 0
        assert "still running" in second.content.decode()
        other_answer: Any = operator.client.post("/actions/export.csv")
        assert other_answer.status_code == 200
        other_answer.close()
        first.close()  # the browser has gone, half-way
        third: Any = viewer.client.post("/actions/export.csv")
        assert (third.status_code, len(third.getvalue()) > 0) == (200, True)
        events = list(AuditEntry.objects.values_list("event", "actor_name"))
        assert sorted(events) == [("export", "oda"), ("export", "rene"), ("export", "rene")]

    def test_all_users_run_four_exports_at_a_time(
        self, viewer: Person, record: dict[str, Action], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each holds a thread and a connection while its reader is slow."""
        slots = threading.BoundedSemaphore(exports.MOST_AT_ONCE)
        monkeypatch.setattr(exports, "_slots", slots)
        assert [slots.acquire(blocking=False) for _ in range(4)] == [True] * 4
        refused = viewer.client.post("/actions/export.csv")
        assert (refused.status_code, refused["Retry-After"]) == (429, "10")
        assert "exports are running" in refused.content.decode()
        assert not AuditEntry.objects.exists()
        slots.release()
        sent: Any = viewer.client.post("/actions/export.csv")
        assert (sent.status_code, len(sent.getvalue()) > 0) == (200, True)
        assert slots.acquire(blocking=False), "an export that was sent gives its slot back"
        slots.release()
        monkeypatch.setattr("gangboard.actions.service.begin_export", lambda *_, **__: 7)
        refused = viewer.client.post("/actions/export.csv")
        assert (refused.status_code, refused["Retry-After"]) == (429, "7")
        assert slots.acquire(blocking=False), "so does one that is refused"

    def test_the_audit_follows_namespace_permissions(
        self, operator: Person, viewer: Person, gang: Gang
    ) -> None:
        viewer.client.post(
            "/actions/confirm/",
            {
                "verb": "suspend",
                "target": f"eu-train/batch/Job/research/llama-workers-0/{gang.uid}-job-0/3",
                "reason": REASON,
            },
        )
        assert "may not suspend Job research/llama-workers-0" in text(operator, "/actions/audit/")
        assert "llama" not in text(make_stranger(), "/actions/audit/")

    def test_the_audit_filters_by_recent_hours_and_action_labels(
        self, operator: Person, cluster: Cluster
    ) -> None:
        for texts, hours in (("of today", 2), ("of yesterday", 20)):
            make_audit(cluster, "research", texts, at=timezone.now() - timedelta(hours=hours))
        page = text(operator, "/actions/audit/?within=12h")
        assert "of today" in page
        assert "of yesterday" not in page
        choices = '<option value="12h" selected>last 12 h</option>'
        assert choices in page
        assert choices in text(operator, "/actions/?within=12h")


class TestHolds:
    def test_a_hold_shows_age_author_reason_end_and_force(
        self, operator: Person, cluster: Cluster, gang: Gang
    ) -> None:
        hold_job(cluster, gang, 0, now=timezone.now())
        page = text(operator, "/holds/")
        for fragment in ("In force", "llama-workers-0", "olga", REASON, "Last checked", "Release"):
            assert fragment in page, fragment
        assert "verb=resume&target=eu-train%2Fbatch%2FJob%2Fresearch%2Fllama-workers-0" in page

    def test_a_viewer_reads_the_missing_right(
        self, viewer: Person, cluster: Cluster, gang: Gang
    ) -> None:
        hold_job(cluster, gang, 0, now=timezone.now())
        page = text(viewer, "/holds/")
        assert "You have only read access to this namespace." in page
        assert "/actions/confirm/" not in page

    def test_a_hold_without_its_job_is_removed_by_hand(
        self, operator: Person, cluster: Cluster, gang: Gang
    ) -> None:
        make_hold(cluster, gang, "llama-workers-9")
        page = text(operator, "/holds/")
        assert "kubectl delete hold hold-llama-workers-9 -n research" in page

    def test_commands_contain_no_shell_metacharacters(
        self, operator: Person, cluster: Cluster, gang: Gang
    ) -> None:
        make_hold(cluster, gang, "$(x)")
        page = text(operator, "/holds/")
        assert "There is no Job to resume. Delete the Hold by hand." in page
        assert "kubectl delete hold" not in page

    def test_unreadable_holds_are_not_shown_as_none(self, cluster: Cluster) -> None:
        make_acting_cluster("gpu-west", now=timezone.now(), hold=False)
        owner = make_owner()
        page = text(owner, "/holds/")
        assert "The Hold is not installed in cluster gpu-west." in page
        make_acting_cluster("gpu-south", now=timezone.now(), hold=False)
        Cluster.objects.filter(name="eu-train").update(contact_at=None, listed_at=None)
        page = text(owner, "/holds/")
        assert "The Hold is not installed in gpu-south and gpu-west." in page
        assert page.count('class="notice') == 2, "where nobody could look is another thing"
        assert "No Hold is known in the clusters that could be read." in page


class TestNode:
    def test_a_node_lists_the_jobs_with_pods_on_it(self, operator: Person, gang: Gang) -> None:
        page = text(operator, "/actions/node/?cluster=eu-train&node=gpu-01")
        assert "llama-workers-0" in page
        assert "llama-workers-1" in page
        assert "llama-workers-2" not in page
        assert page.count('name="target"') == 2
        assert "Suspend selected" in page

    def test_a_viewer_reads_the_missing_right(self, viewer: Person, gang: Gang) -> None:
        page = text(viewer, "/actions/node/?cluster=eu-train&node=gpu-01")
        assert "You have only read access to this namespace." in page
        assert "Suspend selected" not in page

    def test_hidden_nodes_and_clusters_get_404(self, operator: Person, gang: Gang) -> None:
        assert "No Job that you may see" in text(
            operator, "/actions/node/?cluster=eu-train&node=none"
        )
        text(operator, "/actions/node/?cluster=other&node=gpu-01", 404)
        text(operator, "/actions/node/", 404)
        text(make_stranger(), "/actions/node/?cluster=eu-train&node=gpu-01", 404)


def test_a_dead_act_worker_shows_a_warning(operator: Person, gang: Gang) -> None:
    from gangboard.store.models import Heartbeat

    Heartbeat.objects.filter(kind="act").delete()
    for path in ("/", "/actions/", "/holds/", f"/gangs/{gang.pk}/"):
        assert "Act worker is down" in text(operator, path), path


def test_get_requests_write_no_rows(
    operator: Person, gang: Gang, record: dict[str, Action]
) -> None:
    """All addresses except the export, which writes only one audit row."""

    def rows() -> dict[str, list[tuple[Any, ...]]]:
        return {
            model.__name__: sorted(model._default_manager.values_list(), key=repr)
            for model in apps.get_app_config("store").get_models()
        }

    before = rows()
    target = f"eu-train/batch/Job/research/llama-workers-0/{gang.uid}-job-0/3"
    for path in (
        "/",
        f"/gangs/{gang.pk}/",
        "/actions/",
        "/actions/audit/",
        f"/actions/{record['held'].pk}/",
        "/actions/batches/none/",
        f"/actions/confirm/?verb=suspend&target={target}",
        f"/actions/confirm/?verb=suspend&target={target}&reason=because&key=k",
        "/actions/node/?cluster=eu-train&node=gpu-01",
        "/holds/",
    ):
        operator.client.get(path)
        assert rows() == before, path
    assert operator.client.get("/actions/batches/none/stop/").status_code == 405
