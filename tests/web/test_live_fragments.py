"""Page versions, and the fragments sent to a browser with an older one."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from gangboard.pages.core.live import fragments
from gangboard.pages.core.live.cache import Page


class TestVersion:
    def test_a_version_matches_its_own_page(self) -> None:
        page = (
            fragments.Fragment("a", "x.html", {}, ("shown",)),
            fragments.FragmentList(
                "b",
                (
                    fragments.Fragment("c", "x.html", {}, 1),
                    fragments.Fragment("d", "x.html", {}, 1),
                ),
            ),
        )
        known = fragments.read_version(fragments.write_version(page, 1_793_000_000_123))
        assert not fragments.diff_page(page, known)
        assert known.read_at == 1_793_000_000_123
        assert len(known.marks) == 4, "equal contents of different elements differ"


def written(message: Sequence[str], shown: Sequence[str]) -> list[str]:
    """Return the order that news tell a browser that shows an order."""
    ids: list[str] = []
    for index, text in enumerate(message):
        if text == fragments.AS_BEFORE:
            ids += shown[shown.index(message[index - 1]) + 1 : shown.index(message[index + 1])]
        else:
            ids.append(text)
    return ids


class TestManyFragments:
    """Every page has a short version, and its updates converge in the browser."""

    @staticmethod
    def page(shown: Mapping[str, object], top: object = "top") -> Page:
        rows = tuple(fragments.Fragment(name, "x.html", {}, value) for name, value in shown.items())
        return (fragments.Fragment("top", "x.html", {}, top), fragments.FragmentList("rows", rows))

    @pytest.mark.parametrize("number", [100, 478, 479, 1_000, 20_000])
    def test_a_version_of_any_page_is_short(self, number: int) -> None:
        page = self.page({f"block-{n}": n for n in range(number)})
        text = fragments.write_version(page, 1_793_000_000_123)
        assert len(text) <= fragments.LONGEST_VERSION
        assert not fragments.diff_page(page, fragments.read_version(text))

    def test_one_change_among_1000_is_sent_with_a_few_others(self) -> None:
        page = self.page({f"block-{n}": n for n in range(1_000)})
        known = fragments.read_version(fragments.write_version(page, 1))
        top, rows = page
        assert isinstance(rows, fragments.FragmentList)
        # Equal fragments are built once, because a thousand pages with a thousand fragments took a minute.
        for index, old in enumerate(rows.fragments):
            new = replace(old, shown="new")
            changed = (*rows.fragments[:index], new, *rows.fragments[index + 1 :])
            diff = fragments.diff_page((top, fragments.FragmentList("rows", changed)), known)
            sent = [fragment.id for rows_ in diff.lists for fragment in rows_.fragments]
            assert new.id in sent
            assert len(sent) <= 12, "about two of a thousand are in one bucket of 480"

    @pytest.mark.parametrize("most", [1, 7, 480])
    def test_updates_bring_a_browser_to_the_current_page(
        self, monkeypatch: pytest.MonkeyPatch, most: int
    ) -> None:
        monkeypatch.setattr(fragments, "MOST_MARKS", most)
        rest = random.Random(most)
        browser: dict[str, object] = {}
        order: list[str] = []
        version = ""
        for _ in range(300):
            names = rest.sample([f"r{n}" for n in range(30)], rest.randint(0, 25))
            # Most of the time few of them move, as on a Board.
            names = sorted(names) if rest.random() < 0.8 else names
            page = self.page({name: rest.randint(0, 2) for name in names}, rest.randint(0, 2))
            diff = fragments.diff_page(page, fragments.read_version(version))
            browser |= {fragment.id: fragment.shown for fragment in diff.fragments}
            for rows in diff.lists:
                browser |= {fragment.id: fragment.shown for fragment in rows.fragments}
                order = written(rows.order, order) if rows.order is not None else order
            top, rows_ = page
            assert isinstance(top, fragments.Fragment)
            assert isinstance(rows_, fragments.FragmentList)
            assert browser["top"] == top.shown
            assert [(name, browser[name]) for name in order] == [
                (fragment.id, fragment.shown) for fragment in rows_.fragments
            ]
            # A removed fragment cannot reappear.
            browser = {name: browser[name] for name in ["top", *order]}
            version = fragments.write_version(page, 1)
