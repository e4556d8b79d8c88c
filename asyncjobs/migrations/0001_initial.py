"""The tables of the ORM store."""

from typing import ClassVar

from django.db import migrations, models

import asyncjobs.columns


class Migration(migrations.Migration):
    initial = True

    dependencies: ClassVar = []

    operations: ClassVar = [
        migrations.CreateModel(
            name="ClockRecord",
            fields=[
                ("id", models.SmallIntegerField(primary_key=True, serialize=False)),
                ("last", models.BigIntegerField()),
                ("set_back", models.BigIntegerField()),
                ("grace", models.BigIntegerField()),
            ],
            options={
                "db_table": "asyncjobs_clock",
            },
        ),
        migrations.CreateModel(
            name="MinuteRecord",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "at", "queue", "status", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("at", models.BigIntegerField()),
                ("ended", models.BigIntegerField()),
                ("status", models.SmallIntegerField()),
                ("queue", asyncjobs.columns.ExactCharField(max_length=255)),
            ],
            options={
                "db_table": "asyncjobs_minute",
            },
        ),
        migrations.CreateModel(
            name="PauseRecord",
            fields=[
                ("queue", asyncjobs.columns.ExactCharField(max_length=255, primary_key=True, serialize=False)),
                ("since", models.BigIntegerField()),
                ("reason", asyncjobs.columns.ExactTextField()),
                ("until", models.BigIntegerField(null=True)),
            ],
            options={
                "db_table": "asyncjobs_pause",
            },
        ),
        migrations.CreateModel(
            name="LimitRecord",
            fields=[
                ("queue", asyncjobs.columns.ExactCharField(max_length=255, primary_key=True, serialize=False)),
                ("most", models.BigIntegerField()),
            ],
            options={
                "db_table": "asyncjobs_limit",
            },
        ),
        migrations.CreateModel(
            name="TagRecord",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tag", "created_at", "seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("tag", asyncjobs.columns.ExactCharField(max_length=255)),
                ("created_at", models.BigIntegerField()),
                ("seq", models.BigIntegerField()),
            ],
            options={
                "db_table": "asyncjobs_tag",
            },
        ),
        migrations.CreateModel(
            name="TallyRecord",
            fields=[
                ("seq", models.BigAutoField(primary_key=True, serialize=False)),
                ("amount", models.BigIntegerField()),
                ("ended", models.BigIntegerField()),
                ("at", models.BigIntegerField()),
                ("status", models.SmallIntegerField()),
                ("queue", asyncjobs.columns.ExactCharField(max_length=255)),
            ],
            options={
                "db_table": "asyncjobs_tally",
            },
        ),
        migrations.CreateModel(
            name="WorkerRecord",
            fields=[
                ("worker", asyncjobs.columns.ExactCharField(max_length=255, primary_key=True, serialize=False)),
                ("beat_at", models.BigIntegerField()),
                ("about", asyncjobs.columns.ExactTextField()),
            ],
            options={
                "db_table": "asyncjobs_worker",
            },
        ),
        migrations.CreateModel(
            name="JobRecord",
            fields=[
                ("seq", models.BigAutoField(primary_key=True, serialize=False)),
                ("position", models.BigIntegerField()),
                ("version", models.BigIntegerField()),
                ("created_at", models.BigIntegerField()),
                ("updated_at", models.BigIntegerField()),
                ("due_at", models.BigIntegerField(null=True)),
                ("started_at", models.BigIntegerField(null=True)),
                ("completed_at", models.BigIntegerField(null=True)),
                ("claimed_until", models.BigIntegerField(null=True)),
                ("timeout_ms", models.BigIntegerField(null=True)),
                ("unique_until", models.BigIntegerField(null=True)),
                ("cancel_requested", models.BigIntegerField(null=True)),
                ("retry_count", models.IntegerField()),
                ("max_retries", models.IntegerField()),
                ("attempt", models.IntegerField()),
                ("crashes", models.IntegerField()),
                ("lapses", models.IntegerField()),
                ("status", models.SmallIntegerField()),
                ("priority", models.SmallIntegerField()),
                ("id", asyncjobs.columns.ExactCharField(max_length=36)),
                ("queue", asyncjobs.columns.ExactCharField(max_length=255)),
                ("name", asyncjobs.columns.ExactCharField(max_length=255)),
                ("worker", asyncjobs.columns.ExactCharField(max_length=255, null=True)),
                ("owner", asyncjobs.columns.ExactCharField(max_length=255, null=True)),
                ("workflow_id", asyncjobs.columns.ExactCharField(max_length=255, null=True)),
                ("unique_key", asyncjobs.columns.ExactCharField(max_length=255, null=True)),
                ("unique_held", asyncjobs.columns.ExactCharField(max_length=255, null=True)),
                ("unique_while", asyncjobs.columns.ExactCharField(max_length=7)),
                ("payload", asyncjobs.columns.ExactTextField()),
                ("result", asyncjobs.columns.ExactTextField(null=True)),
                ("error", asyncjobs.columns.ExactTextField(null=True)),
                ("headers", asyncjobs.columns.ExactTextField(null=True)),
                ("route_params", asyncjobs.columns.ExactTextField(null=True)),
                ("query_params", asyncjobs.columns.ExactTextField(null=True)),
                ("retry", asyncjobs.columns.ExactTextField(null=True)),
                ("tags", asyncjobs.columns.ExactTextField(null=True)),
                ("progress", asyncjobs.columns.ExactTextField(null=True)),
            ],
            options={
                "db_table": "asyncjobs_job",
                "indexes": [
                    asyncjobs.columns.PartialUnique(
                        fields=["unique_held"], name="asyncjobs_job_held", only=models.Q(("unique_held__isnull", False))
                    ),
                    asyncjobs.columns.PartialIndex(
                        fields=["status", "queue", "-priority", "position", "seq"],
                        name="asyncjobs_job_claim",
                        only=models.Q(("status", 100)),
                    ),
                    models.Index(fields=["queue", "status", "position", "seq"], name="asyncjobs_job_place"),
                    models.Index(fields=["status", "position", "seq"], name="asyncjobs_job_status"),
                    models.Index(fields=["created_at", "seq"], name="asyncjobs_job_created"),
                    models.Index(fields=["name", "created_at", "seq"], name="asyncjobs_job_name"),
                    asyncjobs.columns.PartialIndex(
                        fields=["owner", "created_at", "seq"],
                        name="asyncjobs_job_owner",
                        only=models.Q(("owner__isnull", False)),
                    ),
                ],
                "constraints": [models.UniqueConstraint(fields=("id",), name="asyncjobs_job_id")],
            },
        ),
    ]
