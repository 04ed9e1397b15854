"""A run in CI that fails although no test did says why, with names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

TESTS = {
    "skipped": """
        import pytest

        def test_well(): pass

        @pytest.mark.skip(reason="no Redis")
        def test_left_out(): pass
    """,
    "empty": "def test_well(): pass",
    "shaky": """
        import pytest

        TRIED = set()

        @pytest.mark.parametrize("number", range(4))
        def test_shaky(number):
            again = number in TRIED
            TRIED.add(number)
            assert again
    """,
    "half-made": """
        import pytest

        TRIES = []

        @pytest.fixture(scope="module")
        def place():
            TRIES.append("set-up")
            raise RuntimeError("not within 60 s" if len(TRIES) == 1 else "409 AlreadyExists")

        @pytest.mark.parametrize("number", range(5))
        def test_place(place, number): pass

        def test_tries(): assert TRIES == ["set-up"] * 2
    """,
}


def run(folder: Path, test: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a whole test folder of one file, as `make test` does."""
    (folder / "tests").mkdir()
    (folder / "tests/test_it.py").write_text("\n".join(_lines(TESTS[test])))
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = services\n controlplane\n browser\n")
    names = ("tests.tiers", "no:cacheprovider", "no:django", "no:schemathesis")
    plugins = [term for name in names for term in ("-p", name)]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "tests"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _lines(text: str) -> list[str]:
    return [line.removeprefix("        ") for line in text.strip("\n").split("\n")]


@pytest.mark.parametrize(
    ("test", "sentence"),
    [
        ("skipped", "In CI no test may be skipped: tests/test_it.py::test_left_out"),
        ("empty", "No test passed in these tiers: services, production, controlplane, browser"),
        (
            "shaky",
            "More than 3 tests were tried twice: "
            + ", ".join(f"tests/test_it.py::test_shaky[{number}]" for number in range(4)),
        ),
    ],
)
def test_ci_prints_why_it_fails(tmp_path: Path, test: str, sentence: str) -> None:
    done = run(tmp_path, test, CI="true")
    assert done.returncode == 1, done.stdout + done.stderr
    assert sentence in done.stdout.splitlines()
    assert " failed" not in done.stdout.splitlines()[-1]


def test_a_skipped_test_fails_only_in_ci(tmp_path: Path) -> None:
    done = run(tmp_path, "skipped")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "why this run in CI is a failure" not in done.stdout


def test_a_set_up_that_meets_its_own_objects_is_not_tried_again(tmp_path: Path) -> None:
    done = run(tmp_path, "half-made", CI="true")
    assert "1 passed, 5 errors, 1 rerun" in done.stdout, done.stdout
