"""Who paused a queue."""

from typing import ClassVar

from django.db import migrations

import asyncjobs.columns


class Migration(migrations.Migration):
    dependencies: ClassVar = [("asyncjobs", "0007_trash")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="pauserecord",
            name="paused_by",
            field=asyncjobs.columns.ExactCharField(max_length=255, null=True),
        ),
    ]
