"""Forms of the pages that change clusters. They never print a pasted kubeconfig again."""

from __future__ import annotations

from typing import Any

from django import forms

from gangboard.store.cluster_trials import LONGEST_KUBECONFIG

TOO_LARGE = "It is too large. Paste the output of: kubectl config view --raw --minify --flatten"


class CredentialsForm(forms.Form):
    """A kubeconfig, or the service account of the cluster in which gangboard runs."""

    source = forms.ChoiceField(
        choices=[("kubeconfig", ""), ("in-cluster", "")], initial="kubeconfig"
    )
    kubeconfig = forms.CharField(
        required=False,
        strip=False,
        max_length=LONGEST_KUBECONFIG,
        error_messages={"max_length": TOO_LARGE},
    )
    context = forms.CharField(required=False, max_length=253)

    @property
    def is_in_cluster(self) -> bool:
        """Whether the service account is chosen. This also works in an invalid form."""
        return bool(self["source"].value() == "in-cluster")

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `changes.begin_trial`. Valid forms only."""
        in_cluster = self.cleaned_data["source"] == "in-cluster"
        return {
            "in_cluster": in_cluster,
            "kubeconfig": "" if in_cluster else self.cleaned_data["kubeconfig"],
            "context": "" if in_cluster else self.cleaned_data["context"],
        }


class AddForm(CredentialsForm):
    """A cluster to add."""

    name = forms.CharField(max_length=63)


class ChangeForm(CredentialsForm):
    """New credentials or an actor for a cluster."""

    purpose = forms.ChoiceField(choices=[("renew", ""), ("actor", "")])

    @property
    def is_for_actor(self) -> bool:
        """Whether the credentials are for the actor."""
        return bool(self["purpose"].value() == "actor")
