"""All tables, and what the database itself keeps of the audit: one head, and the triggers."""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from gangboard.store.audit_guard import guard, guard_head


def make_audit(apps: Any, schema_editor: Any) -> None:
    """Make the head that whoever appends holds, then the triggers that refuse a second one."""
    connection = schema_editor.connection
    apps.get_model("store", "AuditHead").objects.using(connection.alias).create()
    guard(connection)
    guard_head(connection)


class Migration(migrations.Migration):
    initial = True
    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.CreateModel(
            name='Cluster',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=63, unique=True)),
                ('server', models.CharField(max_length=500)),
                ('credentials', models.BinaryField()),
                ('credentials_expire_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('data_version', models.BigIntegerField(default=0)),
                ('server_version', models.CharField(default='', max_length=64)),
                ('discovered_at', models.DateTimeField(null=True)),
                ('contact_at', models.DateTimeField(null=True)),
                ('problem', models.CharField(default='', max_length=32)),
                ('sentence', models.TextField(default='')),
                ('problem_since', models.DateTimeField(null=True)),
                ('listed_at', models.DateTimeField(null=True)),
                ('actor_credentials', models.BinaryField(null=True)),
                ('actor_expires_at', models.DateTimeField(null=True)),
                ('controller_build', models.CharField(default='', max_length=64)),
                ('parallelism_lever', models.BooleanField(default=False)),
                ('read_only', models.BooleanField(default=False)),
            ],
            options={
                'ordering': ('name',),
            },
        ),
        migrations.CreateModel(
            name='Lease',
            fields=[
                ('cluster', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to='store.cluster')),
                ('holder', models.CharField(default='', max_length=200)),
                ('number', models.BigIntegerField(default=0)),
                ('expires_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='ResourceState',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('resource', models.CharField(max_length=200)),
                ('version', models.CharField(default='', max_length=32)),
                ('state', models.CharField(max_length=20)),
                ('sentence', models.TextField(default='')),
                ('needed', models.BooleanField(default=False)),
                ('resource_version', models.CharField(default='', max_length=128)),
                ('decoder_version', models.IntegerField(default=0)),
                ('listed_at', models.DateTimeField(null=True)),
                ('contact_at', models.DateTimeField(null=True)),
                ('objects_count', models.IntegerField(default=0)),
                ('problems', models.JSONField(default=list)),
                ('problems_count', models.IntegerField(default=0)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='resources', to='store.cluster')),
            ],
            options={
                'ordering': ('resource',),
                'constraints': [
                    models.UniqueConstraint(fields=('cluster', 'resource'), name='one_state_per_resource'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Outage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('began_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField()),
                ('problem', models.CharField(default='', max_length=32)),
                ('sentence', models.TextField(default='')),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='store.cluster')),
            ],
            options={
                'indexes': [
                    models.Index(fields=['cluster', 'ended_at'], name='store_outag_cluster_d09125_idx'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Heartbeat',
            fields=[
                ('name', models.CharField(max_length=200, primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=16)),
                ('beat_at', models.DateTimeField()),
                ('slots', models.IntegerField(default=0)),
                ('began_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='WatchedObject',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('resource', models.CharField(max_length=200)),
                ('uid', models.CharField(max_length=64)),
                ('namespace', models.CharField(max_length=253)),
                ('name', models.CharField(max_length=253)),
                ('resource_version', models.CharField(max_length=128)),
                ('data', models.BinaryField()),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='store.cluster')),
                ('about', models.CharField(max_length=64, null=True)),
                ('owner_uid', models.CharField(max_length=64, null=True)),
            ],
            options={
                'indexes': [
                    models.Index(fields=['cluster', 'resource', 'namespace', 'name'], name='store_watch_cluster_36d46a_idx'),
                    models.Index(condition=models.Q(('about__isnull', False)), fields=['cluster', 'about'], name='events_about'),
                    models.Index(condition=models.Q(('owner_uid__isnull', False)), fields=['cluster', 'owner_uid'], name='objects_of_owner'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('cluster', 'uid'), name='one_row_per_object'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Gang',
            fields=[
                ('id', models.CharField(max_length=32, primary_key=True, serialize=False)),
                ('api_group', models.CharField(max_length=253)),
                ('api_version', models.CharField(max_length=32)),
                ('kind', models.CharField(max_length=63)),
                ('namespace', models.CharField(max_length=253)),
                ('name', models.CharField(max_length=253)),
                ('uid', models.CharField(max_length=64)),
                ('generation', models.BigIntegerField(default=0)),
                ('health', models.CharField(max_length=16)),
                ('last_health', models.CharField(default='', max_length=16)),
                ('last_code', models.CharField(default='', max_length=64)),
                ('last_since', models.DateTimeField(null=True)),
                ('severity', models.SmallIntegerField()),
                ('stage', models.CharField(max_length=16)),
                ('code', models.CharField(max_length=64)),
                ('title', models.CharField(max_length=200)),
                ('message', models.TextField()),
                ('advice', models.JSONField(default=list)),
                ('desired', models.BigIntegerField(default=0)),
                ('quorum', models.BigIntegerField(null=True)),
                ('created', models.BigIntegerField(default=0)),
                ('scheduled', models.BigIntegerField(default=0)),
                ('ready', models.BigIntegerField(default=0)),
                ('succeeded', models.BigIntegerField(default=0)),
                ('failed', models.BigIntegerField(default=0)),
                ('held', models.BigIntegerField(default=0)),
                ('requests', models.JSONField(default=dict)),
                ('accelerators', models.FloatField(default=0)),
                ('bottleneck', models.CharField(default='', max_length=200)),
                ('queue', models.CharField(default='', max_length=253)),
                ('priority', models.CharField(default='', max_length=253)),
                ('restarts', models.BigIntegerField(default=0)),
                ('max_restarts', models.BigIntegerField(null=True)),
                ('created_at', models.DateTimeField(null=True)),
                ('since', models.DateTimeField()),
                ('observed_at', models.DateTimeField()),
                ('recheck_at', models.DateTimeField(null=True)),
                ('changed_version', models.BigIntegerField(default=0)),
                ('gone_at', models.DateTimeField(null=True)),
                ('detail', models.BinaryField()),
                ('memory', models.BinaryField()),
                ('first_seen_at', models.DateTimeField()),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='gangs', to='store.cluster')),
                ('priority_value', models.IntegerField(null=True)),
                ('since_first_seen', models.BooleanField(db_default=False, default=False)),
                ('last_since_first_seen', models.BooleanField(db_default=False, default=False)),
            ],
            options={
                'indexes': [
                    models.Index(fields=['gone_at', 'severity', 'since', 'id'], name='board_order'),
                    models.Index(fields=['gone_at', 'cluster', 'namespace', 'kind', 'queue', 'health', 'code', 'stage', 'severity', 'accelerators'], name='board_counts'),
                    models.Index(fields=['cluster', 'namespace'], name='store_gang_cluster_52e161_idx'),
                    models.Index(fields=['cluster', 'changed_version'], name='store_gang_cluster_3d7a86_idx'),
                    models.Index(fields=['cluster', 'recheck_at'], name='store_gang_cluster_5da03a_idx'),
                    models.Index(fields=['code'], name='store_gang_code_674171_idx'),
                    models.Index(fields=['gone_at', 'severity', 'stage', 'code', 'bottleneck', 'health', 'cluster', 'namespace', 'accelerators', 'since', 'id', 'since_first_seen', 'desired', 'ready', 'succeeded', 'held'], name='gangs_by_reason'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('cluster', 'uid'), name='one_gang_per_owner'),
                ],
            },
        ),
        migrations.CreateModel(
            name='GangSearch',
            fields=[
                ('gang', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='search', serialize=False, to='store.gang')),
                ('names', models.TextField()),
                ('said', models.TextField()),
                ('sentence', models.TextField()),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='store.cluster')),
            ],
        ),
        migrations.CreateModel(
            name='VerdictSpan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('gang_id', models.CharField(max_length=32)),
                ('api_group', models.CharField(max_length=253)),
                ('kind', models.CharField(max_length=63)),
                ('namespace', models.CharField(max_length=253)),
                ('name', models.CharField(max_length=253)),
                ('uid', models.CharField(max_length=64)),
                ('health', models.CharField(max_length=16)),
                ('stage', models.CharField(max_length=16)),
                ('code', models.CharField(max_length=64)),
                ('title', models.CharField(max_length=200)),
                ('message', models.TextField()),
                ('findings', models.BinaryField(default=bytes)),
                ('queue', models.CharField(default='', max_length=253)),
                ('shape', models.CharField(default='', max_length=64)),
                ('desired', models.BigIntegerField(default=0)),
                ('accelerators', models.FloatField(default=0)),
                ('began_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('last', models.BooleanField(default=False)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='store.cluster')),
                ('created_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [
                    models.Index(fields=['gang_id', 'began_at'], name='store_verdi_gang_id_d63599_idx'),
                    models.Index(fields=['cluster', 'queue', 'shape', 'began_at'], name='store_verdi_cluster_43bdea_idx'),
                    models.Index(fields=['ended_at'], name='store_verdi_ended_a_ffa250_idx'),
                ],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('gang_id',), name='one_open_span_per_gang'),
                ],
            },
        ),
        migrations.CreateModel(
            name='NodeCapacity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=253)),
                ('labels', models.JSONField(default=dict)),
                ('taints', models.JSONField(default=list)),
                ('ready', models.BooleanField(default=True)),
                ('cordoned', models.BooleanField(default=False)),
                ('allocatable', models.JSONField(default=dict)),
                ('used', models.JSONField(default=dict)),
                ('held', models.JSONField(default=dict)),
                ('unreadable', models.JSONField(default=list)),
                ('pods', models.JSONField(default=dict)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='store.cluster')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('cluster', 'name'), name='one_row_per_node'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ClusterCapacity',
            fields=[
                ('cluster', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to='store.cluster')),
                ('observed_at', models.DateTimeField()),
                ('why', models.TextField(default='')),
                ('shapes', models.JSONField(default=list)),
            ],
        ),
        migrations.CreateModel(
            name='TrendPoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('is_lasting', models.BooleanField()),
                ('gangs', models.JSONField(null=True)),
                ('waiting', models.FloatField(null=True)),
                ('reasons', models.JSONField(null=True)),
                ('used', models.FloatField(null=True)),
                ('held', models.FloatField(null=True)),
                ('free', models.FloatField(null=True)),
                ('away', models.FloatField(null=True)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='store.cluster')),
            ],
            options={
                'indexes': [models.Index(fields=['is_lasting', 'at'], name='store_trend_is_last_1ab437_idx')],
                'constraints': [models.UniqueConstraint(fields=('cluster', 'at'), name='one_point_per_minute')],
            },
        ),
        migrations.CreateModel(
            name='Action',
            fields=[
                ('id', models.CharField(max_length=32, primary_key=True, serialize=False)),
                ('verb', models.CharField(max_length=16)),
                ('cluster_name', models.CharField(max_length=63)),
                ('gang_id', models.CharField(default='', max_length=32)),
                ('api_group', models.CharField(max_length=253)),
                ('kind', models.CharField(max_length=63)),
                ('namespace', models.CharField(max_length=253)),
                ('name', models.CharField(max_length=253)),
                ('uid', models.CharField(max_length=64)),
                ('generation', models.BigIntegerField(null=True)),
                ('reason', models.CharField(max_length=1024)),
                ('until', models.DateTimeField(null=True)),
                ('forced', models.BooleanField(default=False)),
                ('actor_name', models.CharField(max_length=253)),
                ('may_act', models.BooleanField(default=True)),
                ('via', models.CharField(max_length=16)),
                ('idempotency_key', models.CharField(default='', max_length=200)),
                ('body_hash', models.CharField(default='', max_length=64)),
                ('batch', models.CharField(default='', max_length=32)),
                ('stop_asked_by', models.CharField(default='', max_length=253)),
                ('state', models.CharField(max_length=16)),
                ('lever', models.CharField(default='', max_length=16)),
                ('message', models.TextField(default='')),
                ('warnings', models.JSONField(default=list)),
                ('reactions', models.JSONField(default=list)),
                ('before', models.JSONField(default=dict)),
                ('after', models.JSONField(default=dict)),
                ('context', models.JSONField(default=dict)),
                ('reverted_by', models.CharField(default='', max_length=253)),
                ('held_seconds', models.FloatField(null=True)),
                ('requested_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('sent_at', models.DateTimeField(null=True)),
                ('applied_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('due_at', models.DateTimeField(null=True)),
                ('holder', models.CharField(default='', max_length=200)),
                ('number', models.BigIntegerField(default=0)),
                ('held_until', models.DateTimeField(null=True)),
                ('guarded', models.BooleanField(default=False)),
                ('cluster', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='actions', to='store.cluster')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='actions', to=settings.AUTH_USER_MODEL)),
                ('token', models.CharField(default='', max_length=16)),
            ],
            options={
                'ordering': ('-requested_at', '-id'),
                'indexes': [
                    models.Index(fields=['due_at'], name='store_actio_due_at_6a73ff_idx'),
                    models.Index(fields=['cluster', 'uid', '-requested_at'], name='store_actio_cluster_15b7ec_idx'),
                    models.Index(fields=['gang_id', '-requested_at'], name='store_actio_gang_id_95201e_idx'),
                    models.Index(fields=['batch'], name='store_actio_batch_76df27_idx'),
                    models.Index(fields=['guarded', 'cluster'], name='store_actio_guarded_463f25_idx'),
                    models.Index(fields=['cluster', 'verb', 'state'], name='actions_by_state'),
                ],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('finished_at', None)), fields=('cluster', 'uid'), name='one_open_action_per_object'),
                    models.UniqueConstraint(condition=models.Q(('idempotency_key', ''), _negated=True), fields=('user', 'idempotency_key'), name='one_action_per_key'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ActionStep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.SmallIntegerField()),
                ('kind', models.CharField(max_length=16)),
                ('name', models.CharField(max_length=200)),
                ('subject', models.JSONField(default=dict)),
                ('method', models.CharField(max_length=8)),
                ('path', models.CharField(max_length=1024)),
                ('patch', models.TextField(default='')),
                ('dry_run', models.BooleanField(default=False)),
                ('state', models.CharField(max_length=16)),
                ('result', models.TextField(default='')),
                ('status', models.IntegerField(null=True)),
                ('audit_id', models.CharField(default='', max_length=64)),
                ('sends', models.SmallIntegerField(default=0)),
                ('at', models.DateTimeField(null=True)),
                ('action', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='steps', to='store.action')),
            ],
            options={
                'ordering': ('action_id', 'position'),
                'constraints': [
                    models.UniqueConstraint(fields=('action', 'position'), name='one_step_per_position'),
                ],
            },
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_index=True)),
                ('actor_name', models.CharField(max_length=253)),
                ('event', models.CharField(max_length=32)),
                ('cluster_name', models.CharField(default='', max_length=63)),
                ('namespace', models.CharField(default='', max_length=253)),
                ('object_name', models.CharField(default='', max_length=400)),
                ('sentence', models.TextField()),
                ('details', models.JSONField(default=dict)),
                ('action', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='audit_entries', to='store.action')),
                ('cluster', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='store.cluster')),
                ('source', models.CharField(default='', max_length=64)),
                ('number', models.BigIntegerField(unique=True)),
                ('digest', models.CharField(max_length=64)),
            ],
            options={
                'ordering': ('-at', '-id'),
                'indexes': [
                    models.Index(fields=['cluster', 'namespace', '-at'], name='store_audit_cluster_373383_idx'),
                ],
            },
        ),
        migrations.CreateModel(
            name='AuditHead',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.BigIntegerField(default=0)),
                ('digest', models.CharField(default='', max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name='HoldCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('hold_uid', models.CharField(max_length=64)),
                ('in_force', models.BooleanField(null=True)),
                ('checked_at', models.DateTimeField()),
                ('sentence', models.TextField(default='')),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='hold_checks', to='store.cluster')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('cluster', 'hold_uid'), name='one_check_per_hold'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Chore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chores', to='store.cluster')),
                ('name', models.CharField(max_length=16)),
                ('holder', models.CharField(default='', max_length=64)),
                ('held_until', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('cluster', 'name'), name='one_chore_row'),
                ],
            },
        ),
        migrations.CreateModel(
            name='LeverRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('lever', models.CharField(max_length=16)),
                ('build', models.CharField(default='', max_length=64)),
                ('proved_at', models.DateTimeField(null=True)),
                ('refuted_at', models.DateTimeField(null=True)),
                ('sentence', models.TextField(default='')),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lever_records', to='store.cluster')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('cluster', 'lever', 'build'), name='one_lever_record'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Switch',
            fields=[
                ('name', models.CharField(max_length=32, primary_key=True, serialize=False)),
                ('is_on', models.BooleanField(default=False)),
                ('changed_at', models.DateTimeField()),
                ('changed_by', models.CharField(default='', max_length=253)),
            ],
        ),
        migrations.CreateModel(
            name='Grant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(max_length=16)),
                ('namespace', models.CharField(default='', max_length=253)),
                ('cluster', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, to='store.cluster')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grants', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('user', 'role', 'cluster', 'namespace'), name='grant_once_per_cluster'),
                    models.UniqueConstraint(condition=models.Q(('cluster', None)), fields=('user', 'role', 'namespace'), name='grant_once_everywhere'),
                ],
            },
        ),
        migrations.CreateModel(
            name='AccessToken',
            fields=[
                ('id', models.CharField(max_length=16, primary_key=True, serialize=False)),
                ('secret_hash', models.CharField(max_length=64)),
                ('may_act', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('last_used_at', models.DateTimeField(null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='access_tokens', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='SignInLink',
            fields=[
                ('secret_hash', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Attempts',
            fields=[
                ('key', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('number', models.IntegerField(default=0)),
                ('ends_at', models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60)),
                ('query', models.TextField()),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='saved_views', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('user', 'name'), name='one_view_of_a_name'),
                ],
            },
        ),
        migrations.CreateModel(
            name='BoardColumns',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('names', models.JSONField(default=list)),
            ],
        ),
        migrations.RunPython(make_audit),
    ]
