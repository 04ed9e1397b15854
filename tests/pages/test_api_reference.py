"""The API reference: every call and field is listed, links work, and the page loads no third-party files."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from gangboard.pages.api_reference.api_document import resources_of
from gangboard.pages.api_reference.rows import ApiType
from gangboard.pages.templatetags.code_words import with_code
from tests.personas import Person
from tests.web.access_table import API

NOT_LISTED = {"api/v1/", "api/v1/actions", "api/v1/checks", "api/v1/<path:rest>/", "api/v1/schema/"}
"""The list of resources, another spelling, an unknown path, and the document itself."""


def text_of(person: Person, path: str) -> str:
    response = person.client.get(path)
    assert response.status_code == 200
    return str(response.content.decode())


def plain(page: str) -> str:
    """Return the words of a page without tags."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_every_call_is_listed_once(stranger: Person) -> None:
    page = text_of(stranger, "/reference/")
    listed = re.findall(
        r'<code class="api-method">(\w+)</code> <a href="[^"]+"><code>([^<]+)</code>', page
    )
    expected = {
        (method.upper(), re.sub(r"<\w+:(\w+)>", r"{\1}", route.removeprefix("api/v1/")))
        for route, methods in API.items()
        if route not in NOT_LISTED
        for method in methods
    }
    assert set(listed) == expected
    assert len(listed) == len(expected)


def test_every_link_leads_somewhere(reader: Person) -> None:
    pages = {"/reference/": text_of(reader, "/reference/")}
    names = set(re.findall(r'href="/reference/([\w-]+)/', pages["/reference/"]))
    assert names >= {"gangs", "actions", "holds", "events", "me", "people"}
    pages |= {f"/reference/{name}/": text_of(reader, f"/reference/{name}/") for name in names}
    ids = {path: set(re.findall(r' id="([^"]+)"', page)) for path, page in pages.items()}
    broken = []
    for path, page in pages.items():
        content = page.partition("<main")[2].partition("</main>")[0]
        for address, fragment in re.findall(r'href="([^"#]*)(?:#([^"]+))?"', content):
            if fragment and not address.startswith("/account/"):
                broken += [address] * (fragment not in ids[address or path])
        assert "<script" not in content
        assert re.findall(r'(?:src|href)="(?:https?:)?//', page) == []
    assert broken == []


def test_a_call_shows_its_parameters_answers_and_fields(reader: Person) -> None:
    page = plain(text_of(reader, "/reference/gangs/"))
    for texts in (
        "GET gangs/{gang_id}/bundle/",
        "blocked_for query string Gangs that have been blocked for at least this long, such as 10m .",
        "limit query integer Results on one page. At least 1, at most 500. Default: 100 .",
        "gang_id path string id of the gang.",
        "200 OK : GangList",
        "Errors, each a problem document : 400 Bad Request, 401 Unauthorized, 429 Too Many Requests",
        "submitter string or null Person or program that created the owner",
        "next_steps array of NextStep The same as fields.",
        "requests object, each value string",
        "health string: failed , blocked , degraded ,",
    ):
        assert texts in page, texts
    page = plain(text_of(reader, "/reference/actions/"))
    assert "Idempotency-Key header string Any text of yours of up to 200 characters." in page
    assert "Send JSON: ActionRequest ." in page
    assert "until optional string (date-time) or null When gangboard releases the Hold" in page


def test_an_unknown_resource_is_a_404(reader: Person) -> None:
    assert reader.client.get("/reference/nothing/").status_code == 404


def test_the_menu_and_the_account_link_to_the_reference(reader: Person) -> None:
    assert text_of(reader, "/account/").count('href="/reference/"') == 2


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": ["string", "null"], "format": "uri"}, ApiType("string (uri) or null")),
        ({"$ref": "#/x/Thing"}, ApiType("", "Thing")),
        ({"oneOf": [{"$ref": "#/x/Thing"}, {"type": "null"}]}, ApiType("null or", "Thing")),
        (
            {"oneOf": [{"$ref": "#/x/Word"}, {"$ref": "#/x/BlankEnum"}, {"$ref": "#/x/NullEnum"}]},
            ApiType("string or null", choices=("a", "b")),
        ),
        ({"type": "array", "items": {"$ref": "#/x/Thing"}}, ApiType("array of", "Thing")),
        (
            {"type": ["array", "null"], "items": {"type": "string"}},
            ApiType("null or array of string"),
        ),
        ({"type": "object", "additionalProperties": {}}, ApiType("object, each value any")),
        ({"allOf": [{"$ref": "#/x/Word"}]}, ApiType("string", choices=("a", "b"))),
        ({}, ApiType("any")),
    ],
)
def test_types_are_described_in_words(schema: dict[str, Any], expected: ApiType) -> None:
    obj = {"type": "object", "properties": {"field": schema}, "required": ["field"]}
    choice = {"enum": ["a", "b"], "type": "string"}
    answer = {"content": {"application/json": {"schema": {"$ref": "#/x/Thing"}}}}
    operation = {"operationId": "o", "description": "", "responses": {"200": answer}}
    (resource,) = resources_of(
        {
            "paths": {"/api/v1/things/": {"get": operation}},
            "components": {"schemas": {"Thing": obj, "Word": choice}},
        }
    )
    (objects,) = resource.objects
    assert objects.fields[0].type == expected


def test_only_backticks_become_code() -> None:
    assert with_code("Read `a<b` of `c`.") == ("Read <code>a&lt;b</code> of <code>c</code>.")
    assert with_code("One ` alone & <b>") == "One ` alone &amp; &lt;b&gt;"
