"""`python -m tests.chart.manifests` prints the plain manifests of `deploy/manifests`."""

from __future__ import annotations

import sys

import yaml

from tests.chart.helm import CHART, ROOT, helm

FOLDER = ROOT / "deploy" / "manifests"


def plain_manifests() -> str:
    """Return what Helm makes of the values in the folder."""
    values = yaml.safe_load((FOLDER / "values.yaml").read_text())
    return helm("template", "gangboard", str(CHART), "--namespace", "gangboard", values=values)


if __name__ == "__main__":
    sys.stdout.write(plain_manifests())
