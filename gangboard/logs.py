"""Log lines: structlog's key=value lines for people, JSON if GANGBOARD_LOG_JSON is on."""

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
    """Formats records of gangboard and of libraries in the same way."""

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
        """Return one safe line for one event, including its traceback.

        It contains no password of an address, whoever wrote the record.
        """
        return hide_passwords(one_line(super().format(record)))


class ShortMessageFilter(logging.Filter):
    """Shortens events that clients cause: no traceback, at most 200 characters."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten the record, and accept it."""
        record.msg, record.args, record.exc_info = record.getMessage()[:200], (), None
        return True


# Control characters, direction marks, line separators, and lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def one_line(text: str) -> str:
    """Return a text in which characters that forge a line or move the cursor are escaped."""
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return the logger of a module. Values are given as keywords."""
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
        # Clients can send a wrong Host at will.
        "loggers": {
            "django.security.DisallowedHost": {"filters": ["brief"]},
            # For a SIEM: always JSON, and at every log level.
            "gangboard.access": {"handlers": ["records"], "level": "INFO", "propagate": False},
            "gangboard.audit": {"handlers": ["records"], "level": "INFO", "propagate": False},
            # At INFO it writes three lines for each request.
            "psycopg.pool": {"level": "WARNING"},
        },
    }
