"""Checks of manifests: their shapes, encrypted, and the answers of poll workers."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('store', '0014_search'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='CheckRun',
            fields=[
                ('id', models.CharField(max_length=32, primary_key=True, serialize=False)),
                ('check_id', models.CharField(max_length=32)),
                ('manifests', models.BinaryField(null=True)),
                ('state', models.CharField(db_default='waiting', default='waiting', max_length=8)),
                ('answer', models.BinaryField(null=True)),
                ('created_at', models.DateTimeField()),
                ('claimed_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField()),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='store.cluster')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['check_id'], name='check_by_id'), models.Index(fields=['expires_at'], name='check_by_end')],
            },
        ),
    ]
