"""Resources that pods request: which of them are accelerators, and the units of their amounts.

A name with a domain (`nvidia.com/gpu`, `rdma/ib`) is an extended resource, and usually a device. No list of
accelerators can be complete, because vendors come and go. So every device counts as an accelerator unless it is
named here. Kubernetes defines no such names. They come from the documentation of each device plugin.
"""

from __future__ import annotations

import re
from decimal import Decimal

from gangboard.domain.bounded_cache import MEBIBYTE, bounded_cache

_OTHER_DOMAINS = frozenset(
    {
        # Networks: EFA and interfaces of AWS, multi-networking of GKE, the shared RDMA plugin, the usual prefixes
        # of the SR-IOV plugin for Mellanox and of OpenShift's operator, and clouds.
        "vpc.amazonaws.com",
        "networking.gke.io.networks",
        "rdma",
        "mellanox.com",
        "openshift.io",
        "tke.cloud.tencent.com",
        "bridge.network.kubevirt.io",
        "ovs-cni.network.kubevirt.io",
        # Device files such as /dev/kvm, /dev/fuse and /dev/net/tun, and memory of enclaves in bytes.
        "devices.kubevirt.io",
        "smarter-devices",
        "github.com",
        "squat.ai",
        "sgx.intel.com",
        # Cores and memory that Koordinator lends.
        "kubernetes.io",
    }
)
_NETWORK = re.compile(
    r"sriov|rdma"
    r"|\b(dpdk|efa|eni|hostdev|ib|infiniband|mlnxnics|netdevice|nics?|roce|vfs?|vnics?)\b"
)
"""Network devices by name. Administrators choose their domain and name, and often use the domain of a GPU vendor,
such as `nvidia.com/sriov_rdma_vf` or `amd.com/nic`."""
_MEASURE = re.compile(
    r"\b(cores?|gpucores|gpumem|mem|memory|millicores|percentage|ratio|vcore|vmemory)\b"
)
"""Shares of a device in megabytes or percent, from HAMi, Volcano, Koordinator or Intel's plugin.

They have no number of devices."""


_GPU = "/gpu"
"""Suffix of resources that count whole GPUs."""


def is_gpu(resource: str) -> bool:
    """Return whether the resource counts whole GPUs, as `nvidia.com/gpu` and `amd.com/gpu` do."""
    return resource.endswith(_GPU)


def unit_word(resource: str, amount: str) -> str:
    """Return the noun after an amount in a sentence: `GPU`, `GPUs`, or the name of the resource."""
    if not is_gpu(resource):
        return resource
    return "GPU" if amount == "1" else "GPUs"


def is_device(resource: str) -> bool:
    """Return whether it is an extended resource, such as `nvidia.com/gpu` or `rdma/ib`."""
    return "/" in resource


@bounded_cache(1024, MEBIBYTE)
def is_accelerator(resource: str) -> bool:
    """Return whether it counts accelerators of any vendor, such as `nvidia.com/gpu` or `google.com/tpu`.

    Huge pages, network devices and shares of devices are no accelerators.
    """
    domain, _, name = resource.lower().partition("/")
    if not name or domain in _OTHER_DOMAINS:
        return False
    hyphenated = name.replace("_", "-")
    if _MEASURE.search(hyphenated):
        return False
    # `amd.com/gpu_vf` is a virtual function of a GPU, although `vf` is in the pattern of networks.
    return "gpu" in hyphenated or not _NETWORK.search(hyphenated)


def scheduler_units(resource: str, amount: Decimal) -> int:
    """Convert base units to scheduler units, rounded up: 0.0005 cores become 1, 1.5 bytes become 2.

    Scheduler units are millicores for cpu and whole units for all other resources. Negative amounts are also rounded
    away from zero. Source: Quantity.MilliValue for cpu, else Quantity.Value
    (k8s.io/apimachinery/pkg/api/resource/quantity.go).
    """
    numerator, denominator = amount.as_integer_ratio()
    size = -(-abs(numerator) * (1000 if resource == "cpu" else 1) // denominator)
    return size if numerator >= 0 else -size


def base_units(resource: str, amount: int) -> Decimal:
    """Convert scheduler units to base units, exactly."""
    if resource != "cpu":
        return Decimal(amount)
    sign, digits, _ = Decimal(amount).as_tuple()
    return Decimal((sign, digits, -3))


def decimal_text(amount: Decimal) -> str:
    """Return the exact amount without an exponent or trailing zeros: `8`, `0.5`, `1000`."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
