"""The public URL of this installation, and the links that commands print."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse

_USUAL = "http://127.0.0.1:8000"


def public_url() -> str:
    """Return the public URL without a trailing slash: the setting, else the address that `up` serves."""
    if settings.PUBLIC_URL:
        return str(settings.PUBLIC_URL).rstrip("/")
    try:
        return (settings.STATE_DIR / "address").read_text(encoding="utf-8").strip() or _USUAL
    except OSError:
        return _USUAL


def remember_address(url: str) -> None:
    """Store the address for commands that run beside `up`, whose port may differ from the default."""
    path = settings.STATE_DIR / "address"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_text(url, encoding="utf-8")


def forget_address() -> None:
    """Remove the stored address."""
    (settings.STATE_DIR / "address").unlink(missing_ok=True)


def sign_in_url(secret: str) -> str:
    """Return the link for a secret of `store.authentication.create_sign_in_link`."""
    return public_url() + reverse("sign-in-link", args=[secret])
