"""Rows of the Board in a browser: opened in place and kept so; several ticked and acted on."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from gangboard.domain.owner import Owner
from gangboard.store.objects import pack, unpack
from tests.stored_jobsets import JOBSETS
from tests.web.site import Site

pytestmark = pytest.mark.browser

NAMES = "() => [...document.querySelectorAll('#gangs > tr th a')].map(link => link.textContent)"
ORDER = "() => [...document.querySelectorAll('#gangs > tr')].map(row => row.id)"


def test_an_opened_row_stays_below_its_gang_during_updates(page: Page, site: Site) -> None:
    llama, another = (f"g-{site.gang_id(name)}" for name in ("llama", "llama-sft"))
    page.goto(f"{site.url}/?q=llama")
    button = page.get_by_role("button", name="Essentials of llama", exact=True)
    page.locator(f"#{llama} th a").focus()
    page.keyboard.press("o")
    expect(button).to_have_attribute("aria-expanded", "true")
    jobs = page.locator(f"#below-{llama} .opened-jobs")
    expect(jobs.get_by_text("llama-workers-1", exact=True)).to_be_visible()
    assert page.evaluate(ORDER) == [another, llama, f"below-{llama}"]
    # An update moves the gang up. Its opened row is reloaded and stays below it.
    with page.expect_response("**/row/"):
        site.write("UPDATE store_gang SET health = 'failed', severity = 0 WHERE name = 'llama'")
    expect(page.locator(f"#{llama}")).to_contain_text("Failed")
    assert page.evaluate(ORDER) == [llama, f"below-{llama}", another]
    expect(button).to_have_attribute("aria-expanded", "true")
    jobs.get_by_role("link", name="Suspend Job llama-workers-2").focus()
    page.keyboard.press("o")
    expect(jobs).to_have_count(0)
    expect(button).to_be_focused()
    expect(button).to_have_attribute("aria-expanded", "false")
    site.write("UPDATE store_gang SET health = 'running', severity = 6 WHERE name = 'llama'")


def test_several_gangs_are_selected_and_suspended_by_keyboard(page: Page, site: Site) -> None:
    llama, mixtral = (site.gang_id(name) for name in ("llama", "mixtral"))
    page.goto(f"{site.url}/?kind=JobSet&ordering=name")
    bar = page.locator("#pick")
    expect(bar).to_be_hidden()
    page.locator(f"#g-{llama} th a").focus()
    page.keyboard.press("x")
    expect(bar).to_contain_text("1 selected")
    # News of a row leave it ticked.
    site.write("UPDATE store_gang SET message = 'Still ticked.' WHERE name = 'llama'")
    expect(page.get_by_text("Still ticked.")).to_be_visible()
    page.locator(f"#g-{mixtral} th a").focus()
    page.keyboard.press("x")
    expect(bar).to_contain_text("2 selected")
    # Another filter deselects hidden rows with a notice. Other rows stay selected.
    page.select_option("select[name=group_by]", "cluster")
    expect(bar).to_contain_text("2 selected")
    page.keyboard.press("Escape")
    page.locator(f"#g-{mixtral} th a").focus()
    page.keyboard.press("s")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Suspend 2 JobSets")
    dialog.get_by_label("Reason").fill("the hall is to be cooled")
    dialog.get_by_role("button", name="Suspend 2 JobSets").click()
    expect(dialog).to_contain_text("2 of 2 not sent yet.")
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()
    requested = "SELECT count(*) FROM store_action WHERE reason = 'the hall is to be cooled'"
    assert site.read(requested) == "2"
    suspended = "UPDATE store_gang SET health = ?, code = ? WHERE name = 'mixtral'"
    health, code = (
        site.read(f"SELECT {item} FROM store_gang WHERE name = 'mixtral'")  # two columns
        for item in ("health", "code")
    )
    suspend_owner(site, "mixtral", suspended=True)
    site.write(suspended, "suspended", "suspended")
    expect(page.locator(f"#g-{mixtral} [data-verb=resume]")).to_be_visible()
    for row in (llama, mixtral):
        page.locator(f"#g-{row} input[name=target]").check()
    texts = bar.locator("button[name=verb]:visible")
    expect(texts).to_have_text(["Suspend 1 of 2 selected…", "Resume 1 of 2 selected…"])
    page.locator(f"#g-{llama} input[name=target]").uncheck()
    expect(texts).to_have_text(["Resume selected…"])
    page.locator(f"#g-{mixtral} th a").focus()
    page.keyboard.press("s")
    expect(dialog).to_be_hidden()
    suspend_owner(site, "mixtral", suspended=False)
    site.write(suspended, health, code)
    page.get_by_role("checkbox", name="Select all gangs shown").click()
    every = page.locator("#gangs input[name=target]").count()
    expect(bar).to_contain_text(f"{every} selected")
    bar.get_by_role("button", name="Clear").click()
    expect(bar).to_be_hidden()


def suspend_owner(site: Site, name: str, *, suspended: bool) -> None:
    """Store that a JobSet is suspended itself, or is not."""
    place = "FROM store_watchedobject WHERE resource = ? AND name = ?"
    data = bytes.fromhex(site.read(f"SELECT hex(data) {place}", JOBSETS, name))
    changed = pack(replace(unpack(data, Owner), suspended=suspended))
    statement = "UPDATE store_watchedobject SET data = ? WHERE resource = ? AND name = ?"
    site.write(statement, changed, JOBSETS, name)


def test_open_and_selected_rows_survive_reordering(page: Page, site: Site) -> None:
    opened, ticked = (site.gang_id(name) for name in ("llama", "mixtral"))
    page.goto(f"{site.url}/?ordering=-created_at")
    names = page.evaluate(NAMES)
    assert len(names) > 15
    page.locator(f"#g-{opened} th a").focus()
    page.keyboard.press("o")
    page.locator(f"#g-{ticked} th a").focus()
    page.keyboard.press("x")
    for row in (opened, ticked):
        page.locator(f"#g-{row}").evaluate("row => { row.same = true; }")
    rest = random.Random(7)
    built = {name: f"2026-01-{day:02} 00:00:00" for day, name in enumerate(names, start=1)}
    deleted: set[str] = set()
    moved = list(names)
    for turn in range(8):
        for name in moved:
            created = "UPDATE store_gang SET created_at = ? WHERE name = ?"
            site.write(created, built[name], name)
        for name in rest.sample(sorted(set(names) - {"llama", "mixtral"}), turn % 3):
            deleted ^= {name}
            index = "2026-01-01 00:00:00" if name in deleted else None
            site.write("UPDATE store_gang SET gone_at = ? WHERE name = ?", index, name)
        visible = sorted(set(names) - deleted, key=lambda name: built[name], reverse=True)
        page.wait_for_function(f"names => String(({NAMES})()) === String(names)", arg=visible)
        moved = rest.sample(names, 2)
        built |= {
            name: f"2026-02-{rest.randint(1, 28):02} 00:{turn:02}:{index:02}"
            for index, name in enumerate(moved)
        }
    order = page.evaluate(ORDER)
    assert order[order.index(f"g-{opened}") + 1] == f"below-g-{opened}"
    assert order.count(f"below-g-{opened}") == 1
    expect(page.locator("#pick")).to_contain_text("1 selected")
    expect(page.locator(f"#g-{ticked} input[name=target]")).to_be_checked()
    for row in (opened, ticked):
        assert page.locator(f"#g-{row}").evaluate("row => row.same"), "it is the very element"
    for name in deleted:
        site.write("UPDATE store_gang SET gone_at = NULL WHERE name = ?", name)


def test_a_touch_opens_a_row_beside_its_menu(page: Page, site: Site) -> None:
    """An operator's row has a tick, the way to open it and a menu at its corner."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{site.url}/?q=llama")
    page.get_by_role("button", name="Essentials of llama", exact=True).click(timeout=5_000)
    below = page.locator(f"#below-g-{site.gang_id('llama')}")
    expect(below.get_by_text("llama-workers-1", exact=True)).to_be_visible()
