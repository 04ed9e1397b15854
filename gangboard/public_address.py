"""The address under which people reach this installation."""

from __future__ import annotations

from django.conf import settings

_USUAL = "http://127.0.0.1:8000"


def public_url() -> str:
    """Return the address without a slash at its end: as set, else where `up` serves now."""
    if settings.PUBLIC_URL:
        return str(settings.PUBLIC_URL).rstrip("/")
    try:
        return (settings.STATE_DIR / "address").read_text(encoding="utf-8").strip() or _USUAL
    except OSError:
        return _USUAL
