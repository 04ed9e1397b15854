"""Messages: channels, rules, deliveries, and how far rules were matched."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("store", "0005_sign_in"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="NotifyCursor",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="Channel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=60, unique=True)),
                ("kind", models.CharField(max_length=16)),
                ("service", models.CharField(max_length=100)),
                ("address", models.BinaryField()),
                ("for_everybody", models.BooleanField(db_default=False, default=False)),
                ("error", models.TextField(db_default="", default="")),
                ("failures", models.IntegerField(db_default=0, default=0)),
                ("next_at", models.DateTimeField(null=True)),
                ("sent_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField()),
                ("holder", models.CharField(db_default="", default="", max_length=64)),
                ("held_until", models.DateTimeField(null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="Rule",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=60)),
                ("trigger", models.CharField(max_length=16)),
                ("minutes", models.IntegerField(null=True)),
                ("namespace", models.CharField(db_default="", default="", max_length=253)),
                ("kind", models.CharField(db_default="", default="", max_length=63)),
                ("code", models.CharField(db_default="", default="", max_length=64)),
                ("health", models.CharField(db_default="", default="", max_length=16)),
                ("accelerators_at_least", models.FloatField(null=True)),
                ("gang_id", models.CharField(db_default="", default="", max_length=32)),
                ("muted_until", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField()),
                ("channels", models.ManyToManyField(related_name="rules", to="store.channel")),
                (
                    "cluster",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="store.cluster",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-pk",),
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("items", models.JSONField(default=list)),
                ("state", models.CharField(max_length=16)),
                ("attempts", models.IntegerField(default=0)),
                ("next_at", models.DateTimeField()),
                ("error", models.TextField(default="")),
                ("created_at", models.DateTimeField(db_index=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "channel",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="store.channel",
                    ),
                ),
                (
                    "rule",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="store.rule",
                    ),
                ),
            ],
            options={
                "ordering": ("-pk",),
            },
        ),
        migrations.CreateModel(
            name="RuleMark",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("subject", models.CharField(max_length=128)),
                ("mark", models.CharField(max_length=128)),
                ("at", models.DateTimeField(db_index=True)),
                (
                    "rule",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="store.rule",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="rule",
            index=models.Index(
                condition=models.Q(("ended_at", None)), fields=["id"], name="rules_in_force"
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("finished_at", None)),
                fields=["channel", "next_at"],
                name="deliveries_to_send",
            ),
        ),
        migrations.AddConstraint(
            model_name="rulemark",
            constraint=models.UniqueConstraint(
                fields=("rule", "subject"), name="one_mark_per_subject"
            ),
        ),
    ]
