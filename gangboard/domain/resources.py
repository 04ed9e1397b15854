"""Names of resources that pods ask for, and which of them are accelerators.

Everything with a domain before its name (`nvidia.com/gpu`, `rdma/ib`) is an extended resource, a
device as a rule. What accelerators are called nobody can list, vendors come and go: so each device
is one unless it is named here. Kubernetes asks for nothing of these names; they are those that the
documentation of each device plugin gives.
"""

from __future__ import annotations

import re
from decimal import Decimal

from gangboard.domain.bounded_cache import MEBIBYTE, bounded_cache

_OTHER_DOMAINS = frozenset(
    {
        # Networks: EFA and interfaces of AWS, multi-networking of GKE, the shared RDMA plugin, the
        # usual prefixes of the SR-IOV plugin for Mellanox and of OpenShift's operator, and clouds.
        "vpc.amazonaws.com",
        "networking.gke.io.networks",
        "rdma",
        "mellanox.com",
        "openshift.io",
        "tke.cloud.tencent.com",
        "bridge.network.kubevirt.io",
        "ovs-cni.network.kubevirt.io",
        # /dev/kvm, /dev/fuse, /dev/net/tun and the like; memory of enclaves, in bytes.
        "devices.kubevirt.io",
        "smarter-devices",
        "github.com",
        "squat.ai",
        "sgx.intel.com",
        # Cores and memory that Koordinator lends out.
        "kubernetes.io",
    }
)
_NETWORK = re.compile(
    r"sriov|rdma"
    r"|\b(dpdk|efa|eni|hostdev|ib|infiniband|mlnxnics|netdevice|nics?|roce|vfs?|vnics?)\b"
)
"""In names whose domain says nothing: administrators choose both for network devices, and
`nvidia.com`, `intel.com` and `amd.com` are usual (`nvidia.com/sriov_rdma_vf`, `amd.com/nic`)."""
_MEASURE = re.compile(
    r"\b(cores?|gpucores|gpumem|mem|memory|millicores|percentage|ratio|vcore|vmemory)\b"
)
"""In names that count megabytes or percents of a device which HAMi, Volcano, Koordinator or Intel's
plugin share out: how many devices that is nobody can tell."""


_GPU = "/gpu"
"""How the names of resources end of which one is a whole GPU."""


def is_gpu(resource: str) -> bool:
    """Whether one of it is a whole GPU: `nvidia.com/gpu`, `amd.com/gpu`."""
    return resource.endswith(_GPU)


def unit_word(resource: str, amount: str) -> str:
    """Return what a sentence counts after an amount: `GPU`, `GPUs`, or the name of the resource."""
    if not is_gpu(resource):
        return resource
    return "GPU" if amount == "1" else "GPUs"


def is_device(resource: str) -> bool:
    """Whether it is an extended resource, such as `nvidia.com/gpu` or `rdma/ib`."""
    return "/" in resource


@bounded_cache(1024, MEBIBYTE)
def is_accelerator(resource: str) -> bool:
    """Whether it counts accelerators of any vendor, such as `nvidia.com/gpu` or `google.com/tpu`.

    Huge pages are memory; network devices and parts of devices are listed above.
    """
    domain, _, name = resource.lower().partition("/")
    if not name or domain in _OTHER_DOMAINS:
        return False
    words = name.replace("_", "-")
    if _MEASURE.search(words):
        return False
    # A part of a GPU for a virtual machine, `amd.com/gpu_vf`, is a function of one, too.
    return "gpu" in words or not _NETWORK.search(words)


def scheduler_units(resource: str, amount: Decimal) -> int:
    """Return base units in scheduler units, rounded up: 0.0005 cores are 1, 1.5 bytes are 2.

    Amounts below zero are rounded away from it too. Source: Quantity.MilliValue for cpu,
    Quantity.Value for everything else (k8s.io/apimachinery/pkg/api/resource/quantity.go).
    """
    numerator, denominator = amount.as_integer_ratio()
    size = -(-abs(numerator) * (1000 if resource == "cpu" else 1) // denominator)
    return size if numerator >= 0 else -size


def base_units(resource: str, amount: int) -> Decimal:
    """Return scheduler units in base units, exactly."""
    if resource != "cpu":
        return Decimal(amount)
    sign, digits, _ = Decimal(amount).as_tuple()
    return Decimal((sign, digits, -3))


def decimal_text(amount: Decimal) -> str:
    """Return an exact amount without exponent or needless zeros: `8`, `0.5`, `1000`."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
