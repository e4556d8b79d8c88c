"""The trash, in which removed jobs rest for a while."""

from typing import ClassVar

from django.db import migrations, models

import asyncjobs.columns


class Migration(migrations.Migration):
    dependencies: ClassVar = [("asyncjobs", "0006_faults")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="RestingRecord",
            fields=[
                ("position", models.BigIntegerField()),
                ("version", models.BigIntegerField()),
                ("created_at", models.BigIntegerField()),
                ("updated_at", models.BigIntegerField()),
                ("due_at", models.BigIntegerField(null=True)),
                ("started_at", models.BigIntegerField(null=True)),
                ("completed_at", models.BigIntegerField(null=True)),
                ("claimed_until", models.BigIntegerField(null=True)),
                ("timeout_ms", models.BigIntegerField(null=True)),
                ("soft_timeout_ms", models.BigIntegerField(null=True)),
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
                ("unique_while", asyncjobs.columns.ExactCharField(max_length=7)),
                ("payload", asyncjobs.columns.ExactTextField()),
                ("result", asyncjobs.columns.ExactTextField(null=True)),
                ("error", asyncjobs.columns.ExactTextField(null=True)),
                ("headers", asyncjobs.columns.ExactTextField(null=True)),
                ("route_params", asyncjobs.columns.ExactTextField(null=True)),
                ("query_params", asyncjobs.columns.ExactTextField(null=True)),
                ("retry", asyncjobs.columns.ExactTextField(null=True)),
                ("fault", asyncjobs.columns.ExactCharField(max_length=16, null=True)),
                ("tags", asyncjobs.columns.ExactTextField(null=True)),
                ("progress", asyncjobs.columns.ExactTextField(null=True)),
                ("seq", models.BigIntegerField(primary_key=True, serialize=False)),
                ("deleted_at", models.BigIntegerField()),
                ("rests_until", models.BigIntegerField()),
            ],
            options={
                "db_table": "asyncjobs_trash",
                "indexes": [models.Index(fields=["rests_until", "seq"], name="asyncjobs_trash_until")],
                "constraints": [models.UniqueConstraint(fields=("id",), name="asyncjobs_trash_id")],
            },
        ),
    ]
