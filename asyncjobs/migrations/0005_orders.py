"""Orders to workers."""

from typing import ClassVar

from django.db import migrations

import asyncjobs.columns


class Migration(migrations.Migration):
    dependencies: ClassVar = [("asyncjobs", "0004_receipts")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="workerrecord",
            name="ordered",
            field=asyncjobs.columns.ExactCharField(max_length=20, null=True),
        ),
    ]
