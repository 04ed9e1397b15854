"""A hundred open pages: each change reaches each of them soon, in a few kilobytes."""

import pytest

from tests.live.made_ready import HundredPages

pytestmark = pytest.mark.slow


def test_every_change_reaches_a_hundred_pages(hundred_pages: HundredPages) -> None:
    hundred_pages.measure()
