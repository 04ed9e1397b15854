"""Third-party images: nginx and PostgreSQL, started like their entry points do."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

SECONDS = 60.0


def postgres_folder() -> Path:
    """Return the folder of PostgreSQL's programs from Debian's package."""
    return sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))[-1].parent


def nginx(configuration: str, folder: Path, address: str) -> list[str]:
    """Return the command that runs a configuration. `address` is that of the container.

    A container connects from its own address. Here nginx needs it as a setting.
    """
    file = folder / "nginx.conf"
    file.write_text(configuration.replace("http {", f"http {{\n    proxy_bind {address};", 1))
    return ["nginx", "-p", str(folder), "-c", str(file), "-g", "daemon off;"]


def postgres(environment: Mapping[str, str], folder: Path, address: str) -> list[str]:
    """Make the data folder if there is none; return the command that runs the server.

    It has one role with a password, which the socket does not ask for, and one database.
    """
    prefix: list[str] = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        shutil.chown(folder, "postgres")
    data = folder / "data"
    server = [*prefix, str(postgres_folder() / "postgres")]
    if not data.exists():
        _make_data(prefix, server, environment, data)
    options = {
        "listen_addresses": address,
        "unix_socket_directories": str(folder),
        "fsync": "off",
    }
    arguments = (
        argument for name, value in options.items() for argument in ("-c", f"{name}={value}")
    )
    return [*server, "-D", str(data), *arguments]


def _make_data(
    prefix: Sequence[str], server: Sequence[str], environment: Mapping[str, str], data: Path
) -> None:
    password = data.parent / "password"
    password.write_text(environment["POSTGRES_PASSWORD"])
    if prefix:
        shutil.chown(password, "postgres")
    initdb = [*prefix, str(postgres_folder() / "initdb"), "--no-sync", "-D", str(data)]
    role = ["--username", environment["POSTGRES_USER"], f"--pwfile={password}"]
    ways_in = ["--auth-host=scram-sha-256", "--auth-local=trust"]
    _run([*initdb, *role, *ways_in, "--encoding=UTF8", "--locale=C.UTF-8"], data.parent)
    create = f"CREATE DATABASE {environment['POSTGRES_DB']};\n\n"
    _run([*server, "--single", "-D", str(data), "-j", "postgres"], data.parent, create)


def _run(argv: Sequence[str], folder: Path, text: str = "") -> None:
    done = subprocess.run(
        argv, cwd=folder, input=text, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
