"""Log lines: structlog's key=value lines for people, JSON when GANGBOARD_LOG_JSON is on."""

from __future__ import annotations

import logging
import re
from typing import Any

import structlog

from gangboard.addresses import hide_passwords

_SHARED: list[structlog.typing.Processor] = [
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]

structlog.configure(
    processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
    logger_factory=structlog.stdlib.LoggerFactory(),
    wrapper_class=structlog.stdlib.BoundLogger,
    cache_logger_on_first_use=True,
)


class LineFormatter(structlog.stdlib.ProcessorFormatter):
    """Formats our own and everybody else's records the same way."""

    def __init__(self, *, as_json: bool) -> None:
        renderer: structlog.typing.Processor = (
            structlog.processors.JSONRenderer()
            if as_json
            else structlog.dev.ConsoleRenderer(colors=False)
        )
        super().__init__(
            foreign_pre_chain=_SHARED,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )

    def format(self, record: logging.LogRecord) -> str:
        """Return one line for one event, tracebacks included, that a terminal shows as it is.

        No password of an address is in it, whoever has written it.
        """
        return hide_passwords(one_line(super().format(record)))


class ShortMessageFilter(logging.Filter):
    """Makes a short line of an event that strangers cause: no traceback, at most 200 characters."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten the record, and let it pass."""
        record.msg, record.args, record.exc_info = record.getMessage()[:200], (), None
        return True


# Control characters, those that turn the direction of text, separators of lines, and half characters.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def one_line(text: str) -> str:
    """Return a text with every character that would forge a line or move the cursor escaped."""
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return the logger of a module; values are given as keywords."""
    return structlog.stdlib.get_logger(name)


def logging_settings(*, level: str, as_json: bool) -> dict[str, Any]:
    """Return Django's LOGGING: lines of this level or above on standard error."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {"()": "gangboard.logs.LineFormatter", "as_json": as_json},
            "json": {"()": "gangboard.logs.LineFormatter", "as_json": True},
        },
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "line"},
            "records": {"class": "logging.StreamHandler", "formatter": "json"},
        },
        "root": {"handlers": ["stderr"], "level": level},
        "filters": {"brief": {"()": "gangboard.logs.ShortMessageFilter"}},
        # Anybody can send a wrong Host, as often as they like.
        "loggers": {
            "django.security.DisallowedHost": {"filters": ["brief"]},
            # For a SIEM: JSON whatever the other lines are, and whatever their level is.
            "gangboard.access": {"handlers": ["records"], "level": "INFO", "propagate": False},
            "gangboard.audit": {"handlers": ["records"], "level": "INFO", "propagate": False},
            # At INFO it writes three lines for each request.
            "psycopg.pool": {"level": "WARNING"},
        },
    }
