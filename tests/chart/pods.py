"""Pods of the rendered chart as processes: command, environment, files of Secrets, probes.

A process has no file system and no address of its own. `Pods._placed` replaces the folders and addresses of a
container, and no other code does.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.chart.helm import ROOT, Manifest, pod_template
from tests.controlplane.supervisor import Supervisor
from tests.production.compose import read_image
from tests.services import free_port

READY_SECONDS = 180.0
COMMAND_SECONDS = 180.0
PROBE_SECONDS = 60.0
"""More than a probe has in a cluster: this machine starts several Pythons at once."""
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_REFERENCE = re.compile(r"\$\((\w+)\)")


class Pods:
    """Runs one pod of each workload; `close` ends all of them."""

    def __init__(
        self,
        workloads: Sequence[Manifest],
        secrets: Mapping[str, Mapping[str, str]],
        accounts: Mapping[str, Mapping[str, str]],
        server: tuple[str, int],
    ) -> None:
        """Lay out the files.

        `secrets`: name → key → text. `accounts`: service account → file → text. `server`: of the API.
        """
        self._workloads = {
            workload["metadata"]["name"].removeprefix("gangboard-"): template["spec"]
            for workload in workloads
            if (template := pod_template(workload)) is not None
        }
        self._secrets, self._accounts, self._server = secrets, accounts, server
        self._guard = Supervisor(None)
        self._image = read_image(ROOT / "Dockerfile")
        self.port = free_port()
        for name in self._workloads:
            self._lay_out(name)

    def close(self) -> None:
        """End all processes."""
        self._guard.close()

    def start(self, name: str) -> None:
        """Start the container of a workload."""
        command = self._container(name).get("command") or list(self._image.command)
        argv = [self._placed(argument, name) for argument in command]
        self._guard.start(
            name, argv, self._environment(name), self._guard.folder / f"{name}.log", cwd=ROOT
        )

    def run(self, name: str, command: Sequence[str] | None = None) -> str:
        """Run the container of a Job to its end, or `command` like `kubectl exec`. Return its
        output."""
        argv = [
            self._placed(argument, name) for argument in command or self._container(name)["command"]
        ]
        done = subprocess.run(
            argv,
            env=self._environment(name),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{name}: {argv}\n{done.stdout}{done.stderr}"
        return done.stdout

    def wait_for(self, name: str, probe: str) -> None:
        """Wait until a probe of a workload passes."""
        give_up_at = time.monotonic() + READY_SECONDS
        settings = self._container(name)[probe]
        while not self._passes(name, settings):
            code = self._guard.exit_code(name)
            assert code is None, f"{name} ended with {code}:\n{self.log(name)}"
            assert time.monotonic() < give_up_at, f"{name}: {probe}\n{self.log(name)}"
            time.sleep(0.2)

    def log(self, name: str) -> str:
        """Return the end of the output of a workload."""
        return (self._guard.folder / f"{name}.log").read_text(errors="replace")[-3000:]

    def _container(self, name: str) -> Manifest:
        (container,) = self._workloads[name]["containers"]
        return dict(container)

    def _passes(self, name: str, probe: Manifest) -> bool:
        if "exec" in probe:
            argv = [self._placed(argument, name) for argument in probe["exec"]["command"]]
            environment, seconds = self._environment(name), PROBE_SECONDS
            try:
                done = subprocess.run(
                    argv,
                    env=environment,
                    cwd=ROOT,
                    capture_output=True,
                    timeout=seconds,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return False
            return done.returncode == 0
        request = probe["httpGet"]
        headers = {workload["name"]: workload["value"] for workload in request["httpHeaders"]}
        url = f"http://127.0.0.1:{self.port}{request['path']}"
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False

    # In place of containers

    def _lay_out(self, name: str) -> None:
        for volume in self._workloads[name]["volumes"]:
            folder = self._volume(name, volume["name"])
            folder.mkdir(parents=True)
            if "secret" in volume:
                for key, text in self._secrets[volume["secret"]["secretName"]].items():
                    (folder / key).write_text(text)
            for source in volume.get("projected", {}).get("sources", ()):
                texts = self._secrets[source["secret"]["name"]]
                for item in source["secret"]["items"]:
                    (folder / item["path"]).write_text(texts[item["key"]])
        account = self._workloads[name].get("serviceAccountName")
        if account:
            folder = self._volume(name, "account")
            folder.mkdir()
            for file, text in self._accounts[account].items():
                (folder / file).write_text(text)

    def _volume(self, name: str, volume: str) -> Path:
        return self._guard.folder / name / volume

    def _placed(self, text: str, name: str) -> str:
        folders = {
            mount["mountPath"]: str(self._volume(name, mount["name"]))
            for mount in self._container(name)["volumeMounts"]
        }
        folders |= {"0.0.0.0": "127.0.0.1", "8000": str(self.port)}  # what is replaced
        folders |= {"python manage.py": f"{sys.executable} -m tests.chart.in_pod"}
        pattern = "|".join(map(re.escape, sorted(folders, key=len, reverse=True)))
        return re.sub(
            rf"(?<![\w/])(?:{pattern})(?![\w.-])", lambda workload: folders[workload[0]], text
        )

    def _environment(self, name: str) -> dict[str, str]:
        host, port = self._server
        variables = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self._guard.folder),
            "HOSTNAME": name,
            # A container has a host name of its own.
            "CELERY_WORKER_HOSTNAME": f"celery@{name}",
            "KUBERNETES_SERVICE_HOST": host,
            "KUBERNETES_SERVICE_PORT": str(port),
            "ACCOUNT_FOLDER": str(self._volume(name, "account")),
        }
        for variable in self._container(name)["env"]:
            field = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            text = "127.0.0.1" if field == "status.podIP" else variable["value"]
            text = _REFERENCE.sub(lambda workload: variables[workload[1]], text)
            variables[variable["name"]] = self._placed(text, name)
        return variables
