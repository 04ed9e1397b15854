"""Build the control plane's binaries from ordinary Go tool modules into the user's cache.

`python -m tests.controlplane.build [NAME ...]` builds what is missing and says how long it took;
with everything in the cache it returns at once. Running what was built needs no Go.

Every folder `modules/NAME` holds a `go.mod` and a `go.sum`, where `MODULES` says so files that stand
in for some of a module's own, and perhaps a `main.go` of ours, which starts what the module has otherwise than
its own program does; `MODULES` says what else there is to know about it. A new version is one folder and one line.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_ENVIRONMENT = {"CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "", "GOGC": "800"}
"""The compiler collects its garbage less often: a fifth less processor time, more memory."""
MODULES_FOLDER = Path(__file__).parent / "modules"
_REPLACED = "replaced"


class BuildError(Exception):
    """A module could not be built; the message ends with what Go said."""


@dataclass(frozen=True)
class Module:
    """One folder of `modules/`: the binaries it makes, perhaps none, and the manifests that come with them.

    `binaries` maps the name that Go gives a binary to the name we keep it under, `manifests_from`
    is the Go module whose source holds the files (or folders) listed in `manifests`. `replaced` is a Go
    module of which the files below `modules/NAME/replaced` are built instead of its own: for a bug that
    no release has mended. `other_manifests` has files of further Go modules that it requires.
    """

    name: str
    binaries: dict[str, str]
    ldflags: str = "-s -w"
    manifests_from: str = ""
    manifests: tuple[str, ...] = ()
    other_manifests: dict[str, tuple[str, ...]] = field(default_factory=dict)
    replaced: str = ""
    takes: str = "about a minute"


def kubernetes(version: str) -> Module:
    """Return the module of one Kubernetes release, for example `kubernetes("1.37.0")`."""
    major, minor, _patch = version.split(".")
    # Without these the server calls itself v0.0.0 and computes the maturity of features from that.
    stamp = "k8s.io/component-base/version.git"
    values = {"Version": f"v{version}", "Major": major, "Minor": minor, "TreeState": "clean"}
    ldflags = " ".join(["-s -w", *(f"-X {stamp}{key}={value}" for key, value in values.items())])
    names = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    return Module(
        name=f"kubernetes-{major}.{minor}",
        binaries={name: name for name in names},
        ldflags=ldflags,
        takes="about six minutes",
    )


MODULES: dict[str, Module] = {
    module.name: module
    for module in (
        Module("etcd", {"server": "etcd"}),
        Module("kwok", {"kwok": "kwok"}, replaced="sigs.k8s.io/kwok"),
        Module(
            "jobset",
            {"jobset": "jobset"},
            manifests_from="sigs.k8s.io/jobset",
            manifests=("config/components/crd/bases", "config/components/webhook/manifests.yaml"),
        ),
        Module(
            "kueue",
            {"kueue": "kueue"},
            manifests_from="sigs.k8s.io/kueue",
            manifests=("config/components/crd/bases", "config/components/webhook/manifests.yaml"),
            takes="about three minutes",
        ),
        Module(
            "lws",
            {"cmd": "lws"},
            manifests_from="sigs.k8s.io/lws",
            manifests=("config/crd/bases", "config/webhook/manifests.yaml"),
            takes="about two minutes",
        ),
        Module(
            "trainer",
            {"trainer-controller-manager": "trainer"},
            manifests_from="github.com/kubeflow/trainer/v2",
            manifests=(
                "manifests/base/crds/trainer.kubeflow.org_clustertrainingruntimes.yaml",
                "manifests/base/crds/trainer.kubeflow.org_trainingruntimes.yaml",
                "manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml",
                "manifests/base/webhook/manifests.yaml",
            ),
            other_manifests={
                "sigs.k8s.io/scheduler-plugins": (
                    "config/crd/bases/scheduling.x-k8s.io_podgroups.yaml",
                )
            },
        ),
        Module(
            "training-operator",
            {"training-operator": "training-operator"},
            manifests_from="github.com/kubeflow/training-operator",
            # Its MPIJobs are an older version of those of the MPI operator, in a CRD of the same name.
            manifests=tuple(
                f"manifests/base/crds/kubeflow.org_{plural}.yaml"
                for plural in ("jaxjobs", "paddlejobs", "pytorchjobs", "tfjobs", "xgboostjobs")
            ),
        ),
        Module(
            "mpi-operator",
            {"mpi-operator": "mpi-operator"},
            manifests_from="github.com/kubeflow/mpi-operator",
            manifests=("manifests/base/kubeflow.org_mpijobs.yaml",),
        ),
        Module(
            "kuberay",
            {"ray-operator": "kuberay"},
            manifests_from="github.com/ray-project/kuberay/ray-operator",
            manifests=tuple(
                f"config/crd/bases/ray.io_{plural}.yaml"
                for plural in ("rayclusters", "rayjobs", "rayservices")
            ),
            takes="about two minutes",
        ),
        # Its controllers are no module of their own, and the API of its scheduler can be had in no version.
        Module(
            "grove",
            {},
            manifests_from="github.com/ai-dynamo/grove/operator/api",
            manifests=tuple(
                f"core/v1alpha1/crds/grove.io_{plural}.yaml"
                for plural in ("podcliques", "podcliquescalinggroups", "podcliquesets")
            ),
            takes="seconds",
        ),
        # Schedulers that make gangs of their own (gang_schedulers.py).
        Module(
            "coscheduling",
            {"scheduler": "coscheduling"},
            manifests_from="sigs.k8s.io/scheduler-plugins",
            manifests=("config/crd/bases/scheduling.x-k8s.io_podgroups.yaml",),
        ),
        Module(
            "volcano",
            {"scheduler": "volcano-scheduler", "controller-manager": "volcano-controllers"},
            manifests_from="volcano.sh/volcano",
            manifests=("config/crd/volcano/bases", "config/crd/jobflow/bases"),
            takes="about three minutes",
        ),
        Module(
            "kai",
            {
                name: f"kai-{name}"
                for name in ("binder", "podgrouper", "queuecontroller", "scheduler")
            },
            manifests_from="github.com/NVIDIA/KAI-scheduler",
            manifests=("deployments/kai-scheduler/crds",),
            takes="about two minutes",
        ),
        kubernetes("1.37.0"),
        kubernetes("1.36.3"),
        kubernetes("1.35.4"),
    )
}


def cache_folder() -> Path:
    """Return the folder that holds all built modules (it need not exist)."""
    root = os.environ.get("GANGBOARD_CACHE")
    if root:
        return Path(root) / "controlplane"
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "gangboard" / "controlplane"


def built_folder(module: Module) -> Path:
    """Return where the module's binaries are, or will be: the name changes with its inputs."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        digest.update((MODULES_FOLDER / module.name / name).read_bytes())
    for file in (*_replacements(module), *_own_sources(module)):
        digest.update(str(file.relative_to(MODULES_FOLDER)).encode() + file.read_bytes())
    digest.update(repr((module.binaries, module.ldflags, module.manifests)).encode())
    if module.other_manifests:
        digest.update(repr(module.other_manifests).encode())
    return cache_folder() / f"{module.name}-{digest.hexdigest()[:16]}"


def missing(names: Sequence[str] = ()) -> list[str]:
    """Return the modules that are not built, of those named or of all."""
    return [name for name in names or MODULES if not built_folder(MODULES[name]).is_dir()]


def binary(module: str, name: str) -> Path:
    """Return the path of a built binary. Raises `BuildError` when it was not built."""
    path = built_folder(MODULES[module]) / "bin" / name
    if not path.is_file():
        raise BuildError(f"{name} of {module} is not built: run make controlplane")
    return path


def manifests(module: str) -> list[Path]:
    """Return the manifests kept beside a module's binaries, sorted by path."""
    return sorted((built_folder(MODULES[module]) / "manifests").rglob("*.yaml"))


def build(names: Sequence[str] = ()) -> None:
    """Build the named modules, or all, as far as they are missing. Raises `BuildError`."""
    if not missing(names):
        return
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        for leftover in folder.glob(".building-*"):  # of a build that was killed
            shutil.rmtree(leftover, ignore_errors=True)
        for name in missing(names):  # asked again: whoever held the lock may have built it
            _build(MODULES[name], folder)


def _build(module: Module, folder: Path) -> None:
    print(f"{module.name}: building, {module.takes} the first time", flush=True)
    began = time.monotonic()
    workspace = Path(tempfile.mkdtemp(prefix=".building-", dir=folder))
    try:
        (workspace / "bin").mkdir()
        flags = ["-trimpath", f"-ldflags={module.ldflags}"]
        if module.replaced:
            flags.append(f"-modfile={_with_replacements(module, workspace / _REPLACED)}")
        if module.binaries:
            _go(module, ["install", *flags, "tool"], GOBIN=str(workspace / "bin"))
        else:
            _go(module, ["mod", "download", module.manifests_from])
        for made, kept in module.binaries.items():
            (workspace / "bin" / made).rename(workspace / "bin" / kept)
        sources = {module.manifests_from: module.manifests} if module.manifests else {}
        for source, names in (sources | module.other_manifests).items():
            answer = _go(module, ["list", "-m", "-f", "{{.Dir}}", source])
            _copy_manifests(Path(answer.strip()), names, workspace / "manifests")
        workspace.chmod(0o755)
        shutil.rmtree(workspace / _REPLACED, ignore_errors=True)
        # The rename is the moment it exists: a killed build leaves nothing that looks finished.
        workspace.rename(built_folder(module))
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
    print(f"{module.name}: built in {time.monotonic() - began:.0f} s", flush=True)


def _own_sources(module: Module) -> list[Path]:
    """Return the files of a program of ours, where what a module is started by cannot run beside another one."""
    return sorted((MODULES_FOLDER / module.name).glob("*.go"))


def _replacements(module: Module) -> list[Path]:
    """Return the files that stand in for those of another module."""
    folder = MODULES_FOLDER / module.name / "replaced"
    return sorted(folder.rglob("*.go")) if module.replaced else []


def _with_replacements(module: Module, folder: Path) -> Path:
    """Return a go.mod by which Go builds a copy of the other module, with our files in it.

    Raises `BuildError` where it has no such file any more: a new version needs a look at it.
    """
    _go(module, ["mod", "download", module.replaced])
    source = Path(_go(module, ["list", "-m", "-f", "{{.Dir}}", module.replaced]).strip())
    copy, ours = folder / "source", MODULES_FOLDER / module.name / "replaced"
    for file in _replacements(module):
        if not (source / file.relative_to(ours)).is_file():
            raise BuildError(f"{module.replaced} has no {file.relative_to(ours)} to replace")
    # The module cache is read-only; copy the bytes, not the mode.
    shutil.copytree(source, copy, copy_function=shutil.copyfile)
    for made in (copy, *copy.rglob("*/")):
        made.chmod(0o755)
    for file in _replacements(module):
        shutil.copyfile(file, copy / file.relative_to(ours))
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(MODULES_FOLDER / module.name / name, folder / name)
    _go(module, ["mod", "edit", f"-replace={module.replaced}={copy}", str(folder / "go.mod")])
    return folder / "go.mod"


def _go(module: Module, arguments: Sequence[str], **environment: str) -> str:
    go = shutil.which("go")
    if go is None:
        raise BuildError("Go is needed to build the control plane and is not on PATH")
    done = subprocess.run(
        [go, *arguments],
        cwd=MODULES_FOLDER / module.name,
        env=os.environ | _ENVIRONMENT | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = "\n".join(done.stderr.splitlines()[-30:])
        raise BuildError(f"go {arguments[0]} failed in modules/{module.name}:\n{said}")
    return done.stdout


def _copy_manifests(source: Path, names: Sequence[str], target: Path) -> None:
    for name in names:
        found = source / name
        files = sorted(found.glob("*.yaml")) if found.is_dir() else [found]
        for file in files:
            place = target / file.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            # The module cache is read-only; copy the bytes, not the mode.
            place.write_bytes(file.read_bytes())


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another build is running: waiting for it", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, build, say what there is."""
    parser = argparse.ArgumentParser(prog="python -m tests.controlplane.build", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MODULES))
    names: list[str] = parser.parse_args(arguments).names
    if unknown := [name for name in names if name not in MODULES]:
        parser.error(f"no module {', '.join(unknown)}; there are {', '.join(MODULES)}")
    try:
        build(names)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    for name in names or MODULES:
        print(f"{name}: {built_folder(MODULES[name])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
