"""The address under which people reach this installation, and the links that commands print."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse

_USUAL = "http://127.0.0.1:8000"


def public_url() -> str:
    """Return the address without a slash at its end: as set, else where `up` serves now."""
    if settings.PUBLIC_URL:
        return str(settings.PUBLIC_URL).rstrip("/")
    try:
        return (settings.STATE_DIR / "address").read_text(encoding="utf-8").strip() or _USUAL
    except OSError:
        return _USUAL


def remember_address(url: str) -> None:
    """Store the address for commands that run beside `up`: its port may not be the usual one."""
    path = settings.STATE_DIR / "address"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_text(url, encoding="utf-8")


def forget_address() -> None:
    """Undo `remember_address`."""
    (settings.STATE_DIR / "address").unlink(missing_ok=True)


def sign_in_url(secret: str) -> str:
    """Return the link that signs in with the secret of store.authentication.create_sign_in_link."""
    return public_url() + reverse("sign-in-link", args=[secret])
