"""Verification of ID tokens (OpenID Connect Core 1.0, 3.1.3.7)."""

from __future__ import annotations

from typing import Any

import jwt

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""Public key signatures. `none` and signatures with a shared secret do not prove the provider."""
LEEWAY = 60
"""Seconds by which the clocks of the provider and of this machine may differ."""
_CLAIMS = ("iss", "sub", "aud", "exp", "iat")


class IDTokenError(ValueError):
    """An invalid token. The text ends the sentence "The answer of NAME was not accepted: "."""


def verify(
    token: str, *, keys: dict[str, Any], issuer: str, client_id: str, nonce: str
) -> dict[str, Any]:
    """Return the claims of an ID token. `keys` is the provider's JWK Set. Raises IDTokenError."""
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            _key_of(token, keys),
            algorithms=list(ALGORITHMS),
            audience=client_id,
            issuer=issuer,
            leeway=LEEWAY,
            options={"require": list(_CLAIMS)},
        )
    except jwt.ExpiredSignatureError as error:
        raise IDTokenError("it has expired") from error
    except jwt.InvalidAudienceError as error:
        raise IDTokenError("it is for another application") from error
    except jwt.InvalidIssuerError as error:
        raise IDTokenError("it is of another issuer") from error
    except jwt.InvalidSignatureError as error:
        raise IDTokenError("its signature is wrong") from error
    except jwt.MissingRequiredClaimError as error:
        raise IDTokenError(f"it has no {error.claim}") from error
    except (jwt.PyJWTError, TypeError, ValueError, KeyError) as error:
        raise IDTokenError("it cannot be read") from error
    has_several_audiences = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if has_several_audiences else client_id) != client_id:
        raise IDTokenError("it is for another application")
    if claims.get("nonce") != nonce:
        raise IDTokenError("it belongs to another sign-in")
    return claims


def _key_of(token: str, keys: dict[str, Any]) -> jwt.PyJWK:
    """Return the signing key that a token names. Raises IDTokenError, and PyJWTError."""
    key_id = jwt.get_unverified_header(token).get("kid")
    usable = [key for key in jwt.PyJWKSet.from_dict(keys).keys if key.public_key_use != "enc"]
    matching = [key for key in usable if key.key_id == key_id] if key_id else usable
    if len(matching) != 1:
        raise IDTokenError("it was signed with a key that the provider does not name")
    return matching[0]
