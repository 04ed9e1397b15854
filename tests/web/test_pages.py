"""Each page by each person."""

from __future__ import annotations

import re
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from gangboard.plugins import registry
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster, Heartbeat, ResourceState, WatchedObject
from tests.factories import PODGROUPS, make_cluster, make_gang, make_gangs, make_resource
from tests.personas import Person
from tests.web.acting import without_token
from tests.web.conftest import World

PAGES = ("/", "/groups/", "/clusters/")


def text_of(client: Client, path: str, status: int = 200) -> str:
    response = client.get(path)
    assert response.status_code == status, path
    return response.content.decode()


class TestOwner:
    def test_the_owner_sees_every_gang_with_its_reason_and_next_step(
        self, owner: Person, world: World
    ) -> None:
        page = text_of(owner.client, "/")
        for text in (
            "llama-sft",
            "diffusion-run",
            "JobSet · research · eu-train",
            "8 pods need 1 GPU each; 3 are free on the eligible nodes.",
            "It goes when 5 GPUs become free.",
            "quorum 8",
            "gpu-prod",
        ):
            assert text in page

    def test_a_verdict_may_be_older_than_its_first_observation(
        self, owner: Person, world: World
    ) -> None:
        addresses = ("/", f"/gangs/{world.gang.id}/")
        for address in addresses:
            assert "first seen" not in text_of(owner.client, address)
        type(world.gang).objects.filter(pk=world.gang.pk).update(since_first_seen=True)
        for address in addresses:
            texts = " ".join(re.sub(r"<[^>]+>", "", text_of(owner.client, address)).split())
            assert re.search(r"at least [\d a-z]+ \(first seen\)", texts)

    def test_the_longest_wait_of_a_reason_may_be_longer(self, owner: Person, world: World) -> None:
        assert "at least" not in text_of(owner.client, "/reasons/")
        type(world.gang).objects.filter(pk=world.gang.pk).update(since_first_seen=True)
        assert "at least <time" in text_of(owner.client, "/reasons/")

    def test_the_owner_opens_a_gang(self, owner: Person, world: World) -> None:
        page = text_of(owner.client, f"/gangs/{world.gang.id}/")
        for text in (
            "llama-sft",
            "GPUs needed",
            "A Job is held",
            "llama-workers-0",
            "0 of 8 ready",
            "Show all pods of</span> llama-workers-0",
            "The Job controller made its PodGroup.",
            "kubectl get jobset.v1alpha2.jobset.x-k8s.io llama-sft -n research -o yaml",
        ):
            assert text in page

    def test_pods_of_a_complete_job_are_shown_on_request(self, owner: Person, world: World) -> None:
        path = f"/gangs/{world.gang.id}/"
        assert "llama-workers-0-7</code>" not in text_of(owner.client, path)
        for name in ("llama-workers-0", "*"):
            page = text_of(owner.client, f"{path}?{urlencode({'open': name})}")
            assert "llama-workers-0-7</code>" in page
            assert "kubectl logs -n research llama-workers-0-7" in page
            # Later updates are about the same pods.
            assert f'hx-get="/live{path}?{urlencode({"open": name})}"' in page
        assert "llama-workers-0-7</code>" not in text_of(owner.client, f"{path}?open=other")

    def test_the_page_shows_fields_of_the_gangs_kind(self, owner: Person, world: World) -> None:
        facts = {"Runtime": "ClusterTrainingRuntime plain", "<b>": "\u202eevil"}
        gang = make_gang(world.cluster, "facts", now=timezone.now(), detail=Detail(facts=facts))
        page = text_of(owner.client, f"/gangs/{gang.id}/")
        assert "<dt>Runtime</dt><dd>ClusterTrainingRuntime plain</dd>" in page
        assert "<dt>&lt;b&gt;</dt>" in page
        assert "\u202e" not in page

    def test_the_owner_sees_all_groups_and_clusters(self, owner: Person, world: World) -> None:
        groups = text_of(owner.client, "/groups/")
        assert "llama-workers-0" in groups
        assert "diffusion-group" in groups
        clusters = text_of(owner.client, "/clusters/")
        assert "https://eu-train.example:6443" in clusters
        assert "us-train" in clusters
        assert "pods" in text_of(owner.client, "/clusters/eu-train/")


class TestUnreadableGroups:
    NONE = "Pods without a group are scheduled one by one"

    @pytest.fixture(autouse=True)
    def _all_are_read(self, world: World) -> None:
        for cluster in (world.cluster, world.other_cluster):
            make_resource(cluster, PODGROUPS)
            kinds = {resource.key for api in registry.grouping_apis() for resource in api.resources}
            for kind in sorted(kinds - {PODGROUPS}):
                make_resource(cluster, kind, state="not-served")

    def test_the_page_claims_no_groups_only_after_reading_all_kinds(self, owner: Person) -> None:
        WatchedObject.objects.all().delete()
        assert self.NONE in text_of(owner.client, "/groups/")
        ResourceState.objects.filter(cluster__name="us-train", resource=PODGROUPS).update(
            state="forbidden"
        )
        page = text_of(owner.client, "/groups/")
        assert self.NONE not in page
        assert "No group is known in the clusters that could be read." in page
        assert "The reader may not list PodGroups in cluster us-train" in page

    def test_several_clusters_share_one_notice(self, owner: Person) -> None:
        ResourceState.objects.filter(resource=PODGROUPS).update(state="forbidden")
        page = text_of(owner.client, "/groups/")
        assert page.count('class="notice') == 1
        notice = page.partition('class="notice')[2].partition("</details>")[0]
        summary, _, folded = notice.partition("</summary>")
        assert "eu-train and us-train could not be read completely" in summary
        for name in ("eu-train", "us-train"):
            assert f"The reader may not list PodGroups in cluster {name}" in folded

    def test_a_row_folds_minor_details(self, owner: Person) -> None:
        page = text_of(owner.client, "/groups/?q=llama-workers-0")
        row = page.partition("<tbody")[2].partition("</tr>")[0]
        folded, _, visible = row.partition("</details>")
        assert "Unschedulable" in visible
        assert "Insufficient nvidia.com/gpu" in folded
        assert "Insufficient nvidia.com/gpu" not in visible
        assert "gang, quorum 8" in visible
        assert "–" not in row

    def test_old_rows_are_marked(self, owner: Person) -> None:
        assert 'class="stale"' not in text_of(owner.client, "/groups/")
        ResourceState.objects.filter(cluster__name="us-train", resource=PODGROUPS).update(
            state="failing"
        )
        assert text_of(owner.client, "/groups/").count('class="stale"') == 1


class TestGangOfASilentCluster:
    ADVICE = "It goes when 5 GPUs become free."
    REFUSED = "eu-train.example refuses connections: nothing listens there."

    @pytest.mark.parametrize(
        ("seconds", "heading", "advice"),
        [
            (40, "Next step", ADVICE),
            (180, "Why the gang cannot be observed", REFUSED),
        ],
        ids=["stale", "silent"],
    )
    def test_advice_stands_below_its_own_heading(
        self, owner: Person, world: World, seconds: int, heading: str, advice: str
    ) -> None:
        Cluster.objects.filter(name="eu-train").update(
            contact_at=timezone.now() - timedelta(seconds=seconds),
            problem="refused",
            sentence=self.REFUSED,
        )
        page = text_of(owner.client, f"/gangs/{world.gang.id}/")
        assert re.search(
            f'<h2>{heading}</h2><ol><li>\\s*<div class="step-text"><p>\\s*{advice}', page
        )
        # The page gives one reason for stale data.
        verdict = page.split('aria-label="Verdict"')[1].split("</section>")[0]
        assert verdict.count(self.REFUSED) == 1

    def test_the_page_names_groups_it_could_not_read(self, owner: Person, world: World) -> None:
        make_resource(world.other_cluster, PODGROUPS, state="forbidden")
        page = text_of(owner.client, f"/gangs/{world.other_gang.id}/")
        assert "The reader may not list PodGroups in cluster us-train" in page
        assert "No group of it is known." in page
        assert "scheduled one by one" not in page


class TestReader:
    def test_the_reader_sees_only_the_own_namespace(self, reader: Person, world: World) -> None:
        for path in PAGES:
            page = text_of(reader.client, path)
            for foreign in ("diffusion", "vision", "us-train", "example:6443"):
                assert foreign not in page, path
        assert "llama-sft" in text_of(reader.client, "/")
        assert "llama-workers-0" in text_of(reader.client, "/groups/")

    def test_hidden_objects_get_404_for_the_reader(self, reader: Person, world: World) -> None:
        missing = without_token(text_of(reader.client, "/gangs/0123456789abcdef/", 404))
        for path in (f"/gangs/{world.other_gang.id}/", "/clusters/us-train/", "/clusters/no-such/"):
            assert without_token(text_of(reader.client, path, 404)) == missing

    @pytest.mark.parametrize(
        ("requested", "leads"),
        [
            ("name=llama-workers-0-3", "/gangs/{gang}/"),
            ("name=diffusion-run", "/?q=diffusion-run"),
            ("name=llama&namespace=research", "/?q=llama&namespace=research"),
            ("name=%00&cluster=eu-train", "/?cluster=eu-train"),
            ("", "/?"),
        ],
    )
    def test_the_name_of_a_pod_leads_to_its_gang(
        self, reader: Person, world: World, requested: str, leads: str
    ) -> None:
        answer = reader.client.get(f"/find/?{requested}")
        assert answer.status_code == 302
        assert answer["Location"] == leads.format(gang=world.gang.pk)

    def test_the_search_reveals_no_hidden_names(
        self, owner: Person, reader: Person, world: World
    ) -> None:
        message = "mixtral was preempted by team-b/secret."
        make_gang(world.cluster, "mixtral", now=timezone.now(), message=message)
        for path in ("/?q=team-b/secret", "/live/board/?q=team-b/secret&version=x"):
            assert "mixtral" in text_of(owner.client, path)
            assert "mixtral" not in text_of(reader.client, path)
        assert "mixtral" in text_of(reader.client, "/?q=mixtral")


class TestStranger:
    def test_the_stranger_sees_an_explanation_instead_of_gangs(
        self, stranger: Person, world: World
    ) -> None:
        for path in PAGES:
            page = text_of(stranger.client, path)
            for name in ("llama", "diffusion", "eu-train", "us-train", "research", "vision"):
                assert name not in page, path
        assert "You have no role yet, so there is nothing to see." in text_of(stranger.client, "/")
        text_of(stranger.client, f"/gangs/{world.gang.id}/", 404)


class TestAnonymous:
    @pytest.mark.parametrize("path", [*PAGES, "/gangs/x/", "/clusters/eu-train/", "/live/board/"])
    def test_an_anonymous_user_is_sent_to_sign_in_and_back(
        self, anonymous: Client, world: World, path: str
    ) -> None:
        response = anonymous.get(path)
        assert response.status_code == 302
        assert response["Location"].startswith("/sign-in/")

    def test_a_live_fragment_sends_the_whole_page_to_sign_in(
        self, anonymous: Client, world: World
    ) -> None:
        response = anonymous.get(
            "/live/board/",
            headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/?health=blocked"},
        )
        assert response["HX-Redirect"] == "/sign-in/?next=/%3Fhealth%3Dblocked"
        assert response.content == b""


class TestBoardOfUnreadClusters:
    NEVER = "1 cluster not counted: us-train not read yet."
    READING = "is being read for the first time: gangs may be missing here."

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"listed_at": None, "contact_at": None}, NEVER),
            ({"listed_at": None}, READING),
        ],
        ids=["never", "first list"],
    )
    def test_possibly_missing_gangs_have_a_notice(
        self, owner: Person, world: World, columns: dict[str, None], message: str
    ) -> None:
        page = text_of(owner.client, "/")
        assert not any(text in page for text in ("unseen-clusters", "not counted"))
        Cluster.objects.filter(name="us-train").update(**columns)
        assert text_of(owner.client, "/").count(message) == 1
        assert message in text_of(owner.client, "/?cluster=us-train")
        assert message not in text_of(owner.client, "/?cluster=eu-train")

    def test_an_unread_cluster_is_not_shown_as_empty(self, owner: Person, world: World) -> None:
        for query, nothing, known in (
            (
                "q=no-such",
                "No match for “no-such”.",
                "No match for “no-such” among the gangs that could be read.",
            ),
            (
                "health=failed&namespace=none",
                "No gang matches these filters.",
                "No gang that could be read matches these filters.",
            ),
        ):
            Cluster.objects.filter(name="us-train").update(listed_at=timezone.now())
            assert nothing in text_of(owner.client, f"/?{query}")
            Cluster.objects.filter(name="us-train").update(listed_at=None)
            page = text_of(owner.client, f"/?{query}")
            assert known in page
            assert nothing not in page

    def test_notices_name_only_visible_clusters(self, reader: Person, world: World) -> None:
        Cluster.objects.filter(name="us-train").update(listed_at=None)
        assert self.READING not in text_of(reader.client, "/")


class TestBoard:
    def test_every_state_has_a_tile_with_its_number(self, owner: Person, world: World) -> None:
        page = text_of(owner.client, "/")
        for health in (
            "failed",
            "blocked",
            "degraded",
            "waiting",
            "starting",
            "suspended",
            "running",
            "succeeded",
            "unknown",
        ):
            assert f'id="tile-{health}"' in page

    def test_a_tile_filters_and_is_marked_as_pressed(self, owner: Person, world: World) -> None:
        page = text_of(owner.client, "/?health=blocked")
        assert "diffusion-run" in page
        assert "llama-sft" not in page
        assert 'name="health" value="" aria-pressed="true"' in page
        assert 'name="health" value="blocked,running" aria-pressed="false"' in page

    @pytest.mark.parametrize(
        "query", ["q=diffusion", "cluster=us-train", "namespace=vision", "health=blocked,failed"]
    )
    def test_filters_are_in_the_address(self, owner: Person, world: World, query: str) -> None:
        page = text_of(owner.client, f"/?{query}")
        assert "diffusion-run" in page
        assert "llama-sft" not in page

    @pytest.mark.parametrize(
        "query",
        [
            "ordering=user__password",
            "ordering=%00",
            "group_by=uid",
            "health=nothing",
            "cursor=AAAA",
            "cursor=%00",
            "q=%00x",
            "cluster=" + "x" * 10_000,
            "health=" + "x," * 500,
        ],
    )
    def test_invalid_filters_in_the_address_are_ignored(
        self, owner: Person, world: World, query: str
    ) -> None:
        text_of(owner.client, f"/?{query}")
        text_of(owner.client, f"/groups/?{query}")

    def test_groups_have_headings_with_counts(self, owner: Person, world: World) -> None:
        for group_by, heading in (
            ("namespace", "vision"),
            ("cluster", "us-train"),
            ("reason", "Insufficient resources"),
        ):
            page = text_of(owner.client, f"/?group_by={group_by}")
            assert page.count('class="heading"') == 2
            assert heading.lower() in page.lower()
            assert "1 gang · 8 accelerators requested" in page

    def test_succeeded_gangs_are_counted_and_hidden(self, owner: Person, world: World) -> None:
        make_gang(world.cluster, "done-run", now=timezone.now(), health="succeeded")
        page = text_of(owner.client, "/")
        assert "done-run" not in page
        assert "1 succeeded not shown" in page
        assert "done-run" in text_of(owner.client, "/?show_finished=1")

    def test_a_long_list_is_paginated(self, owner: Person, world: World) -> None:
        make_gangs(world.cluster, 120, now=timezone.now())
        page = text_of(owner.client, "/?ordering=name")
        assert page.count('class="column-gang"') == 101  # with the heading of the column
        following = page.split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0]
        second = text_of(owner.client, following.replace("&amp;", "&"))
        # 122 gangs of which 13 have succeeded: 109, and 100 stood on the first page.
        assert second.count('class="column-gang"') == 1 + 9
        assert "First page" in second

    def test_queries_do_not_grow_with_the_rows(
        self, owner: Person, world: World, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        # session, user, roles; clusters, life signs, rows, tiles, their curves, choices; for the menus
        # what each cluster allows (5); for the navigation whether queues are served; what this person has
        # chosen: columns, views and names of submitters. Of the 80, some are suspended: their owners, and
        # the accelerators that they use.
        for number, queries in ((1, 18), (80, 20)):
            make_gangs(world.cluster, number, now=timezone.now()) if number > 1 else None
            with django_assert_num_queries(queries):
                text_of(owner.client, "/")

    def test_a_filter_change_returns_only_the_board(self, owner: Person, world: World) -> None:
        headers = {"HX-Request": "true", "HX-Target": "board"}
        page = owner.client.get("/?health=blocked", headers=headers).content.decode()
        assert page.lstrip().startswith('<form id="tiles"')
        assert 'id="board"' in page
        assert "<html" not in page


class TestFreshness:
    def test_the_bar_names_clusters_that_are_not_live(self, owner: Person, world: World) -> None:
        now = timezone.now()
        assert _bar(owner) == ["● eu-train live", "● us-train live"]
        for name in ("a", "b"):
            make_cluster(name, now=now)
        assert _bar(owner) == ["● 4 clusters live"]
        Cluster.objects.filter(name="us-train").update(contact_at=now - timedelta(minutes=4))
        Cluster.objects.filter(name="b").update(problem="timeout")
        assert _bar(owner) == ["● b live", "■ us-train silent 4 min", "● 2 others live"]

    def test_a_silent_cluster_is_marked_on_every_page(self, owner: Person, world: World) -> None:
        long_ago = timezone.now() - timedelta(minutes=4, seconds=5)
        Cluster.objects.filter(name="us-train").update(contact_at=long_ago, problem="timeout")
        for path in (*PAGES, f"/gangs/{world.gang.id}/"):
            page = text_of(owner.client, path)
            assert "tone-blocked loud" in page, path
            assert "silent" in page, path
        board = text_of(owner.client, "/")
        assert "Cluster us-train has not answered for <time" in board
        assert ">4 min</time>. It was blocked." in board
        assert "us-train is silent" in board

    def test_a_gang_page_of_a_silent_cluster_claims_no_current_state(
        self, owner: Person, world: World
    ) -> None:
        long_ago = timezone.now() - timedelta(minutes=10)
        Cluster.objects.filter(name="eu-train").update(contact_at=long_ago)
        page = text_of(owner.client, f"/gangs/{world.gang.id}/")
        assert "Last known findings" in page
        assert "Also found" not in page
        assert "0 of 8 were ready" in page
        assert "llama-workers-0-7</code>" in page
        assert "Last seen ready" in page
        assert "tone-running" not in page.split("<main")[1].split('id="fit"')[0]
        assert not re.search(r"\d of \d+ ready", page)

    def test_dead_workers_have_a_warning_on_every_page(self, owner: Person, world: World) -> None:
        Heartbeat.objects.update(beat_at=timezone.now() - timedelta(minutes=3))
        for path in (*PAGES, f"/gangs/{world.gang.id}/"):
            page = text_of(owner.client, path)
            assert (
                "The poll, act, prove and notify workers and the beat process are down" in page
            ), path


def _bar(person: Person) -> list[str]:
    """Return the cluster names in the top bar on a wide screen."""
    bar = text_of(person.client, "/").partition('id="freshness"')[2].partition("</ul>")[0]
    items = re.findall(r"<li.*?</li>", bar, re.DOTALL)
    return [
        " ".join(re.sub(r"<[^>]*>", "", item).split())
        for item in items
        if not re.search(r"calm-sum|more-narrow", item)
    ]
