"""`wait`: until a gang is in a state."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass

from gangboard_client import clock
from gangboard_client.clock import read_span
from gangboard_client.context import Context
from gangboard_client.errors import NotFoundError, NotReachedError, RefusedError, UsageError
from gangboard_client.gangs import GangAddress, find_gang, read_address, read_gang
from gangboard_client.news import News
from gangboard_client.schema import GangDetail, Job

HEALTHS = (
    *("failed", "blocked", "degraded", "waiting", "starting", "suspended", "running", "succeeded"),
)
HELD, GONE = "held", "gone"
STATES = (*HEALTHS, HELD, GONE)
ENDED = ("succeeded", "failed")
"""A gang in such a state does not run again."""
MET, MISSED, NOT_KNOWN = 0, 1, 2


@dataclass(frozen=True)
class Judgement:
    """Whether the wait is over, and what is said of the gang."""

    sentence: str
    code: int | None
    """The exit code; None if the wait goes on."""
    is_known: bool = True
    """False if the state could not be looked at."""


class Watch:
    """Looks at one gang again and again."""

    def __init__(
        self, context: Context, address: GangAddress, *, job: str, wanted: frozenset[str]
    ) -> None:
        self._server = context.server
        self._address = address
        self._job = job
        self._wanted = wanted
        self.gang: GangDetail | None = None
        """As it was seen last."""

    def look(self) -> Judgement:
        """Return how the gang is now. Raises ClientError if the server refuses to tell."""
        try:
            return self._look()
        except (NotFoundError, NotReachedError) as error:
            return Judgement(str(error), None, is_known=False)
        except RefusedError as error:
            if not error.is_passing:
                raise
            return Judgement(str(error), None, is_known=False)

    def _look(self) -> Judgement:
        if self.gang is None:
            found = find_gang(self._server, self._address)
            self.gang = read_gang(self._server, found.gang["id"])
        else:
            try:
                self.gang = read_gang(self._server, self.gang["id"])
            except RefusedError as error:
                if error.status != 404:
                    raise
                sentence = f"{self._address.name} is gone, or you may not see it any more."
                return Judgement(sentence, NOT_KNOWN)
        return judge(self.gang, wanted=self._wanted, job=self._job)


def judge(gang: GangDetail, *, wanted: frozenset[str], job: str = "") -> Judgement:
    """Return whether a gang is as it is wanted, never will be, or may still become so.

    A state that is not known now meets nothing. Raises NotFoundError if there is no such Job.
    """
    name = f"{gang['kind']} {gang['name']}"
    if gang["gone_at"]:
        code = MET if GONE in wanted else MISSED
        return Judgement(f"{name} was deleted; it was {gang['health']} before.", code)
    if gang["stale"] or gang["health"] == "unknown":
        return Judgement(f"{name} is not known now: {gang['message']}", None, is_known=False)
    sentence = f"{name} is {gang['health']}: {gang['message']}"
    if HELD in wanted and _is_held(gang, job):
        return Judgement(f"{f'Job {job}' if job else name} is held.", MET)
    if gang["health"] in wanted:
        return Judgement(sentence, MET)
    if gang["health"] in ENDED and GONE not in wanted:
        return Judgement(sentence, MISSED)
    return Judgement(sentence, None)


def _is_held(gang: GangDetail, name: str) -> bool:
    """Return whether the named Job is suspended by a Hold, or without a name every unfinished one."""
    jobs: list[Job] = [job for job in gang["jobs"] or [] if name in ("", job["name"])]
    if name and not jobs:
        raise NotFoundError(f"{gang['kind']} {gang['name']} has no Job {name} now.")
    unfinished = [job for job in jobs if not job["finished"]]
    return bool(unfinished) and all(job["held"] and job["suspended"] for job in unfinished)


def read_wanted(text: str) -> frozenset[str]:
    """Return the states that are separated by commas. Raises UsageError."""
    wanted = frozenset(word.strip() for word in text.split(","))
    if unknown := wanted - {*STATES}:
        raise UsageError(f"{', '.join(sorted(unknown))!r} is none of {', '.join(STATES)}.")
    return wanted


def wait(context: Context, args: Namespace) -> int:
    """Wait until the gang is in one of the states of --for.

    Returns 0 if it is, 1 if it ended otherwise or time is up, 2 if its state was not known at the end.
    """
    wanted = read_wanted(args.wanted)
    if args.job and HELD not in wanted:
        raise UsageError("--job goes with --for held only: all other states are those of the gang.")
    deadline = clock.monotonic() + read_span(args.timeout).total_seconds()
    context.server.deadline = deadline
    watch = Watch(context, read_address(args.gang), job=args.job or "", wanted=wanted)
    news = News(context.server)
    said = ""
    while True:
        # The cursor comes before the look: what happens in between is news, not missed.
        news.begin()
        found = watch.look()
        if found.code is not None:
            return _end(context, watch, found, found.code)
        if found.sentence != said:
            said = found.sentence
            context.output.note(said)
        left = deadline - clock.monotonic()
        if left <= 0:
            context.output.note(f"Time is up after {args.timeout}.")
            return _end(context, watch, found, MISSED if found.is_known else NOT_KNOWN)
        news.wait(left, gang_id=watch.gang["id"] if watch.gang else "")


def _end(context: Context, watch: Watch, found: Judgement, code: int) -> int:
    if context.output.as_json:
        context.output.json(watch.gang)
    else:
        context.output.line(found.sentence)
    return code
