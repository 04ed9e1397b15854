"""Trials of clusters before they are saved: what a person has pasted, and what the cluster answered."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class ClusterTrial(models.Model):
    """One trial. It lives for minutes: see `store.cluster_trials`."""

    id = models.CharField(max_length=32, primary_key=True)
    """Random: the address of its page."""
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    """The admin who began it. No one else sees it."""
    purpose = models.CharField(max_length=8)
    """`add` a cluster, `renew` the credentials of one, or give it an `actor`."""
    name = models.CharField(max_length=63)
    """Name of the cluster in gangboard."""
    source = models.BinaryField(null=True)
    """Encrypted: the pasted kubeconfig, or that the pod's own account is to be used."""
    context = models.CharField(max_length=253, default="", db_default="")
    """The context that the person chose; empty for the current one."""
    access = models.BinaryField(null=True)
    """Encrypted document of kube.credentials that can be saved; null where nothing can."""
    state = models.CharField(max_length=8, default="waiting", db_default="waiting")
    """`waiting`, `running`, `answered`, `failed` or `saved`."""
    code = models.CharField(max_length=32, default="", db_default="")
    """Of the error (kube.errors, store.clusters); empty where it answered."""
    sentence = models.TextField(default="", db_default="")
    commands = models.JSONField(default=list)
    """Shell commands that the error named."""
    contexts = models.JSONField(default=list)
    """Names of the contexts of the kubeconfig."""
    server = models.CharField(max_length=500, default="", db_default="")
    server_version = models.CharField(max_length=64, default="", db_default="")
    uid = models.CharField(max_length=128, default="", db_default="")
    """uid of the namespace `kube-system`; empty where it is not known."""
    readable = models.JSONField(default=list)
    unreadable = models.JSONField(default=list)
    """Keys of kinds that are served: those that the account may list, and the others."""
    levers = models.JSONField(
        default=list, db_default=models.Value([], output_field=models.JSONField())
    )
    """Of an actor: [{lever, title, missing: [[verb, resource], …], namespaces}, …]."""
    credentials_expire_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True)
    """When a poll worker took it."""
    expires_at = models.DateTimeField()
    """From then on it counts as deleted."""

    class Meta:
        """For retention."""

        indexes = [models.Index(fields=("expires_at",), name="trial_by_end")]
