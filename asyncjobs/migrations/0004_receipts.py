"""Receipts for requests, what is left of removed jobs, and the permissions of the HTTP API and the dashboard."""

from typing import ClassVar

from django.db import migrations, models

import asyncjobs.columns


class Migration(migrations.Migration):
    dependencies: ClassVar = [("asyncjobs", "0003_turn")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Dashboard",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ],
            options={
                "verbose_name": "dashboard",
                "verbose_name_plural": "dashboard",
                "permissions": [
                    ("view_dashboard", "Can see all jobs"),
                    ("view_payload", "Can see arguments and results"),
                    ("retry_job", "Can retry jobs"),
                    ("cancel_job", "Can cancel jobs"),
                    ("delete_job", "Can delete jobs"),
                    ("submit_job", "Can submit jobs"),
                    ("pause_queue", "Can pause and resume queues"),
                    ("purge_queue", "Can purge queues"),
                    ("control_worker", "Can control workers"),
                    ("edit_schedule", "Can edit schedules"),
                ],
                "managed": False,
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="GoneRecord",
            fields=[
                ("id", asyncjobs.columns.ExactCharField(max_length=36, primary_key=True, serialize=False)),
                ("at", models.BigIntegerField()),
                ("owner", asyncjobs.columns.ExactCharField(max_length=255)),
            ],
            options={
                "db_table": "asyncjobs_gone",
                "indexes": [models.Index(fields=["at"], name="asyncjobs_gone_at")],
            },
        ),
        migrations.CreateModel(
            name="ReceiptRecord",
            fields=[
                ("id", asyncjobs.columns.ExactCharField(max_length=64, primary_key=True, serialize=False)),
                ("until", models.BigIntegerField()),
                ("fingerprint", asyncjobs.columns.ExactCharField(max_length=64)),
                ("text", asyncjobs.columns.ExactTextField()),
                ("twins", asyncjobs.columns.ExactTextField()),
            ],
            options={
                "db_table": "asyncjobs_receipt",
                "indexes": [models.Index(fields=["until"], name="asyncjobs_receipt_until")],
            },
        ),
    ]
