"""The OpenID provider of the settings: its configuration, the redirect to it, and the claims about a user."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables

from gangboard.pages.sign_in.single_sign_on import id_tokens
from gangboard.pages.sign_in.single_sign_on.adapters import ProviderSession
from gangboard.store.identities import Person

CACHE_SECONDS = 30.0
"""Seconds for which the provider's configuration is cached."""
MOST_AT_ONCE = 8
"""Requests that may wait for the provider at once. Each holds a thread of the pages."""
_NEEDED = ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")
_configurations: dict[str, tuple[float, dict[str, Any]]] = {}
"""(monotonic time, configuration) by issuer."""
_slots = threading.BoundedSemaphore(MOST_AT_ONCE)


class ProviderError(Exception):
    """The provider did not sign a person in. The text is a sentence for that person."""

    def __init__(self, sentence: str, status: int = 403) -> None:
        super().__init__(sentence)
        self.status = status
        """HTTP status of the error page."""


class Adapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # untyped
    """allauth's client, with the provider of the settings and its addresses checked."""

    def get_provider(self) -> Provider:
        """Return the provider."""
        return Provider(self.request)

    @property
    def openid_config(self) -> dict[str, Any]:
        """Return the provider's configuration. Raises ProviderError."""
        return read_configuration()

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:  # noqa: ARG002
        """Return the redirect URI, which must be registered at the provider."""
        path = reverse("sign-in-provider-callback")
        return (
            settings.PUBLIC_URL + path if settings.PUBLIC_URL else request.build_absolute_uri(path)
        )


class Provider(OpenIDConnectProvider):  # type: ignore[misc]  # untyped
    """The provider of the settings."""

    oauth2_adapter_class = Adapter

    def __init__(self, request: HttpRequest) -> None:
        app = SocialApp(
            provider=OpenIDConnectProvider.id,
            provider_id="settings",
            name=settings.OIDC_NAME,
            client_id=settings.OIDC_CLIENT_ID,
            secret=settings.OIDC_CLIENT_SECRET,
            settings={
                "server_url": settings.OIDC_ISSUER,
                "oauth_pkce_enabled": True,
                "scope": list(settings.OIDC_SCOPES),
            },
        )
        super().__init__(request, app=app)


def begin(
    request: HttpRequest, *, back_to: str, nonce: str, must_be_fresh: bool
) -> HttpResponseBase:
    """Return the redirect to the provider. Raises ProviderError."""
    freshness = {"prompt": "login", "max_age": "0"} if must_be_fresh else {}
    data = {"next": back_to, "nonce": nonce, "fresh": must_be_fresh}
    with _answers():
        response: HttpResponseBase = Provider(request).redirect(
            request, process="login", data=data, auth_params={"nonce": nonce, **freshness}
        )
    return response


@sensitive_variables()
def read_claims(
    request: HttpRequest, *, code: str, code_verifier: str, nonce: str
) -> dict[str, Any]:
    """Exchange a code and return the claims about the user. Raises ProviderError."""
    adapter = Adapter(request, "settings")
    provider = adapter.get_provider()
    with _answers():
        configuration = adapter.openid_config
        client = adapter.get_client(request, provider.app)
        tokens = client.get_access_token(code, pkce_code_verifier=code_verifier)
        token = tokens.get("id_token")
        if not isinstance(token, str):
            raise id_tokens.IDTokenError("it has no ID token")
        claims = id_tokens.verify(
            token,
            keys=_get(configuration["jwks_uri"]),
            issuer=configuration["issuer"],
            client_id=settings.OIDC_CLIENT_ID,
            nonce=nonce,
        )
        if _is_complete(claims) or "userinfo_endpoint" not in configuration:
            return claims
        userinfo = _get(configuration["userinfo_endpoint"], str(tokens["access_token"]))
    if userinfo.get("sub") != claims["sub"]:
        raise ProviderError(_not_accepted("it names two people"))
    return {**userinfo, **claims}


def read_configuration() -> dict[str, Any]:
    """Return the configuration that the provider publishes. Raises ProviderError."""
    issuer = settings.OIDC_ISSUER.rstrip("/")
    now = time.monotonic()
    read_at, configuration = _configurations.get(issuer, (0.0, {}))
    if configuration and now - read_at < CACHE_SECONDS:
        return configuration
    configuration = _get(f"{issuer}/.well-known/openid-configuration")
    if any(not isinstance(configuration.get(name), str) for name in _NEEDED):
        raise ProviderError(_not_accepted("its configuration is incomplete"), 503)
    if configuration["issuer"].rstrip("/") != issuer:
        raise ProviderError(_not_accepted("its configuration is of another issuer"), 503)
    _configurations[issuer] = now, configuration
    return configuration


def forget_configuration() -> None:
    """Read the configuration again at the next sign-in."""
    _configurations.clear()


def person_of(claims: dict[str, Any]) -> tuple[Person, bool]:
    """Return the person whom the claims describe, and whether the claims contain groups."""
    groups = _claim(claims, settings.OIDC_GROUPS_CLAIM)
    listed = [groups] if isinstance(groups, str) else groups
    has_groups = isinstance(listed, list)
    names = (
        tuple(group for group in listed if isinstance(group, str))
        if isinstance(listed, list)
        else ()
    )
    name = _claim(claims, settings.OIDC_NAME_CLAIM)
    return (
        Person(
            issuer=str(claims["iss"]),
            subject=str(claims["sub"]),
            name=name if isinstance(name, str) else str(claims["sub"]),
            groups=names,
        ),
        has_groups,
    )


def _is_complete(claims: dict[str, Any]) -> bool:
    names = (settings.OIDC_GROUPS_CLAIM, settings.OIDC_NAME_CLAIM)
    return all(_claim(claims, name) is not None for name in names)


def _claim(claims: dict[str, Any], name: str) -> Any:
    """Return a claim. A dotted name such as `realm_access.roles` leads into nested objects."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for key in name.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _get(url: str, access_token: str = "") -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {access_token}"} if access_token else {}
    with ProviderSession() as session:
        response = session.get(url, headers=headers)
        response.raise_for_status()
        document = response.json()
    if not isinstance(document, dict):
        raise ProviderError(_not_accepted("it is no JSON object"), 503)
    return document


@contextmanager
def _answers() -> Iterator[None]:
    """Turn each error in the exchange with the provider into a ProviderError."""
    if not _slots.acquire(timeout=1):
        raise ProviderError("Too many sign-ins at this moment. Try again.", 503)
    name = settings.OIDC_NAME
    try:
        yield
    except id_tokens.IDTokenError as error:
        raise ProviderError(_not_accepted(str(error))) from error
    except OAuth2Error as error:
        raise ProviderError(f"{name} refused to finish this sign-in. Begin again.") from error
    except requests.RequestException as error:
        sentence = f"{name} does not answer correctly, so signing in with it does not work now. Try again later."
        raise ProviderError(sentence, 503) from error
    except (KeyError, TypeError) as error:  # allauth reads answers as if they were whole
        raise ProviderError(_not_accepted("it cannot be read")) from error
    finally:
        _slots.release()


def _not_accepted(why: str) -> str:
    return f"The answer of {settings.OIDC_NAME} was not accepted: {why}."
