"""Levers that a tried actor may use."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("store", "0008_gang_labels")]
    operations = [
        migrations.AddField(
            model_name="clustertrial",
            name="levers",
            field=models.JSONField(
                db_default=models.Value([], output_field=models.JSONField()), default=list
            ),
        ),
    ]
