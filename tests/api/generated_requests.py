"""Requests that schemathesis makes of the OpenAPI document, sent to the product in this process."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import schemathesis
from django.conf import settings as django_settings
from django.core.handlers.wsgi import WSGIHandler
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation

from gangboard.store import people
from tests.api.conftest import token_of

NOT_FOR_US = {
    # The document cannot say which clusters, reason codes, fields and cursors there are: others are refused with 400,
    # so that a typing error never means "all".
    "positive_data_acceptance",
    # Both need several requests that build upon each other, and each of these requests is undone.
    "use_after_free",
    "ensure_resource_availability",
    "object_level_authorization",
}
"""Checks of schemathesis that are wrong here."""
_CSRF = "c" * 32
Case: TypeAlias = schemathesis.Case[Any]
Declared: TypeAlias = APIOperation[Any, Any, Any, Any]


@dataclass
class Tally:
    """Results of the requests of one user."""

    statuses: Counter[int] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)
    """Operation and fault → its first report."""

    @property
    def cases(self) -> int:
        """How many requests were sent."""
        return self.statuses.total()


@dataclass(frozen=True)
class Sender:
    """A sender of requests with its credentials."""

    headers: dict[str, str]
    cookies: dict[str, str] = field(default_factory=dict)
    not_for_them: frozenset[str] = frozenset()
    """Checks that are wrong for this person."""


def sender_of(persona: str) -> Sender:
    """Return a person with a token; of `browser` the admin who has signed in just now."""
    if persona != "browser":
        token = token_of(persona, may_act=persona != "reader")
        return Sender({"Authorization": f"Bearer {token}"})
    token_of("admin")
    user = people.find_user(name="admin")
    assert user is not None
    browser = Client()
    browser.force_login(user)
    session = browser.session
    session["signed_in_at"] = time.time()
    session.save()
    cookies = {
        django_settings.SESSION_COOKIE_NAME: session.session_key or "",
        django_settings.CSRF_COOKIE_NAME: _CSRF,
    }
    # Schemathesis cannot remove these cookies. Other users send all operations without a token.
    return Sender({"X-CSRFToken": _CSRF}, cookies, frozenset({"ignored_auth"}))


@dataclass(frozen=True)
class Known:
    """Existing objects, because random names would only give 404."""

    objects: Mapping[str, Mapping[str, Any]]
    """Path → parameters of an object."""
    query: Mapping[str, Any]
    """Parameters of queries."""
    schemas: Mapping[str, Any]
    """Values of schemas of the document."""


@dataclass
class Operation:
    """An operation as the document declares it, and as requests about things that there are call it."""

    declared: Declared
    known: Declared

    @cached_property
    def usual_cases(self) -> list[Case]:
        """Cases that schemathesis tries for every operation: limits, missing fields, other methods."""
        return _usual_cases(self.declared, list(GenerationMode))

    @cached_property
    def right_cases(self) -> list[Case]:
        """Those of them that are right, about things that there are."""
        return _usual_cases(self.known, [GenerationMode.POSITIVE])


def _usual_cases(operation: Declared, modes: list[GenerationMode]) -> list[Case]:
    schema = operation.schema
    generation = schema.config.generation_for(operation=operation, phase="coverage")
    result: Iterator[Case] = schema.iter_coverage_cases(
        operation, generation_modes=modes, generation_config=generation
    )
    return list(result)


def operations_of(document: Mapping[str, Any], known: Known) -> list[Operation]:
    """Return the operations of a document, unchanged and with known objects."""
    changed = json.loads(json.dumps(document))
    for path, methods in changed["paths"].items():
        for operation in methods.values():
            parameters = operation.get("parameters", [])
            remote = {**known.query, **known.objects.get(path, {})}
            for parameter in parameters:
                if parameter["name"] in remote:
                    parameter["schema"] = {"const": remote[parameter["name"]]}
            # Random cursors and field names would always be invalid.
            operation["parameters"] = [
                item
                for item in parameters
                if item["name"] not in ("cursor", "fields", "If-None-Match")
            ]
    schemas = changed["components"]["schemas"]
    for name, value in known.schemas.items():
        schemas[name] = {"const": value}
    return [
        Operation(item, another)
        for item, another in zip(_operations(document), _operations(changed), strict=True)
    ]


def _operations(document: Mapping[str, Any]) -> list[Declared]:
    generation = {"with-security-parameters": False}  # they would replace those of the sender
    config = schemathesis.Config.from_dict({"generation": generation})
    schema = schemathesis.openapi.from_dict(json.loads(json.dumps(document)), config=config)
    schema.app = WSGIHandler()
    return [item.ok() for item in schema.get_all_operations() if isinstance(item, Ok)]


def try_operation(
    operation: Operation, sender: Sender, tally: Tally, *, cases: int, number: int
) -> None:
    """Send requests of one operation and note what came of them. `number` decides which.

    A third is what schemathesis tries of every operation (limits, missing fields, other methods), a third is
    drawn wrong, and a third right. A single request is not drawn, because
    that takes long: of every other operation it is a right one.
    """
    if cases == 1:
        usual = operation.usual_cases if number % 2 else operation.right_cases
        _send(random.Random(number).choice(usual), sender, tally)
        return
    usual = operation.usual_cases
    number_of_usual = min(len(usual), cases // 3)
    for case in random.Random(number).sample(usual, number_of_usual):
        _send(case, sender, tally)

    right = operation.known.as_strategy(generation_mode=GenerationMode.POSITIVE)
    wrong = operation.declared.as_strategy(generation_mode=GenerationMode.NEGATIVE)

    @seed(number)
    @settings(
        max_examples=cases - number_of_usual,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(case=right | wrong)
    def send(case: Case) -> None:
        _send(case, sender, tally)

    send()


def _send(case: Case, sender: Sender, tally: Tally) -> None:
    """Send a request, record faults of the answer and roll back its changes."""
    if isinstance(case.query.get("wait"), int) and 0 < case.query["wait"] <= 25:
        case.query = {**case.query, "wait": 0}  # a wait would block the test for so many seconds
    with transaction.atomic():
        response = case.call(headers=sender.headers, cookies=sender.cookies)
        tally.statuses[response.status_code] += 1
        try:
            case.validate_response(
                response,
                headers=sender.headers,
                excluded_checks=_unfit(case, sender),
                transport_kwargs={"headers": sender.headers, "cookies": sender.cookies},
            )
        except FailureGroup as group:
            for failure in group.exceptions:
                subject = f"{case.operation.label}: {failure.title}"
                tally.failures.setdefault(subject, str(group))
        transaction.set_rollback(True)


def _unfit(case: Case, sender: Sender) -> list[Any]:
    names = NOT_FOR_US | sender.not_for_them
    if "fields" in case.query:
        # Rows have the requested fields, which the schema cannot express.
        names |= {"response_schema_conformance"}
    return [check for check in CHECKS.get_all() if check.__name__ in names]
