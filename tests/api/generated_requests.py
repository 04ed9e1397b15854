"""Requests that schemathesis makes of the OpenAPI document, sent to the product in this process."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from django.conf import settings as django_settings
from django.core.handlers.wsgi import WSGIHandler
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from schemathesis.core.failures import FailureGroup
from schemathesis.schemas import APIOperation

from gangboard.store import people
from tests.api.conftest import token_of

MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
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


@dataclass
class Tally:
    """What came of the requests of one person."""

    statuses: Counter[int] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)
    """Operation and what is wrong with it → the first report of it."""

    @property
    def cases(self) -> int:
        """How many requests were sent."""
        return self.statuses.total()


def headers_of(persona: str) -> dict[str, str]:
    """Return what a person sends: a token, of an admin the cookies of a browser that has signed in just now."""
    if persona != "admin":
        return {"Authorization": f"Bearer {token_of(persona, may_act=persona == 'operator')}"}
    token_of(persona)
    user = people.find_user(name=persona)
    assert user is not None
    browser = Client()
    browser.force_login(user)
    session = browser.cookies[django_settings.SESSION_COOKIE_NAME].value
    cookies = {
        django_settings.SESSION_COOKIE_NAME: session,
        django_settings.CSRF_COOKIE_NAME: _CSRF,
    }
    return {
        "Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items()),
        "X-CSRFToken": _CSRF,
    }


def operations_of(
    document: Mapping[str, Any], objects: Mapping[str, Mapping[str, Any]]
) -> list[APIOperation]:
    """Return the operations of a document. `objects`: path → parameters of an object that there is.

    About half of the requests are about that object, because made-up names are only ever not found.
    """
    known = json.loads(json.dumps(document))
    for path, parameters in objects.items():
        for operation in known["paths"][path].values():
            for parameter in operation["parameters"]:
                if parameter["name"] in parameters:
                    there = {"const": parameters[parameter["name"]]}
                    parameter["schema"] = {"anyOf": [there, parameter["schema"]]}
    schema = schemathesis.openapi.from_dict(known)
    schema.app = WSGIHandler()
    return [one.ok() for one in schema.get_all_operations()]


def try_operation(
    operation: APIOperation, headers: dict[str, str], tally: Tally, *, cases: int, number: int
) -> None:
    """Send requests of one operation and note what came of them. `number` decides which.

    Half of them is what schemathesis tries of everybody (limits, missing fields, other methods), half is drawn.
    """
    usual = _usual_cases(operation)
    for case in random.Random(number).sample(usual, min(len(usual), cases // 2)):
        _send(case, headers, tally)
    left = cases - min(len(usual), cases // 2)

    @seed(number)
    @settings(
        max_examples=left,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(case=st.one_of([operation.as_strategy(generation_mode=mode) for mode in MODES]))
    def send(case: schemathesis.Case) -> None:
        _send(case, headers, tally)

    send()


def _usual_cases(operation: APIOperation) -> list[schemathesis.Case]:
    schema = operation.schema
    generation = schema.config.generation_for(operation=operation, phase="coverage")
    found: Iterator[schemathesis.Case] = schema.iter_coverage_cases(
        operation,
        generation_modes=list(MODES),
        generation_config=generation,
        extra_data_source=None,
        error_feedback=None,
    )
    return list(found)


def _send(case: schemathesis.Case, headers: dict[str, str], tally: Tally) -> None:
    """Send a request, note what is wrong with the answer, and undo what the request has done."""
    if isinstance(case.query.get("wait"), int) and 0 < case.query["wait"] <= 25:
        case.query = {**case.query, "wait": 0}  # it would do nothing else for so many seconds
    with transaction.atomic():
        response = case.call(headers=headers)
        tally.statuses[response.status_code] += 1
        try:
            case.validate_response(response, headers=headers, excluded_checks=_unfit(case))
        except FailureGroup as group:
            for failure in group.exceptions:
                what = f"{case.operation.label}: {failure.title}"
                tally.failures.setdefault(what, str(group))
        transaction.set_rollback(True)


def _unfit(case: schemathesis.Case) -> list[Any]:
    names = set(NOT_FOR_US)
    if "fields" in case.query:
        # Rows have the fields that were asked for, and the document cannot say so.
        names.add("response_schema_conformance")
    return [check for check in CHECKS.get_all() if check.__name__ in names]
