"""`pod-setup-failing`: the kubelet's words of a missing volume and of a network without addresses."""

from typing import Any

import pytest

from gangboard.domain.event import Event
from gangboard.domain.health import Health
from gangboard.domain.pod import Pod
from gangboard.facts.unit import Unit
from tests.domain_objects import a_condition, a_container, a_job, a_pod, ago, an_event
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in

MOUNT = 'MountVolume.SetUp failed for volume "config" : configmap "train-config" not found'
JOB = a_job("train", pods=2)


def a_waiting_pod(name: str, placed: float = 90, **fields: Any) -> Pod:
    """A pod whose containers are being created, on its node for so many seconds."""
    creating = a_container("main", running=False, state="waiting", reason="ContainerCreating")
    defaults = {
        "phase": "Pending",
        "ready": None,
        "containers": (creating,),
        "scheduled": a_condition("PodScheduled", since=ago(placed)),
        "set_up": a_condition("PodReadyToStartContainers", "False"),
        **fields,
    }
    return a_pod(name, of=JOB, on="n0", **defaults)


def refused(*pods: Pod, others: tuple[Pod, ...] = (), note: str = MOUNT, **fields: Any) -> Unit:
    """Return a Job with pods for which the kubelet reports this, and others without a report."""
    reason = fields.pop("reason", "FailedMount")
    events: list[Event] = [an_event(pod, reason, note, **fields) for pod in pods]
    return unit_of(JOB, *pods, *others, *events)


def two() -> tuple[Pod, Pod]:
    return a_waiting_pod("train-0"), a_waiting_pod("train-1")


def test_a_missing_config_map() -> None:
    finding = require_finding("pod-setup-failing", refused(*two()))
    assert finding.code == "pod-setup-failing"
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "2 train-config"
    assert finding.evidence[0].value == MOUNT
    assert finding.evidence[0].source == two()[0].meta.ref
    # The last word is half a minute old and counts for six minutes.
    assert finding.recheck_at == ago(30 - 6 * 60)
    assert first_code(refused(*two())) == "pod-setup-failing"


def test_devices_that_the_kubelet_cannot_prepare() -> None:
    """FailedPrepareDynamicResources (kuberuntime_manager.go of 1.34 to 1.37): no sandbox is made before."""
    note = (
        "Failed to prepare dynamic resources: prepare dynamic resources: no driver gpu.example.com"
    )
    unit = refused(*two(), reason="FailedPrepareDynamicResources", note=note)
    assert first_code(unit) == "pod-setup-failing"
    assert "no driver gpu.example.com" in require_finding("pod-setup-failing", unit).message
    assert require_finding("pod-setup-failing", unit).message.count("dynamic resources") == 0


def test_another_member_runs() -> None:
    runs = a_pod("train-1", of=JOB, on="n1")
    finding = require_finding(
        "pod-setup-failing", refused(a_waiting_pod("train-0"), others=(runs,))
    )
    assert finding.health is Health.DEGRADED
    assert finding.message.startswith("1 pod waits for its containers (FailedMount): ")


def test_the_sandbox_ids_of_a_text_do_not_part_the_pods() -> None:
    pods = two()
    events = [
        an_event(pod, "FailedCreatePodSandBox", f'sandbox "{n}": no more addresses')
        for n, pod in enumerate(pods)
    ]
    message = require_finding("pod-setup-failing", unit_of(JOB, *pods, *events)).message
    assert message.startswith("2 pods wait for their containers (FailedCreatePodSandBox): ")


@pytest.mark.parametrize(
    "wrapping",
    [
        "",
        "Failed to create pod sandbox: ",
        "Failed to create pod sandbox: rpc error: code = Unknown desc = ",
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for "
        f'sandbox "{"4f0c" * 16}": ',
    ],
)
def test_the_cause_is_quoted_without_its_wrapper(wrapping: str) -> None:
    cause = 'plugin type="calico" failed (add): no more IP addresses'
    event = an_event(pod := two()[0], "FailedCreatePodSandBox", f"{wrapping}{cause}")
    message = require_finding("pod-setup-failing", unit_of(JOB, pod, event)).message
    assert message == f"1 pod waits for its containers (FailedCreatePodSandBox): {cause}."


def test_the_newest_message_of_a_pod_counts() -> None:
    pods = two()
    events = [
        an_event(pods[0], "FailedAttachVolume", "volume is busy", last_seen=ago(50)),
        an_event(pods[0], "FailedMount", "mount refused", last_seen=ago(10)),
    ]
    message = require_finding("pod-setup-failing", unit_of(JOB, *pods, *events)).message
    assert values_in(message) == "1"


def test_disks_take_their_time() -> None:
    """For a minute it is a start like any other, with the text."""
    young = a_waiting_pod("train-0", placed=20)
    finding = require_finding("pod-setup-failing", refused(young))
    assert (finding.code, finding.health) == ("starting", Health.STARTING)
    assert 'configmap "train-config" not found' in finding.message
    assert finding.recheck_at == ago(20 - 60)


def test_resolved_failures_are_not_reported() -> None:
    ready = a_condition("PodReadyToStartContainers")
    assert evaluate("pod-setup-failing", refused(a_waiting_pod("train-0", set_up=ready))) is None
    pulling = a_container("main", running=False, state="waiting", reason="ImagePullBackOff")
    assert evaluate("pod-setup-failing", refused(a_waiting_pod("t", containers=(pulling,)))) is None
    assert evaluate("pod-setup-failing", refused(a_pod("train-0", of=JOB, on="n0"))) is None
    assert evaluate("pod-setup-failing", refused(a_waiting_pod("t"), last_seen=ago(7 * 60))) is None
    assert evaluate("pod-setup-failing", refused(a_waiting_pod("t"), reason="BackOff")) is None


def test_clusters_do_not_report_container_states_yet() -> None:
    """The event is the kubelet's only report about the pod."""
    bare = a_waiting_pod("train-0", containers=(), set_up=None)
    assert require_finding("pod-setup-failing", refused(bare)).code == "pod-setup-failing"


@pytest.mark.parametrize(
    ("note", "steps"),
    [
        (MOUNT, ("Create ConfigMap team-a/train-config: the kubelet tries again by itself.",)),
        (
            'MountVolume.SetUp failed for volume "all" : [configmap "a" not found, secret "b" not '
            "found]",
            ("Create ConfigMap team-a/a and Secret team-a/b: the kubelet tries again by itself.",),
        ),
        (
            'MountVolume.SetUp failed for volume "config" : references non-existent config key: '
            "train.yaml",
            (
                "Add key train.yaml to the ConfigMap of volume config: the kubelet tries again by "
                "itself.",
            ),
        ),
        ('MountVolume.SetUp failed for volume "d" : rpc error: code = DeadlineExceeded', ()),
    ],
)
def test_the_next_step(note: str, steps: tuple[str, ...]) -> None:
    assert require_finding("pod-setup-failing", refused(*two(), note=note)).advice_texts == steps
