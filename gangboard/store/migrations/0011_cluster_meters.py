"""How fast API servers answer, and how many events they send."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("store", "0010_unlisted_sessions")]
    operations = [
        migrations.AddField("cluster", "answer_ms", models.IntegerField(null=True)),
        migrations.AddField("cluster", "events_a_minute", models.IntegerField(null=True)),
    ]
