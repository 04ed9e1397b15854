"""Many at the same moment: one wins a link, no more than the limit get to try a password."""

from pathlib import Path

import pytest

from tests.separate_process import run_python

# In a process of its own, because each thread needs a real connection to a real database.
SCRIPT = """
import django
django.setup()
from concurrent.futures import ThreadPoolExecutor
from django.db import connection
from gangboard.store import authentication, people
user, _ = people.create_user(name="ada", role="viewer")
secret = authentication.create_sign_in_link(user=user)
token = authentication.issue_token(user=user)

def closing(call):
    def run(_):
        try:
            return call()
        finally:
            connection.close()
    return run

with ThreadPoolExecutor(8) as pool:
    links = list(pool.map(closing(lambda: authentication.consume_sign_in_link(secret)), range(8)))
    waits = list(pool.map(
        closing(lambda: authentication.count_password_attempt(name="ada", place="10.0.0.1").wait), range(30)
    ))
    tokens = list(pool.map(closing(lambda: authentication.find_token(token)), range(8)))
print(sum(link is not None for link in links), waits.count(0), sum(t is not None for t in tokens))
"""


def outcome(folder: Path, database_url: str = "") -> str:
    return run_python("-c", SCRIPT, database_url=database_url, folder=folder)


def test_concurrent_changes_of_users_work_on_sqlite(tmp_path: Path) -> None:
    assert outcome(tmp_path) == "1 10 8"


@pytest.mark.services
def test_concurrent_changes_of_users_work_on_postgresql(postgres_url: str, tmp_path: Path) -> None:
    assert outcome(tmp_path, postgres_url) == "1 10 8"
