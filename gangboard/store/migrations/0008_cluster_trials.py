
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('store', '0004_feed'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ClusterTrial',
            fields=[
                ('id', models.CharField(max_length=32, primary_key=True, serialize=False)),
                ('purpose', models.CharField(max_length=8)),
                ('name', models.CharField(max_length=63)),
                ('source', models.BinaryField(null=True)),
                ('context', models.CharField(db_default='', default='', max_length=253)),
                ('access', models.BinaryField(null=True)),
                ('state', models.CharField(db_default='waiting', default='waiting', max_length=8)),
                ('code', models.CharField(db_default='', default='', max_length=32)),
                ('sentence', models.TextField(db_default='', default='')),
                ('commands', models.JSONField(default=list)),
                ('contexts', models.JSONField(default=list)),
                ('server', models.CharField(db_default='', default='', max_length=500)),
                ('server_version', models.CharField(db_default='', default='', max_length=64)),
                ('uid', models.CharField(db_default='', default='', max_length=128)),
                ('readable', models.JSONField(default=list)),
                ('unreadable', models.JSONField(default=list)),
                ('credentials_expire_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField()),
                ('claimed_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField()),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['expires_at'], name='trial_by_end')],
            },
        ),
    ]
