"""By which token an action was asked: it must still be valid right before each request."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("store", "0014_attempts")]

    operations = [
        migrations.AddField(
            model_name="action",
            name="token",
            field=models.CharField(default="", max_length=16),
        ),
    ]
