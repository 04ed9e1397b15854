"""A cluster keeps the uid of its namespace `kube-system`, and the context of the person's kubeconfig.

Both have a default in the database, so that a process of the release before can still add a cluster.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("store", "0002_hashed_sessions")]
    operations = [
        migrations.AddField(
            "cluster", "system_uid", models.CharField(max_length=128, default="", db_default="")
        ),
        migrations.AddField(
            "cluster", "context", models.CharField(max_length=253, default="", db_default="")
        ),
        migrations.AddConstraint(
            "cluster",
            models.UniqueConstraint(
                fields=("system_uid",), condition=~models.Q(system_uid=""), name="one_cluster_per_uid"
            ),
        ),
    ]
