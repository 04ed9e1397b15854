"""Trials of clusters before they are saved: the person's input and the cluster's answer."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class ClusterTrial(models.Model):
    """One trial. It lives for minutes; see `store.cluster_trials`."""

    id = models.CharField(max_length=32, primary_key=True)
    """Random, because it is part of the URL of its page."""
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    """The admin who began it. No one else sees it."""
    purpose = models.CharField(max_length=8)
    """`add` a cluster, `renew` its credentials, or give it an `actor`."""
    name = models.CharField(max_length=63)
    """Name of the cluster in gangboard."""
    source = models.BinaryField(null=True)
    """Encrypted: the pasted kubeconfig, or the choice of the pod's own account."""
    context = models.CharField(max_length=253, default="", db_default="")
    """The context that the person chose; empty for the current one."""
    access = models.BinaryField(null=True)
    """Encrypted document of `kube.credentials` to save; null if there is none."""
    state = models.CharField(max_length=8, default="waiting", db_default="waiting")
    """`waiting`, `running`, `answered`, `failed` or `saved`."""
    code = models.CharField(max_length=32, default="", db_default="")
    """Code of the error (`kube.errors`, `store.clusters`); empty if the cluster answered."""
    sentence = models.TextField(default="", db_default="")
    commands = models.JSONField(default=list)
    """Shell commands that the error suggests."""
    contexts = models.JSONField(default=list)
    """Names of the contexts of the kubeconfig."""
    server = models.CharField(max_length=500, default="", db_default="")
    server_version = models.CharField(max_length=64, default="", db_default="")
    uid = models.CharField(max_length=128, default="", db_default="")
    """uid of the namespace `kube-system`; empty if unknown."""
    readable = models.JSONField(default=list)
    unreadable = models.JSONField(default=list)
    """Keys of served kinds that the account may not list; `readable` has those it may list."""
    levers = models.JSONField(
        default=list, db_default=models.Value([], output_field=models.JSONField())
    )
    """For an actor: [{lever, title, missing: [[verb, resource], …], namespaces}, …]."""
    credentials_expire_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True)
    """When a poll worker claimed it."""
    expires_at = models.DateTimeField()
    """From then on it counts as deleted."""

    class Meta:
        """The index is for retention."""

        indexes = [models.Index(fields=("expires_at",), name="trial_by_end")]
