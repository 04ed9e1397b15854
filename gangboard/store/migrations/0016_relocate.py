"""The place that a relocated Job must leave."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("store", "0015_checks")]
    operations = [
        migrations.AddField("action", "avoid", models.JSONField(null=True)),
    ]
