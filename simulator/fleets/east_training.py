"""East: Kubeflow jobs of the kinds before TrainJob, and work on Ray and Flux."""

from __future__ import annotations

from simulator.fleet_spec import Gang, Role
from simulator.manifests import PodTemplate

_WHOLE = PodTemplate(gpus=8, cpu="64", memory="512Gi", pool="b100")
_HALF = PodTemplate(gpus=4, cpu="32", memory="256Gi", pool="b100")
_CPU = PodTemplate(cpu="4", pool="cpu")

TRAINING = (
    Gang(
        "team-vision",
        "PyTorchJob",
        "vit-pretrain",
        "running",
        age="8h",
        roles=(Role("Master", _CPU), Role("Worker", _CPU, pods=3)),
    ),
    Gang(
        "team-vision",
        "PyTorchJob",
        "clip-large",
        "partly-placed",
        age="26m",
        roles=(
            Role("Master", _CPU),
            Role("Worker", _WHOLE, pods=2, states=("unschedulable",)),
        ),
    ),
    Gang(
        "team-vision",
        "PyTorchJob",
        "dino-ft",
        "suspended",
        age="1d4h",
        started="3h",
        suspended=True,
        roles=(Role("Master", _HALF), Role("Worker", _HALF)),
    ),
    Gang(
        "research",
        "MPIJob",
        "hpl",
        "running",
        age="95m",
        roles=(Role("Launcher", _CPU), Role("Worker", _CPU, pods=4)),
    ),
    Gang(
        "research",
        "MPIJob",
        "osu-allreduce",
        "partly-placed",
        age="18m",
        roles=(
            Role("Launcher", _CPU, states=("crash-loop",)),
            Role("Worker", _WHOLE, pods=2, states=("unschedulable",)),
        ),
    ),
    Gang(
        "research",
        "MPIJob",
        "gromacs",
        "suspended",
        age="2d",
        started="5h",
        suspended=True,
        roles=(Role("Launcher", _CPU), Role("Worker", _CPU, pods=4)),
    ),
    # These differ from PyTorchJobs only in the names of their roles.
    Gang(
        "team-vision",
        "TFJob",
        "resnet-tf",
        "running",
        age="3h",
        roles=(Role("Chief", _CPU), Role("PS", _CPU), Role("Worker", _CPU)),
    ),
    Gang(
        "team-vision",
        "XGBoostJob",
        "ranker",
        "image-pull",
        age="9m",
        roles=(Role("Master", _CPU), Role("Worker", _CPU, states=("image-pull",))),
    ),
    Gang(
        "team-nlp",
        "PaddleJob",
        "ernie-ft",
        "suspended",
        age="1d",
        started="2h",
        suspended=True,
        roles=(Role("Master", _CPU), Role("Worker", _CPU)),
    ),
    Gang(
        "research",
        "JAXJob",
        "gemma-jax",
        "insufficient-resources",
        age="33m",
        roles=(Role("Worker", _WHOLE, pods=2, states=("unschedulable",)),),
    ),
)

RAYS = (
    Gang(
        "research",
        "RayJob",
        "tune-lr",
        "running",
        age="5h",
        roles=(Role("head", _CPU), Role("trial", _CPU, pods=3)),
    ),
    Gang(
        "research",
        "RayJob",
        "tune-70b",
        "partly-placed",
        age="47m",
        roles=(Role("head", _CPU), Role("trial", _WHOLE, pods=2, states=("unschedulable",))),
    ),
    Gang(
        "research",
        "RayJob",
        "sweep-old",
        "suspended",
        age="3d",
        started="7h",
        suspended=True,
        roles=(Role("head", _CPU), Role("trial", _CPU, pods=2)),
    ),
    Gang(
        "research",
        "RayCluster",
        "notebooks",
        "image-pull",
        age="16m",
        roles=(Role("head", _CPU), Role("cpu", _CPU, pods=2, states=("running", "image-pull"))),
    ),
    Gang(
        "research",
        "RayCluster",
        "dask-port",
        "suspended",
        age="8d",
        started="2d",
        suspended=True,
        roles=(Role("head", _CPU), Role("cpu", _CPU, pods=2)),
    ),
    Gang(
        "research",
        "RayCluster",
        "shared",
        "running",
        age="20d",
        roles=(Role("head", _CPU), Role("cpu", _CPU)),
    ),
    Gang(
        "serving",
        "RayService",
        "translate",
        "running",
        age="9d",
        roles=(Role("head", _CPU), Role("replica", _CPU)),
    ),
    Gang(
        "serving",
        "RayService",
        "rerank",
        "starting",
        age="40s",
        roles=(
            Role("head", _CPU, states=("creating",)),
            Role("replica", _CPU, states=("creating",)),
        ),
    ),
    Gang(
        "serving",
        "RayService",
        "summarize",
        "not-serving",
        age="2d4h",
        roles=(Role("head", _CPU), Role("replica", _CPU, pods=2)),
    ),
)

FLUX = (
    Gang(
        "hpc",
        "MiniCluster",
        "lammps",
        "running",
        age="38m",
        roles=(Role("", _CPU, pods=4),),
    ),
    Gang(
        "hpc",
        "MiniCluster",
        "amg",
        "insufficient-resources",
        age="21m",
        roles=(Role("", _WHOLE, pods=2, states=("unschedulable",)),),
    ),
    Gang(
        "hpc",
        "MiniCluster",
        "osu-latency",
        "image-pull",
        age="7m",
        roles=(Role("", _CPU, pods=2, states=("image-pull",)),),
    ),
)
