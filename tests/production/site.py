"""The installation of docker-compose.yml as processes: each with the command, environment and health check of the file.

A container has its own address, files and host name. A process has not, so texts of the file are
rewritten by `Site.placed`, and nowhere else.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.controlplane.supervisor import Started, Supervisor
from tests.production import images
from tests.production.compose import in_order, read_document, read_image, read_services
from tests.production.network import Network

ROOT = Path(__file__).resolve().parents[2]
PASSWORDS = {"POSTGRES_PASSWORD": "5d0c2b7e91", "REDIS_PASSWORD": "c41f7790ab"}
READY_SECONDS = 90.0
"""A busy machine needs some of them: several Pythons start at once."""
COMMAND_SECONDS = 60.0
HEALTH_SECONDS = 20.0
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class NotReadyError(AssertionError):
    """A service did not become what others wait for; the text ends with its log."""


class Kubeconfigs(NamedTuple):
    """Files of two accounts of a cluster."""

    reader: Path
    actor: Path


class Site:
    """All services of the file; `start`, then `close`."""

    def __init__(self, environment: Path, dotenv: Mapping[str, str]) -> None:
        """`environment`: of Python, see `runtime`. `dotenv`: settings that the operator wrote into
        .env."""
        document = read_document(ROOT / "docker-compose.yml", PASSWORDS)
        (subnet_config,) = document["networks"]["default"]["ipam"]["config"]
        self.network = Network(subnet_config["subnet"])
        # The proxy asks itself for 127.0.0.1 in its container, and for its own address here.
        proxy = document["services"]["proxy"]["networks"]["default"]["ipv4_address"]
        hosts = {"GANGBOARD_HOSTS": f"localhost,{self.network.placed(proxy)}"}
        self.services = read_services(ROOT, {**PASSWORDS, **hosts, **dotenv})
        self._python = environment
        self._guard = Supervisor(None)
        self.folder = self._guard.folder
        self.folder.chmod(0o755)  # PostgreSQL has a user of its own
        self._running: dict[str, Started] = {}
        self._addresses: dict[str, str] = {}
        self._starts = 0
        self._lay_out_files()

    # Starting and ending

    def start(self) -> None:
        """Start all services in the order of the file, as `docker compose up` does."""
        for service in in_order(self.services):
            for dependency, condition in service.waits_for.items():
                if condition == "service_healthy":
                    self.wait_healthy(dependency)
            self.create(service.name)
            if service.name in self._completed():
                self._wait_completed(service.name)

    def create(self, name: str) -> None:
        """Start a service at an address that it did not have before, unless the file fixes one."""
        service = self.services[name]
        keeps = self.network.placed(service.address) if service.address else ""
        # Others have the address of a database in their environment, where a container has its name.
        if name in {"postgres", "redis"}:
            keeps = self._addresses.get(name, "")
        self._addresses[name] = keeps or self.network.new_address()
        self._start(name)

    def kill(self, name: str) -> None:
        """End a service at once with SIGKILL, and forget its name."""
        self.end(name, signal.SIGKILL)

    def end(self, name: str, number: signal.Signals) -> None:
        """End a service as removing its container does: by a signal, and its name leads nowhere then."""
        process = self._running.pop(name)
        process.send_signal(number)
        process.wait(HEALTH_SECONDS)
        # The other processes of a container end with its first.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        self.network.set_address(name, None)

    def close(self) -> None:
        """End everything; the folder goes with it."""
        self._guard.close()
        self.network.close()

    def start_simulator(self) -> Kubeconfigs:
        """Start a simulated cluster with the packages of the image; return how to reach it."""
        files = Kubeconfigs(self.folder / "reader.kubeconfig", self.folder / "actor.kubeconfig")
        options = ("--fleet", "west", "--no-story", "--reader-kubeconfig", str(files.reader))
        argv = [self._python / "bin" / "python", "-m", "simulator", *options]
        command = [*map(str, argv), "--kubeconfig", str(files.actor)]
        log = self.folder / "simulator.log"
        self._guard.start("simulator", command, {}, log, cwd=self.folder / "app")
        give_up_at = time.monotonic() + READY_SECONDS
        while "serves" not in self.log("simulator"):
            if time.monotonic() > give_up_at:
                raise NotReadyError(f"the simulator: {self.log('simulator')[-3000:]}")
            time.sleep(0.1)
        return files

    @staticmethod
    def path() -> str:
        """Return the folders of programs that images of others bring along."""
        return f"{images.postgres_folder()}:{_SYSTEM_PATH}"

    # What is there

    def address(self, name: str) -> str:
        """Return the address of a service."""
        return self._addresses[name]

    def log(self, name: str) -> str:
        """Return all that a service has written."""
        file = self.folder / f"{name}.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def run(self, name: str, argv: Sequence[str], stdin: bytes = b"") -> bytes:
        """Run a command beside a service, like `docker compose exec -T`. Return its output."""
        done = self._run(name, argv, stdin, COMMAND_SECONDS)
        assert done.returncode == 0, f"{shlex.join(argv)}: {done.stdout!r}{done.stderr.decode()}"
        return done.stdout

    def is_healthy(self, name: str) -> bool:
        """Run the health check of a service once."""
        health = self.services[name].health
        assert health, f"{name} has no health check"
        try:
            return self._run(name, health, b"", HEALTH_SECONDS).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def wait_healthy(self, name: str) -> None:
        """Wait until the health check passes. Services that exit are restarted, as the file
        specifies."""
        give_up_at = time.monotonic() + READY_SECONDS
        while not self.is_healthy(name):
            if time.monotonic() > give_up_at:
                raise NotReadyError(f"{name} is not healthy: {self.log(name)[-3000:]}")
            if self._running[name].poll() is not None:
                self._start(name)
            time.sleep(0.1)

    # In place of containers

    def placed(self, text: str, name: str) -> str:
        """Return a text of the file as it has to be for a process on this machine.

        - addresses of the container itself, `0.0.0.0` and `127.0.0.1`: the address of the service
        - addresses of the file's network: the same in ours
        - `127.0.0.11`, the DNS server of Docker: ours
        - folders of the container: folders of the service here
        """
        own = self._addresses.get(name, "")
        text = re.sub(r"\b(?:0\.0\.0\.0|127\.0\.0\.1)\b", own, text)
        text = re.sub(r"\b127\.0\.0\.11\b", self.network.resolver, text)
        text = text.replace(str(self.network.told), str(self.network.subnet))
        prefix = str(self.network.told).rpartition(".")[0]
        subnet_prefix = str(self.network.subnet).rpartition(".")[0]
        text = re.sub(rf"\b{re.escape(prefix)}\.(?=\d)", f"{subnet_prefix}.", text)
        folders = self._folders(name)
        return re.sub(
            rf"(?<![\w.}}/-])(?:{'|'.join(folders)})(?=[/:'\" ;\n]|$)",
            lambda found: str(folders[found[0]]),
            text,
        )

    def _folders(self, name: str) -> Mapping[str, Path]:
        return {
            "/opt/venv": self._python,
            "/state": self.folder / "state",
            "/data": self.folder / "redis",
            "/tmp": self.folder / f"tmp-{name}",
        }

    def _environment(self, name: str) -> dict[str, str]:
        """Return the environment of the process, without variables of the test run."""
        service = self.services[name]
        variables = {key: self.placed(value, name) for key, value in service.environment.items()}
        for host, address in self.network.names().items():
            variables = {
                k: re.sub(rf"@{host}(?=[:/])", f"@{address}", v) for k, v in variables.items()
            }
        path = variables.get("PATH", "$PATH").replace("$PATH", self.path())
        # A container has a host name and its own /var/run.
        own = {"HOSTNAME": name, "CELERY_WORKER_HOSTNAME": f"celery@{name}"}
        own |= {"PGHOST": str(self.folder / "postgres")} if name == "postgres" else {}
        return {**variables, **own, "PATH": path, "HOME": str(self.folder)}

    def _working_folder(self, name: str) -> Path:
        return self.folder / ("app" if self.services[name].is_ours else name)

    def _start(self, name: str) -> None:
        self._starts += 1
        self._folders(name)["/tmp"].mkdir(exist_ok=True)
        service = self.services[name]
        command = [self.placed(text, name) for text in service.command] or self._of_image(name)
        environment = self._environment(name)
        command[0] = shutil.which(command[0], path=environment["PATH"]) or command[0]
        log = self.folder / f"{name}.log"
        folder = self._working_folder(name)
        started = self._guard.start(f"{name}-{self._starts}", command, environment, log, cwd=folder)
        self._running[name] = started
        self.network.set_address(name, self._addresses[name])

    def _completed(self) -> set[str]:
        waits = (service.waits_for.items() for service in self.services.values())
        return {
            dependency
            for pairs in waits
            for dependency, condition in pairs
            if condition.endswith("successfully")
        }

    def _wait_completed(self, name: str) -> None:
        code = self._running[name].wait(READY_SECONDS)
        assert code == 0, f"{name} ended with {code}: {self.log(name)[-3000:]}"

    def _run(
        self, name: str, argv: Sequence[str], stdin: bytes, seconds: float
    ) -> subprocess.CompletedProcess[bytes]:
        environment = self._environment(name)
        program, *arguments = (self.placed(text, name) for text in argv)
        return subprocess.run(
            [shutil.which(program, path=environment["PATH"]) or program, *arguments],
            env=environment,
            cwd=self._working_folder(name),
            input=stdin,
            capture_output=True,
            timeout=seconds,
            check=False,
        )

    # Files and images

    def _lay_out_files(self) -> None:
        """Make the folders of the containers, and copy into `app` the files that the Dockerfile
        copies."""
        for name in ("state", "app", "redis", "postgres", "proxy"):
            (self.folder / name).mkdir(mode=0o700)
        for name in read_image(ROOT / "Dockerfile").copied:
            source, target = ROOT / name, self.folder / "app" / name
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copy2(source, target)
        # The Dockerfile also compiles it. Files compiled by an earlier run were copied along.
        compiling = ("-m", "compileall", "-qq", str(self.folder / "app" / "gangboard"))
        subprocess.run([sys.executable, *compiling], timeout=COMMAND_SECONDS, check=True)

    def _of_image(self, name: str) -> list[str]:
        """Return the command of a third-party image, which the compose file leaves to that
        image."""
        folder, address = self.folder / name, self._addresses[name]
        if name == "proxy":
            configuration = self.placed((ROOT / "nginx.conf").read_text(), name)
            return images.nginx(configuration, folder, address)
        if name == "postgres":
            return images.postgres(self.services[name].environment, folder, address)
        raise AssertionError(f"{name}: what does its image run?")
