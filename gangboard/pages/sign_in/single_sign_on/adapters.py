"""Adapters of django-allauth, which disable its sign-up and limit the requests to the provider."""

from __future__ import annotations

import time
from typing import Any

import requests
from allauth.account.adapter import DefaultAccountAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.http import HttpRequest

DEADLINE = 5.0
"""Seconds for an answer of the provider, from the connection to the last byte."""
LARGEST_ANSWER = 256 * 1024
"""Bytes of an answer. Real answers have a few kB."""


class ProviderSession(requests.Session):
    """HTTP session without redirects, whose requests end after DEADLINE. They raise `requests.RequestException`."""

    def __init__(self) -> None:
        super().__init__()
        self.max_redirects = 0

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        """Return the answer with its body."""
        deadline = time.monotonic() + DEADLINE
        response = super().send(request, **{**kwargs, "timeout": DEADLINE, "stream": True})
        body = bytearray()
        # Read byte by byte: a larger chunk waits for its last byte and could miss the deadline.
        for chunk in response.iter_content(1):
            body += chunk
            if len(body) > LARGEST_ANSWER:
                response.close()
                raise requests.exceptions.ContentDecodingError("the answer is too large")
            if time.monotonic() > deadline:
                response.close()
                raise requests.exceptions.ReadTimeout("the answer takes too long")
        response._content = bytes(body)  # as `requests` itself keeps a body that was read
        return response


class SocialAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # untyped
    """Gives allauth the limited HTTP session."""

    def get_requests_session(self) -> requests.Session:
        """Return a new session."""
        return ProviderSession()

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:  # noqa: ARG002
        """Return False: `store.identities` makes accounts."""
        return False


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # untyped
    """Disables the sign-up of allauth."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """Return False: admins and `store.identities` make accounts."""
        return False
