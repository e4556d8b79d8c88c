"""What failures have in common, and how many there are of each."""

from typing import ClassVar

from django.db import migrations, models

import asyncjobs.columns


class Migration(migrations.Migration):
    dependencies: ClassVar = [("asyncjobs", "0005_orders")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="FaultRecord",
            fields=[
                ("seq", models.BigAutoField(primary_key=True, serialize=False)),
                ("amount", models.BigIntegerField()),
                ("day", models.BigIntegerField()),
                ("fault", asyncjobs.columns.ExactCharField(max_length=16)),
            ],
            options={
                "db_table": "asyncjobs_fault",
            },
        ),
        migrations.AddField(
            model_name="jobrecord",
            name="fault",
            field=asyncjobs.columns.ExactCharField(max_length=16, null=True),
        ),
        migrations.AddIndex(
            model_name="jobrecord",
            index=asyncjobs.columns.PartialIndex(
                fields=["fault", "position", "seq"],
                name="asyncjobs_job_fault",
                only=models.Q(("fault__isnull", False)),
            ),
        ),
    ]
