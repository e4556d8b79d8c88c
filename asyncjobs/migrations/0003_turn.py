"""Turns: what one of many workers does from time to time."""

from typing import ClassVar

from django.db import migrations, models

import asyncjobs.columns


class Migration(migrations.Migration):
    dependencies: ClassVar = [("asyncjobs", "0002_journal")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="TurnRecord",
            fields=[
                ("name", asyncjobs.columns.ExactCharField(max_length=255, primary_key=True, serialize=False)),
                ("until", models.BigIntegerField()),
            ],
            options={
                "db_table": "asyncjobs_turn",
            },
        ),
    ]
