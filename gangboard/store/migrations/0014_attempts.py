"""Attempts of every kind are counted in one table; what is counted lasts minutes, so none is moved."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("store", "0013_object_owner_uid")]

    operations = [
        migrations.DeleteModel(name="SignInAttempts"),
        migrations.CreateModel(
            name="Attempts",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("number", models.IntegerField(default=0)),
                ("ends_at", models.DateTimeField(db_index=True)),
            ],
        ),
    ]
