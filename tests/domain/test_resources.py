"""Accelerators among the resource names of real device plugins."""

from __future__ import annotations

import pytest

from gangboard.domain.resources import is_accelerator, is_device

ACCELERATORS = (
    "nvidia.com/gpu",
    "nvidia.com/gpu.shared",
    "nvidia.com/mig-1g.5gb",
    "nvidia.com/GA102GL_A10",
    "amd.com/gpu",
    "amd.com/gpu_vf",
    "gpu.intel.com/i915",
    "gpu.intel.com/xe",
    "habana.ai/gaudi",
    "google.com/tpu",
    "aws.amazon.com/neuron",
    "aws.amazon.com/neuroncore",
    "huawei.com/Ascend910",
    "cambricon.com/mlu",
    "fpga.intel.com/af-d8424dc4a4a3c413f89e433683f9040b",
    "xilinx.com/fpga-xilinx_u200-0",
    "vendor.example/processor",
    # An extended resource that is served by dynamic allocation.
    "deviceclass.resource.kubernetes.io/gpu.example.com",
)
NETWORK = (
    "vpc.amazonaws.com/efa",
    "vpc.amazonaws.com/pod-eni",
    "vpc.amazonaws.com/PrivateIPv4Address",
    "networking.gke.io.networks/rdma-0",
    "networking.gke.io.networks/rdma-0.IP",
    "rdma/ib",
    "rdma/hca_shared_devices_a",
    "intel.com/sriov",
    "intel.com/intel_sriov_netdevice",
    "intel.com/mlnx_sriov_rdma",
    "mellanox.com/cx5_sriov_switchdev",
    "mellanox.com/sriov_vf",
    "nvidia.com/hostdev",
    "nvidia.com/sriov_rdma_vf",
    "nvidia.com/sriov-rdma-vf",
    "nvidia.com/roce_gdr",
    "nvidia.com/ib_vf",
    "amd.com/nic",
    "amd.com/vnic",
    "openshift.io/mlxnics",
    "aliyun/erdma",
    "tke.cloud.tencent.com/eni-ip",
    "ovs-cni.network.kubevirt.io/br1",
)
OTHER_DEVICES = (
    "devices.kubevirt.io/kvm",
    "devices.kubevirt.io/vhost-net",
    "smarter-devices/fuse",
    "github.com/fuse",
    "squat.ai/tun",
    # Bytes, of which one enclave asks for millions.
    "sgx.intel.com/epc",
    # Millicores and bytes that Koordinator lends.
    "kubernetes.io/batch-cpu",
    "kubernetes.io/batch-memory",
)
SHARES = (
    "nvidia.com/gpumem",
    "nvidia.com/gpumem-percentage",
    "nvidia.com/gpucores",
    "volcano.sh/vgpu-memory",
    "volcano.sh/vgpu-cores",
    "koordinator.sh/gpu-core",
    "koordinator.sh/gpu-memory-ratio",
    "aliyun.com/gpu-mem",
    "gpu.intel.com/millicores",
    "gpu.intel.com/memory.max",
)
NO_DEVICES = ("cpu", "memory", "pods", "ephemeral-storage", "hugepages-2Mi", "hugepages-1Gi", "")


@pytest.mark.parametrize("resource", ACCELERATORS)
def test_accelerators_of_any_vendor(resource: str) -> None:
    assert is_accelerator(resource)
    assert is_device(resource)


@pytest.mark.parametrize("resource", [*NETWORK, *OTHER_DEVICES])
def test_generic_devices_are_no_accelerators(resource: str) -> None:
    assert not is_accelerator(resource)
    assert is_device(resource)


@pytest.mark.parametrize("resource", SHARES)
def test_share_of_a_device_is_no_number_of_devices(resource: str) -> None:
    assert not is_accelerator(resource)


@pytest.mark.parametrize("resource", NO_DEVICES)
def test_native_resources_are_no_devices(resource: str) -> None:
    assert not is_accelerator(resource)
    assert not is_device(resource)
