"""Settings of django-allauth: no sign-up of its own, and requests to the provider that have an end."""

from __future__ import annotations

import time
from typing import Any

import requests
from allauth.account.adapter import DefaultAccountAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.http import HttpRequest

DEADLINE = 5.0
"""Seconds for one answer of the provider, from the connection to its last byte."""
LARGEST_ANSWER = 256 * 1024
"""Bytes. Real answers have some kB."""


class ProviderSession(requests.Session):
    """Requests that follow no redirect and end after DEADLINE. They raise `requests.RequestException`."""

    def __init__(self) -> None:
        super().__init__()
        self.max_redirects = 0

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        """Return the answer with its body."""
        end = time.monotonic() + DEADLINE
        response = super().send(request, **{**kwargs, "timeout": DEADLINE, "stream": True})
        body = bytearray()
        # Byte by byte: a larger piece waits for its last byte, however slowly they come.
        for piece in response.iter_content(1):
            body += piece
            if len(body) > LARGEST_ANSWER:
                response.close()
                raise requests.exceptions.ContentDecodingError("the answer is too large")
            if time.monotonic() > end:
                response.close()
                raise requests.exceptions.ReadTimeout("the answer takes too long")
        response._content = bytes(body)  # as `requests` itself keeps a body that was read
        return response


class SocialAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # untyped
    """Gives allauth its connection to the provider."""

    def get_requests_session(self) -> requests.Session:
        """Return a session for a few requests."""
        return ProviderSession()

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:  # noqa: ARG002
        """Return False: `store.identities` makes accounts."""
        return False


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # untyped
    """Lets allauth make no account."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """Return False: admins and `store.identities` make accounts."""
        return False
