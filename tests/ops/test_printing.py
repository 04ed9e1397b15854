"""Command output contains no control characters, forged lines or passwords."""

from __future__ import annotations

import os
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core import checks
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError
from django.db import OperationalError
from django.utils import timezone

from gangboard.env import SettingError
from gangboard.failures import exit_on_known_errors
from gangboard.ops.management.commands import explain, poll, set_read_only
from gangboard.ops.printing import PrintingCommand
from gangboard.polling.poll import PollReport
from tests.factories import make_cluster

COMMANDS = Path(settings.BASE_DIR) / "gangboard" / "ops" / "management" / "commands"
NASTY = "\x1b[2J\x07\x9b31m\u202e\r\u2028\ud800"
ESCAPED = "\\x1b[2J\\x07\\x9b31m\\u202e\\r\\u2028\\ud800"


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


class Talker(PrintingCommand):
    requires_system_checks = ()
    stealth_options = ("text",)

    def handle(self, *_: Any, **options: Any) -> None:
        self.stdout.write(options["text"], self.style.SUCCESS)
        self.stderr.write(options["text"])


def talk(text: str, *, color: bool = False) -> tuple[str, str]:
    """Standard output and standard error of such a command."""
    out, err = Terminal(), Terminal()
    command = Talker(force_color=color, no_color=not color)
    call_command(command, text=text, stdout=out, stderr=err, force_color=color, no_color=not color)
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize("name", sorted(path.stem for path in COMMANDS.glob("[a-z]*.py")))
def test_every_command_prints_by_the_same_rules(name: str) -> None:
    module = import_module(f"gangboard.ops.management.commands.{name}")
    assert issubclass(module.Command, PrintingCommand)


def test_terminal_control_characters_are_escaped() -> None:
    assert talk(f"a{NASTY}b\n\tc Größe") == (f"a{ESCAPED}b\n        c Größe\n",) * 2


def test_styles_are_not_escaped() -> None:
    out, _ = talk(f"a{NASTY}b", color=True)
    assert out.startswith("\x1b[")
    assert out.rstrip("\n").endswith("\x1b[0m")
    assert ESCAPED in out


def test_an_error_has_no_password() -> None:
    assert talk("no redis://:sesame@redis/0")[1] == "no redis://:(hidden)@redis/0\n"


def test_the_text_of_an_error_is_escaped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> bool:
        raise OperationalError(f"postgresql://a:sesame@db/x: no{NASTY}\n\tsecond line")

    monkeypatch.setattr("gangboard.ops.database_command.is_migrated", fail)
    with pytest.raises(SystemExit):
        set_read_only.Command().run_from_argv(["manage.py", "set_read_only", "on"])
    (line,) = capsys.readouterr().err.splitlines()
    assert "does not answer: postgresql://a:(hidden)@db/x: no\\x1b[2J" in line
    assert " second line. " in line
    assert not set(NASTY) & set(line) - set("[2J31m")


@pytest.mark.parametrize("error", [SettingError, OperationalError])
def test_the_sentence_of_a_failure_is_escaped(
    capsys: pytest.CaptureFixture[str], error: type[Exception]
) -> None:
    with pytest.raises(SystemExit) as caught, exit_on_known_errors():
        raise error(f"redis://:sesame@h is bad{NASTY}")
    assert caught.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "redis://:(hidden)@h is bad\\x1b[2J" in line
    assert not set(NASTY) & set(line) - set("[2J31m")


def test_checks_that_fail_are_shown_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    command = Talker(stderr=Terminal(), force_color=True)
    broken = checks.Error("It is broken.")
    monkeypatch.setattr("django.core.checks.run_checks", lambda **_: [broken])
    with pytest.raises(SystemCheckError) as caught:
        command.check()
    assert "It is broken." in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.django_db
def test_a_cluster_forges_no_line_of_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    report = PollReport(cluster="east", sentence=f"no{NASTY}\nwest: ok")
    monkeypatch.setattr(poll, "poll_once", lambda _: [report])
    out = StringIO()
    with pytest.raises(CommandError, match="could not read east"):
        call_command("poll", "--once", stdout=out)
    assert out.getvalue() == f"east: not read: no{ESCAPED}\\nwest: ok\n"


@pytest.mark.django_db
def test_a_cluster_steers_no_terminal_by_explain(monkeypatch: pytest.MonkeyPatch) -> None:
    make_cluster(now=timezone.now())
    lines = [f"a{NASTY}\nforged " + "long " * 20]
    monkeypatch.setattr("gangboard.pages.gang.text_report.find_gang", lambda *_, **__: "1")
    monkeypatch.setattr(explain, "gang_detail", lambda **_: object())
    monkeypatch.setattr("gangboard.pages.gang.text_report.explain", lambda *_, **__: lines)
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((60, 24)))
    out = StringIO()
    call_command("explain", "eu-train/research/JobSet/x", stdout=out)
    first, *remaining = out.getvalue().splitlines()
    assert first.startswith(f"a{ESCAPED}\\nforged")
    assert all(line.startswith("  long") for line in remaining)
