"""The nodes of the demo's clusters."""

from __future__ import annotations

from simulator.fleet_spec import NodePool

EAST = (
    NodePool(
        "h100", 8, gpus=8, cpu="192", memory="2Ti", product="NVIDIA-H100-80GB-HBM3", lost=(8,)
    ),
    NodePool("a100", 8, gpus=8, cpu="128", product="NVIDIA-A100-SXM4-80GB"),
    NodePool("l40s", 6, gpus=4, product="NVIDIA-L40S", rack_size=3),
    NodePool(
        "gh200",
        4,
        gpus=4,
        product="NVIDIA-GH200-480GB",
        rack_size=2,
        rack_label="example.com/nvlink-domain",
    ),
    NodePool("a10g", 4, gpus=4, product="NVIDIA-A10G", cordoned=(4,)),
    NodePool("v100", 2, gpus=8, product="Tesla-V100-SXM2-32GB"),
    NodePool("b200", 2, gpus=8, product="NVIDIA-B200", cordoned=(1, 2)),
    NodePool("b100", 9, gpus=8, cpu="128", memory="1Ti", product="NVIDIA-B100"),
    NodePool("spot", 2, gpus=4, product="NVIDIA-L4", taint="cloud.example/spot"),
    NodePool("cpu", 4, cpu="128", memory="512Gi"),
)
WEST = (
    NodePool("a100", 6, gpus=8, cpu="128", product="NVIDIA-A100-SXM4-80GB"),
    NodePool("t4", 4, gpus=4, product="Tesla-T4"),
    NodePool("l4", 2, gpus=4, product="NVIDIA-L4"),
    NodePool("cpu", 2, cpu="128", memory="512Gi"),
)
