"""Twenty common tasks, each in at most four clicks from the Board, by pointer or by keyboard.

The expected texts come from the scenarios in `simulator/fleets/`.
"""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Download, expect

from tests.tasks.conftest import STOPPED, STOPPED_BECAUSE, Gangboard
from tests.tasks.person import Person

pytestmark = pytest.mark.browser


def test_why_does_llama_70b_sft_wait(person: Person) -> None:
    """Its 4 pods want the 8 GPUs of a node each, of a pool that others have."""
    person.search("llama-70b-sft")
    row = person.row("llama-70b-sft", "team-nlp")
    person.reads(row, "Waiting", "4 pods need 32 GPUs", "pool=h100")


def test_what_would_let_gpt_giant_go(person: Person) -> None:
    """It wants 12 whole nodes at once; of the 8 of its pool one is lost."""
    person.open_gang("gpt-giant")
    person.reads(person.part("Verdict"), "Next step", "from 12 to 7")


def test_which_gang_is_this_pod_of(person: Person, gangboard: Gangboard) -> None:
    pod = gangboard.pod_names("team-rl", "sim-rollouts")[0]
    person.search(pod)
    expect(person.page.locator("#gangs tr")).to_have_count(1)
    person.reads(person.row("sim-rollouts"), "team-rl")


def test_on_which_nodes_does_sim_rollouts_run(person: Person) -> None:
    person.open_gang("sim-rollouts")
    for node in ("a10g-1", "a10g-2"):
        expect(person.link(node)).to_be_visible()


def test_who_is_on_node_a10g_3(person: Person) -> None:
    """The scenario puts one pod of dreamer-sim there."""
    person.press(person.link("Capacity"))
    person.press(person.link(re.compile("^a10g-3")))
    person.reads(person.part("On this node: 1 gang"), "dreamer-sim")


def test_which_nodes_take_no_pods_because_somebody_cordoned_them(person: Person) -> None:
    person.press(person.link("Capacity"))
    for node in ("a10g-4", "b200-1", "b200-2"):
        expect(person.link(re.compile(f"^{node}.*cordoned"))).to_be_visible()


def test_how_many_gpus_are_free_in_gh200(person: Person) -> None:
    """4 nodes with 4 each, all of them free."""
    person.press(person.link("Capacity"))
    amounts = person.page.get_by_role("table", name="east: metal.gh200")
    gpus = amounts.get_by_role("row").filter(has_text="nvidia.com/gpu")
    expect(gpus.get_by_role("cell")).to_have_text(["16", "0", "16"])


def test_what_keeps_the_most_gpus_idle(person: Person) -> None:
    """gpt-giant wants 12 times 8, ads-llm-sft 8 times 8: more than their pools have."""
    person.press(person.link("Reasons"))
    first = person.page.locator("#reason-rows tr").first
    person.reads(first, "Exceeds capacity", "160", "gpt-giant", "ads-llm-sft")


def test_who_was_stopped_last_night_and_by_whom(person: Person) -> None:
    person.press(person.link("Actions"))
    person.reads(person.row(f"Suspend {STOPPED[1]}"), STOPPED[0], "nina", STOPPED_BECAUSE)


def test_who_holds_a_job_of_mixtral_align_and_why(person: Person) -> None:
    person.press(person.link("Actions"))
    person.press(person.link("Holds"))
    held = person.row("mixtral-align-workers-1")
    person.reads(held, "ada@example.com", "bad data shard, looking into it")


def test_hold_one_job_for_four_hours_and_say_why(person: Person, gangboard: Gangboard) -> None:
    gang, job = HELD[person.form.by]
    because = f"its node is repaired, {person.form}"
    person.open_gang(gang)
    person.press(person.link(f"Suspend Job {job}"))
    dialog = person.page.get_by_role("dialog")
    expect(dialog.get_by_label("Reason")).to_be_focused()
    person.type(because)
    person.press(person.button("4 h", within=dialog))
    person.page.keyboard.press("Enter")
    expect(dialog.get_by_text(re.compile("Held|Requested")).first).to_be_visible()
    action = next(
        candidate
        for candidate in gangboard.installation.get("actions/")["results"]
        if candidate["reason"] == because
    )
    assert action["target"]["name"] == job
    remaining = datetime.fromisoformat(action["until"]) - datetime.now(UTC)
    assert timedelta(hours=3, minutes=57) < remaining <= timedelta(hours=4)


HELD = {
    "pointer": ("llama-ft", "llama-ft-driver-0"),
    "keyboard": ("rl-sweep", "rl-sweep-trials-0"),
}
"""A gang and its Job. No gang of another task waits for the capacity they free."""


def test_let_what_is_suspended_run_again(person: Person) -> None:
    name, button = SUSPENDED[person.form.by]
    person.open_gang(name)
    person.press(person.link(button))
    dialog = person.page.get_by_role("dialog")
    expect(dialog.get_by_label("Reason")).to_be_focused()
    person.type(f"the data is there again, {person.form}")
    person.page.keyboard.press("Enter")
    expect(dialog.get_by_text(re.compile("Requested|Resumed|Running")).first).to_be_visible()


SUSPENDED = {
    "pointer": ("asr-stream", "Resume JobSet asr-stream"),
    "keyboard": ("reward-probe", "Resume Job reward-probe"),
}
"""Object of the fleet that is suspended on purpose, and the button that resumes it."""


def test_what_did_the_crashing_container_write(person: Person, gangboard: Gangboard) -> None:
    """Both pods of yolo-export are in a crash loop: the command asks for the log of the last try."""
    person.open_gang("yolo-export")
    pod = gangboard.pod_names("team-vision", "yolo-export")[0]
    person.reads(
        person.part("Verdict"),
        f"kubectl --context sim logs -n team-vision {pod} -c main --previous",
    )
    expect(person.button("Copy command")).to_be_visible()


def test_which_gangs_of_team_rl_are_blocked(person: Person) -> None:
    """muzero-league and ppo-arena can never get their quorum; the others of the namespace are not blocked."""
    person.search("team-rl")
    person.press(person.button(re.compile("^■? ?Blocked")))
    person.page.wait_for_url("**health=blocked**")
    gangs = person.page.get_by_role("rowheader").get_by_role("link")
    expect(gangs).to_have_count(2)
    assert set(gangs.all_inner_texts()) == {"muzero-league", "ppo-arena"}


def test_who_is_first_in_line_for_ads_gpu(person: Person) -> None:
    """creative-tagger came later than cold-start, with priority 1,000."""
    person.press(person.link("Queues"))
    person.reads(person.row("ads-gpu"), "creative-tagger", "1,000")


def test_which_place_in_line_has_cold_start(person: Person) -> None:
    person.open_gang("cold-start")
    person.reads(person.part("In the queue"), "ads-gpu", "place 2 of 2")


def test_why_can_no_single_job_be_held_in_west(person: Person) -> None:
    """There is no Hold in it."""
    person.open_gang("ctr-ranker")
    person.reads(person.page.get_by_role("main"), "The Hold", "is not installed here")


def test_give_the_evidence_to_a_ticket(person: Person) -> None:
    person.open_gang("clip-eval")
    with person.page.expect_download() as download:
        person.press(person.link("Evidence for a ticket"))
    text = saved(download.value)
    assert text.startswith("# ")
    for expected in ("clip-eval", "team-vision", "fragmented", "3 pods"):
        assert expected in text


def test_all_failed_gangs_as_a_table_for_a_report(person: Person) -> None:
    """poi-matcher failed in west, gnn-paper and ablation-17 in east."""
    person.press(person.button(re.compile("Failed")))
    person.page.wait_for_url("**health=failed**")
    with person.page.expect_download() as download:
        person.press(person.button("CSV"))
    rows = list(csv.DictReader(io.StringIO(saved(download.value))))
    assert {row["health"] for row in rows} == {"failed"}
    assert {"poi-matcher", "gnn-paper", "ablation-17"} <= {row["name"] for row in rows}


def saved(download: Download) -> str:
    """Return the text of a downloaded file."""
    return download.path().read_text()


def test_keep_what_is_shown_as_a_view(person: Person) -> None:
    name = f"nlp {person.form}"
    person.search("team-nlp")
    views = person.page.locator("summary", has_text="Views")
    person.press(views)
    person.press(person.page.get_by_placeholder("Name", exact=True))
    person.type(name)
    with person.page.expect_navigation():
        person.page.keyboard.press("Enter")
    person.press(views)
    expect(person.link(name)).to_be_visible()
