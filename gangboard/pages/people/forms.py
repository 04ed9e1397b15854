"""Forms of the People page."""

from __future__ import annotations

from typing import Any

from django import forms

from gangboard.pages.people.changes import RoleChoice
from gangboard.store.access import ROLES, Viewer
from gangboard.store.group_roles import LONGEST_GROUP
from gangboard.store.models import Cluster

LONGEST_NAME = 150
"""Length of a user name, as in Django's column."""


class RoleForm(forms.Form):
    """A role in a cluster and namespace."""

    role = forms.ChoiceField(choices=[(role, role) for role in ROLES])
    cluster = forms.ChoiceField(required=False)
    namespace = forms.CharField(required=False, max_length=253)

    def __init__(self, data: Any = None, *, viewer: Viewer) -> None:
        super().__init__(data, auto_id=False)
        names = Cluster.objects.filter(viewer.cluster_filter()).order_by("name")
        cluster = self.fields["cluster"]
        assert isinstance(cluster, forms.ChoiceField)  # noqa: S101  # declared above
        cluster.choices = [
            ("", "every cluster"),
            *((name, name) for name in names.values_list("name", flat=True)),
        ]
        self.fields["namespace"].widget.attrs.update(
            placeholder="all, or team-*", title="A name, or a pattern such as team-*"
        )

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of functions in `changes`: `role`, and the fields of the subclass. Valid forms only."""
        data = dict(self.cleaned_data)
        role: RoleChoice = {
            "role": data.pop("role"),
            "cluster": data.pop("cluster"),
            "namespace": data.pop("namespace"),
        }
        return {"role": role, **data}


class PersonForm(RoleForm):
    """A person to add."""

    name = forms.CharField(max_length=LONGEST_NAME)


class GroupForm(RoleForm):
    """A role for the members of a group."""

    group = forms.CharField(max_length=LONGEST_GROUP)
