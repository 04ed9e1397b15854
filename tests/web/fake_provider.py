"""A small OpenID provider with a key of its own, whose next answer a test can make wrong."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

CLIENT_ID, SECRET = "gangboard", "the-secret-of-the-client"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class FakeProvider:
    """Answers of the provider. Claims with the value None are omitted."""

    issuer: str
    claims: dict[str, Any] = field(default_factory=dict)
    """Replace those of a right ID token."""
    userinfo: dict[str, Any] = field(default_factory=dict)
    key: Any = KEY
    """Signs the ID token."""
    algorithm: str = "RS256"
    configuration: dict[str, Any] = field(default_factory=dict)
    """Replaces parts of the right one."""
    status: int = 200
    """Of every answer."""
    tokens: dict[str, Any] | None = None
    """The answer of the token endpoint, if it is not the right one."""
    asked: list[str] = field(default_factory=list)
    """Paths of all requests."""
    challenge: str = ""
    """PKCE challenge of the sign-in that was begun last."""
    nonce: str = ""
    """Its nonce."""

    def begin(self, location: str) -> dict[str, str]:
        """Take the person who is sent to `location`; return the parameters there."""
        parameters = {
            name: values[0] for name, values in parse_qs(urlsplit(location).query).items()
        }
        self.challenge = parameters["code_challenge"]
        self.nonce = parameters["nonce"]
        return parameters

    def answer(self, path: str, form: dict[str, str]) -> tuple[int, Any]:
        """Return status and JSON of an answer."""
        self.asked.append(path)
        if self.status != 200:
            return self.status, {"error": "server_error"}
        if path == "/.well-known/openid-configuration":
            return 200, {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
                "jwks_uri": f"{self.issuer}/keys",
                **self.configuration,
            }
        if path == "/keys":
            public = json.loads(RSAAlgorithm.to_jwk(KEY.public_key()))
            return 200, {"keys": [{**public, "kid": "one", "use": "sig", "alg": "RS256"}]}
        if path == "/userinfo":
            return 200, self.userinfo
        return self._tokens(form)

    def _tokens(self, form: dict[str, str]) -> tuple[int, Any]:
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        sent = form["code"], challenge, form["client_id"], form["client_secret"]
        if sent != ("the-code", self.challenge, CLIENT_ID, SECRET):
            return 400, {"error": "invalid_grant"}
        if self.tokens is not None:
            return 200, self.tokens
        claims = {
            "iss": self.issuer,
            "sub": "person-1",
            "aud": CLIENT_ID,
            "iat": time.time(),
            "exp": time.time() + 600,
            "nonce": self.nonce,
            "preferred_username": "ada",
            "groups": ["ml"],
            **self.claims,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        token = jwt.encode(claims, self.key, self.algorithm, headers={"kid": "one"})
        return 200, {"access_token": "opaque", "token_type": "Bearer", "id_token": token}


@contextmanager
def fake_provider() -> Iterator[FakeProvider]:
    """Serve a provider on a port of its own until the end of the block."""
    provider = FakeProvider("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer({name: values[0] for name, values in parse_qs(text).items()})

        def _answer(self, form: dict[str, str]) -> None:
            status, result = provider.answer(urlsplit(self.path).path, form)
            body = json.dumps(result).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
