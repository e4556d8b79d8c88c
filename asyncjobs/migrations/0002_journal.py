"""The journals of jobs, and their soft timeout."""

from typing import ClassVar

from django.db import migrations, models

import asyncjobs.columns


class Migration(migrations.Migration):
    dependencies: ClassVar = [("asyncjobs", "0001_initial")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="EntryRecord",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "seq", "kind", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("seq", models.BigIntegerField()),
                ("number", models.BigIntegerField()),
                ("at", models.BigIntegerField()),
                ("kind", asyncjobs.columns.ExactCharField(max_length=7)),
                ("text", asyncjobs.columns.ExactTextField()),
            ],
            options={
                "db_table": "asyncjobs_entry",
            },
        ),
        migrations.AddField(
            model_name="jobrecord",
            name="soft_timeout_ms",
            field=models.BigIntegerField(null=True),
        ),
    ]
