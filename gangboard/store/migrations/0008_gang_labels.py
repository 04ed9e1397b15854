"""Labels of gangs, and which field manager made them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("store", "0007_cluster_trials")]
    operations = [
        migrations.AddField(
            model_name="gang",
            name="labels",
            field=models.JSONField(
                db_default=models.Value({}, output_field=models.JSONField()), default=dict
            ),
        ),
        migrations.AddField(
            model_name="gang",
            name="submitter",
            field=models.CharField(db_default="", default="", max_length=128),
        ),
    ]
