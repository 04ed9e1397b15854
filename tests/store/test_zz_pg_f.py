import os, subprocess, sys
import pytest
from tests.services import postgres_url  # noqa
def test_pg(postgres_url):
    done = subprocess.run([sys.executable,"-m","pytest","-q","-m","not services","tests/store/test_history.py","tests/readmodels/test_history.py","tests/readmodels/test_waits.py","tests/readmodels/test_gang_page.py","tests/web/test_history_pages.py","tests/polling/test_housekeeping.py"],cwd="/work/main",env={**os.environ,"DATABASE_URL":postgres_url,"CI":""},capture_output=True,text=True,timeout=500)
    print(done.stdout[-3000:]); assert done.returncode==0, done.stdout[-3000:]+done.stderr[-500:]
