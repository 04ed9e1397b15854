"""Log lines: structlog's key=value lines for people, JSON when GANGBOARD_LOG_JSON is on."""

from __future__ import annotations

import structlog

from gangboard import env

JSON_LINES = env.read_bool("GANGBOARD_LOG_JSON", default=False, meaning="log lines as JSON")

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

    def __init__(self) -> None:
        renderer: structlog.typing.Processor = (
            structlog.processors.JSONRenderer()
            if JSON_LINES
            else structlog.dev.ConsoleRenderer(colors=False)
        )
        super().__init__(
            foreign_pre_chain=_SHARED,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return the logger of a module; values are given as keywords."""
    return structlog.stdlib.get_logger(name)
