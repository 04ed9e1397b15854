"""A person with a question in front of a browser. Every click is counted.

A person can press visible elements, type, and read the page. By keyboard the same steps use Tab,
Enter and the keys of the help, without a pointer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from playwright.sync_api import Locator, Page, expect

MOST_TABS = 250
"""Tab presses within which any element must be reached. More mean that Tab goes in a circle."""

_WAY = """wanted => {
    const here = document.activeElement;
    if (here === wanted) return "";
    return wanted.compareDocumentPosition(here) & Node.DOCUMENT_POSITION_FOLLOWING ? "Shift+Tab" : "Tab";
}"""
"""Key that moves the focus to an element. Empty if the element has the focus."""


@dataclass(frozen=True, slots=True)
class Form:
    """Options for viewing the pages and moving between them."""

    scheme: Literal["light", "dark"]
    size: Literal["wide", "phone"]
    by: Literal["pointer", "keyboard"]

    def __str__(self) -> str:
        return f"{self.scheme}-{self.size}-{self.by}"

    @property
    def viewport(self) -> tuple[int, int]:
        """Width and height of the screen."""
        return (1440, 900) if self.size == "wide" else (390, 844)


PAIRS = (
    (Form("light", "wide", "pointer"), Form("dark", "phone", "keyboard")),
    (Form("light", "phone", "pointer"), Form("dark", "wide", "keyboard")),
)
"""Both forms of a pair together are both themes, both sizes, pointer and keyboard."""


@dataclass
class Person:
    """A person at a page. `trail` lists the clicks, and the keys that count as clicks."""

    page: Page
    form: Form
    trail: list[str] = field(default_factory=list)

    def link(self, name: str | re.Pattern[str], *, within: Locator | None = None) -> Locator:
        """Return the first link in sight that is called so."""
        return self._named("link", name, within)

    def button(self, name: str | re.Pattern[str], *, within: Locator | None = None) -> Locator:
        """Return the first button in sight that is called so."""
        return self._named("button", name, within)

    def _named(
        self, role: Literal["link", "button"], name: str | re.Pattern[str], within: Locator | None
    ) -> Locator:
        exact = isinstance(name, str)
        named = (within or self.page).get_by_role(role, name=name, exact=exact)
        return named.filter(visible=True).first

    def row(self, *texts: str) -> Locator:
        """Return the rows of tables that have all these words."""
        rows = self.page.get_by_role("row")
        for text in texts:
            rows = rows.filter(has_text=text)
        return rows

    def part(self, title: str) -> Locator:
        """Return the part of the page that has this title."""
        return self.page.get_by_role("region", name=title)

    def press(self, locator: Locator) -> None:
        """Press it, by the pointer or by going there and pressing Enter."""
        expect(locator).to_be_visible()
        self.trail.append(str(locator))
        if self.form.by == "pointer":
            locator.click()
        else:
            self.go_to(locator)
            self.page.keyboard.press("Enter")

    def go_to(self, locator: Locator) -> None:
        """Move the focus there with Tab. Raises AssertionError where that does not lead there."""
        for _ in range(MOST_TABS):
            key = locator.evaluate(_WAY)
            if not key:
                return
            self.page.keyboard.press(key)
        raise AssertionError(f"Tab does not lead to {locator}")

    def type(self, text: str) -> None:
        """Write where the focus is."""
        self.page.keyboard.type(text)

    def search(self, text: str) -> None:
        """Look for words on the Board. By pointer the field is a click."""
        field = self.page.locator("#q")
        if self.form.by == "pointer":
            self.press(field)
        else:
            self.page.keyboard.press("f")
        expect(field).to_be_focused()
        self.type(text)
        # Reading waits for the text. A tile pressed earlier would not have it yet.
        expect(self.page.locator("#tiles input[name=q]")).to_have_value(text)

    def open_gang(self, name: str) -> None:
        """Look for a gang and open its page."""
        self.search(name)
        self.press(self.link(name))
        expect(self.page.get_by_role("heading", level=1)).to_contain_text(name)

    def reads(self, area: Locator, *texts: str) -> None:
        """Expect that an area of the page is in sight and contains all of these texts."""
        expect(area.first).to_be_visible()
        for text in texts:
            expect(area.first).to_contain_text(text, use_inner_text=True)
