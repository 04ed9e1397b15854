"""Actions are counted by state without their rows being read."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("store", "0020_audit_head_guard")]

    operations = [
        migrations.AddIndex(
            model_name="action",
            index=models.Index(fields=["cluster", "verb", "state"], name="actions_by_state"),
        ),
    ]
