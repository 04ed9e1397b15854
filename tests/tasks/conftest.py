"""The simulated fleet without changes of its own, watched by a complete gangboard, and a person at
its pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from simulator import Simulator
from simulator.fleets import EXPECTED
from tests.browser import follow_link
from tests.installation import Installation
from tests.live.poll_worker import wait_until
from tests.random_sets import sized
from tests.tasks.person import PAIRS, Form, Person

MOST_CLICKS = 4
PATIENCE = 120.0
STOPPED = ("team-infra", "moe-serve")
"""The objects that Nina suspended, and her reason."""
STOPPED_BECAUSE = "decode nodes get a new kernel"


@dataclass
class Gangboard:
    """A running gangboard, and the clusters that it watches."""

    installation: Installation
    east: Simulator
    west: Simulator

    def pod_names(self, namespace: str, gang: str) -> list[str]:
        """Return the names of the pods of a gang in east."""
        pods = self.east.objects.list("v1", "Pod", namespace)
        names = [str(pod["metadata"]["name"]) for pod in pods]
        return sorted(name for name in names if name.startswith(f"{gang}-"))


@pytest.fixture(scope="module")
def gangboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gangboard]:
    """Both clusters of the demo with all their gangs judged, and one gang that was stopped.

    They do not have the names of the demo: `up` would start its own clusters, where gangs come and go.
    """
    folder = tmp_path_factory.mktemp("fleet")
    with ExitStack() as stack:
        clusters = {
            "east": stack.enter_context(Simulator("east", story=False)),
            "west": stack.enter_context(Simulator("west", story=False, hold=False)),
        }
        readers, actors = {}, {}
        for name, cluster in clusters.items():
            readers[name], actors[name] = folder / f"{name}-reader", folder / f"{name}-actor"
            readers[name].write_text(cluster.kubeconfig_text(read_only=True))
            actors[name].write_text(cluster.kubeconfig_text())
        installation = stack.enter_context(Installation(readers, actors=actors))
        watched = Gangboard(installation, clusters["east"], clusters["west"])
        wait_until(lambda: _is_told(installation), PATIENCE, "the verdicts of the fleet")
        _stop_one(watched)
        yield watched


def _is_told(installation: Installation) -> bool:
    """Return whether every gang of the fleet has the code of its scenario."""
    codes = {
        (gang["namespace"], gang["kind"], gang["name"]): gang["code"]
        for gang in installation.gangs()
    }
    return all(codes.get(key) == code for key, code in EXPECTED.items())


def _stop_one(watched: Gangboard) -> None:
    """Let Nina, an operator, suspend a JobSet through the API."""
    namespace, name = STOPPED
    watched.installation.manage("create_user", "nina", "--role", "operator")
    token = watched.installation.manage("create_token", "nina", "--act").splitlines()[-1]
    api_version = "jobset.x-k8s.io/v1alpha2"
    jobset = watched.east.objects.get(api_version, "JobSet", name, namespace)
    assert jobset is not None
    target = {
        "cluster": "east",
        "api_group": api_version.split("/")[0],
        "kind": "JobSet",
        "namespace": namespace,
        "name": name,
        "uid": jobset["metadata"]["uid"],
        "generation": jobset["metadata"]["generation"],
    }
    body = {"verb": "suspend", "target": target, "reason": STOPPED_BECAUSE}
    status, answer = watched.installation.post("actions/", body, key="stop-moe-serve", token=token)
    assert status == 202, answer


@pytest.fixture(scope="module")
def pages(gangboard: Gangboard, browser: Browser) -> Iterator[dict[Form, Page]]:
    """A page for each form, signed in as the same admin."""
    with ExitStack() as stack:
        opened: dict[Form, Page] = {}
        cookies: Path | None = None
        for form in chain(*PAIRS):
            width, height = form.viewport
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme=form.scheme,
                reduced_motion="reduce",
                storage_state=cookies,
            )
            stack.callback(context.close)
            opened[form] = context.new_page()
            if cookies is None:
                follow_link(opened[form], gangboard.installation.new_sign_in_link())
                cookies = gangboard.installation.folder / "cookies.json"
                context.storage_state(path=cookies)
        yield opened


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let each task be done in one form, and in `make exhaustive` in both forms of a pair.

    The tasks of a file have the four forms in turn.
    """
    if "person" in metafunc.fixturenames:
        tasks = [name for name in vars(metafunc.module) if name.startswith("test_")]
        turn, number = divmod(tasks.index(metafunc.function.__name__), len(PAIRS))
        pair = PAIRS[number]
        forms = sized((pair[turn % len(pair)],), pair)
        metafunc.parametrize("person", forms, indirect=True, ids=str)


@pytest.fixture
def person(
    request: pytest.FixtureRequest, gangboard: Gangboard, pages: dict[Form, Page]
) -> Iterator[Person]:
    """A person at the Board. Each task must take at most four clicks."""
    form: Form = request.param
    page = pages[form]
    page.goto(f"{gangboard.installation.url}/")
    somebody = Person(page, form)
    yield somebody
    assert len(somebody.trail) <= MOST_CLICKS, somebody.trail
