"""The search by words: all words, in any of the columns, eight of them at most."""

import pytest
from django.contrib.auth.models import User

from gangboard.readmodels.filters import all_occur_in

COLUMNS = ("username", "first_name")


@pytest.fixture
def people(db: None) -> None:
    User.objects.create(username="anna", first_name="Bo")
    User.objects.create(username="bob", first_name="Carl")


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {"anna", "bob"}),
        ("  ", {"anna", "bob"}),
        ("BO", {"anna", "bob"}),
        ("nn bo", {"anna"}),
        ("bo nn", {"anna"}),
        ("carl nn", set()),
        ("a n b o an nn bo anna", {"anna"}),
        ("a n b o an nn bo anna nobody", {"anna"}),
    ],
)
def test_words_match(text: str, expected: set[str]) -> None:
    names = User.objects.filter(all_occur_in(text, COLUMNS)).values_list("username", flat=True)
    assert set(names) == expected
