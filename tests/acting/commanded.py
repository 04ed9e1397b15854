"""A story about the command line client and a recipe in curl, on a cluster that gangboard watches."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.acting.scene import Scene
from tests.client.recipes import RECIPES, Ran, Shell
from tests.controlplane.objects import JobOptions, jobset

CLIENT = Path(__file__).resolve().parents[2] / "client/src"
JOB, SIBLING = "run-w-0", "run-w-1"


def by_client(scene: Scene) -> None:
    """Wait, list, explain, hold and resume with the client; hold again with the recipe of the paper."""
    workers: JobOptions = {"replicas": 2, "grace": 1, "node_selector": scene.where}
    scene.set_up(jobset("run", scene.namespace, jobs={"w": workers}))
    gang = f"{scene.cluster}/{scene.namespace}/JobSet/run"
    place = ("--cluster", scene.cluster, "--namespace", scene.namespace)
    with tempfile.TemporaryDirectory() as home:
        # gangboard may not have seen the JobSet yet, so wait on.
        waited = _client(scene, home, "wait", gang, "--for", "running", "--timeout", "2m")
        assert (waited.code, waited.out.partition(":")[0]) == (0, "JobSet run is running"), waited
        listed = _client(scene, home, "list", *place)
        assert [row.split()[3:5] for row in listed.out.splitlines()[1:]] == [["run", "running"]]
        assert _client(scene, home, "explain", gang).code == 0
        sibling = scene.uids(SIBLING)
        scene.wait_seen("run", JOB)

        reason = ("--job", JOB, "--reason", "gpu-07 is broken")
        held = _client(scene, home, "suspend", gang, *reason, "--until", "1h", "--wait")
        assert (held.code, held.out.partition(":")[0]) == (0, "Held"), held
        _is_held(scene)
        waited = _client(scene, home, "wait", gang, "--for", "held", "--job", JOB)
        assert (waited.code, waited.out) == (0, f"Job {JOB} is held.\n"), waited
        explained = _client(scene, home, "explain", gang)
        assert (explained.code, f"{JOB}  held" in explained.out) == (1, True), explained
        holds = _client(scene, home, "holds", *place, "--ending-within", "2h")
        assert [row.split()[2] for row in holds.out.splitlines()[1:]] == [JOB], holds

        resumed = _client(scene, home, "resume", gang, *reason[:2], "--reason", "back", "--wait")
        assert resumed.code == 0, resumed
        scene.wait_running(1, JOB)
        assert scene.holds() == []
        assert scene.uids(SIBLING) == sibling, "the sibling was left alone"
        events = _client(scene, home, "events", *place, "--type", "action")
        assert len(events.out.splitlines()) == 2, events

        scene.wait_seen("run", JOB)
        shell = Shell(scene.installation.url, Path(home))
        assert shell.prepare(scene.installation.token).code == 0
        assert (done := shell.run(_recipe(scene))).code == 0, done
        assert done.out.startswith("verified: "), done
        _is_held(scene)


def _is_held(scene: Scene) -> None:
    assert scene.job(JOB)["spec"]["suspend"] is True
    assert scene.pods(JOB) == []
    (hold,) = scene.holds()
    assert hold["spec"]["reason"] == "gpu-07 is broken"
    assert hold["spec"]["until"]


def _recipe(scene: Scene) -> str:
    """Return the recipe that holds one Job, with the names of the scene."""
    names = {"east": scene.cluster, "team-a": scene.namespace, "run-workers-0": JOB}
    script = RECIPES[6].scripts[0]
    for name, ours in names.items():
        assert name in script
        script = script.replace(name, ours)
    return script


def _client(scene: Scene, home: str, *arguments: str) -> Ran:
    """Run the client as a person does."""
    done = subprocess.run(
        [sys.executable, "-m", "gangboard_client", *arguments],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(CLIENT),
            "XDG_CONFIG_HOME": home,
            "GANGBOARD_SERVER": scene.installation.url,
            "GANGBOARD_TOKEN": scene.installation.token,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
