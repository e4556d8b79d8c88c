"""The tables of the ORM store. Times are integer milliseconds since 1970, by the database's clock.

The store reads and writes them with SQL of its own (`asyncjobs.stores.orm`); write to them through the store alone,
for every change goes with a version, a position and a row of tally.
"""

from typing import ClassVar

from django.db import models

from asyncjobs.columns import ExactCharField, ExactTextField, PartialIndex, PartialUnique
from asyncjobs.domain.job import JobStatus

LONGEST = 255


class JobRecord(models.Model):
    """One job: the fields of `domain.job.Job` by their names, and where it stands among the others."""

    seq = models.BigAutoField(primary_key=True)  # the order of insertion
    position = models.BigIntegerField()  # Job.score
    version = models.BigIntegerField()
    created_at = models.BigIntegerField()
    updated_at = models.BigIntegerField()
    due_at = models.BigIntegerField(null=True)
    started_at = models.BigIntegerField(null=True)
    completed_at = models.BigIntegerField(null=True)
    claimed_until = models.BigIntegerField(null=True)
    timeout_ms = models.BigIntegerField(null=True)
    soft_timeout_ms = models.BigIntegerField(null=True)
    unique_until = models.BigIntegerField(null=True)
    cancel_requested = models.BigIntegerField(null=True)
    retry_count = models.IntegerField()
    max_retries = models.IntegerField()
    attempt = models.IntegerField()
    crashes = models.IntegerField()
    lapses = models.IntegerField()
    status = models.SmallIntegerField()
    priority = models.SmallIntegerField()
    id = ExactCharField(max_length=36)
    queue = ExactCharField(max_length=LONGEST)
    name = ExactCharField(max_length=LONGEST)
    worker = ExactCharField(max_length=LONGEST, null=True)
    owner = ExactCharField(max_length=LONGEST, null=True)
    workflow_id = ExactCharField(max_length=LONGEST, null=True)
    unique_key = ExactCharField(max_length=LONGEST, null=True)
    unique_held = ExactCharField(max_length=LONGEST, null=True)  # unique_key while this job holds it
    unique_while = ExactCharField(max_length=7)
    payload = ExactTextField()
    result = ExactTextField(null=True)
    error = ExactTextField(null=True)
    headers = ExactTextField(null=True)
    route_params = ExactTextField(null=True)
    query_params = ExactTextField(null=True)
    retry = ExactTextField(null=True)
    tags = ExactTextField(null=True)
    progress = ExactTextField(null=True)

    class Meta:
        db_table = "asyncjobs_job"
        constraints: ClassVar = [models.UniqueConstraint(fields=["id"], name="asyncjobs_job_id")]
        indexes: ClassVar = [
            PartialUnique(fields=["unique_held"], name="asyncjobs_job_held", only=models.Q(unique_held__isnull=False)),
            PartialIndex(
                fields=["status", "queue", "-priority", "position", "seq"],
                name="asyncjobs_job_claim",
                only=models.Q(status=JobStatus.QUEUED.value),
            ),
            models.Index(fields=["queue", "status", "position", "seq"], name="asyncjobs_job_place"),
            models.Index(fields=["status", "position", "seq"], name="asyncjobs_job_status"),
            models.Index(fields=["created_at", "seq"], name="asyncjobs_job_created"),
            models.Index(fields=["name", "created_at", "seq"], name="asyncjobs_job_name"),
            PartialIndex(
                fields=["owner", "created_at", "seq"],
                name="asyncjobs_job_owner",
                only=models.Q(owner__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.id}"


class TagRecord(models.Model):
    """One tag of one job."""

    pk = models.CompositePrimaryKey("tag", "created_at", "seq")
    tag = ExactCharField(max_length=LONGEST)
    created_at = models.BigIntegerField()  # the job's
    seq = models.BigIntegerField()  # the job's

    class Meta:
        db_table = "asyncjobs_tag"

    def __str__(self) -> str:
        return f"{self.tag} {self.seq}"


class EntryRecord(models.Model):
    """One entry of a job's journal."""

    pk = models.CompositePrimaryKey("seq", "kind", "number")
    seq = models.BigIntegerField()  # the job's
    number = models.BigIntegerField()
    at = models.BigIntegerField()
    kind = ExactCharField(max_length=7)
    text = ExactTextField()

    class Meta:
        db_table = "asyncjobs_entry"

    def __str__(self) -> str:
        return f"{self.seq} {self.kind} {self.number}"


class TallyRecord(models.Model):
    """What one batch of changes added to, or took from, the jobs a queue has in a status."""

    seq = models.BigAutoField(primary_key=True)
    amount = models.BigIntegerField()
    ended = models.BigIntegerField()  # how many of them ended then
    at = models.BigIntegerField()  # the first millisecond of that minute
    status = models.SmallIntegerField()
    queue = ExactCharField(max_length=LONGEST)

    class Meta:
        db_table = "asyncjobs_tally"

    def __str__(self) -> str:
        return f"{self.queue} {self.status} {self.amount:+d}"


class MinuteRecord(models.Model):
    """How many jobs of a queue ended in one minute, as far as the tally has been folded."""

    pk = models.CompositePrimaryKey("at", "queue", "status")
    at = models.BigIntegerField()
    ended = models.BigIntegerField()
    status = models.SmallIntegerField()
    queue = ExactCharField(max_length=LONGEST)

    class Meta:
        db_table = "asyncjobs_minute"

    def __str__(self) -> str:
        return f"{self.queue} {self.status} {self.ended}"


class PauseRecord(models.Model):
    """A queue whose claims are stopped."""

    queue = ExactCharField(max_length=LONGEST, primary_key=True)
    since = models.BigIntegerField()
    reason = ExactTextField()
    until = models.BigIntegerField(null=True)

    class Meta:
        db_table = "asyncjobs_pause"

    def __str__(self) -> str:
        return f"{self.queue}: {self.reason}"


class LimitRecord(models.Model):
    """How many unstarted jobs a queue takes. Those who add to it wait for each other at this row."""

    queue = ExactCharField(max_length=LONGEST, primary_key=True)
    most = models.BigIntegerField()

    class Meta:
        db_table = "asyncjobs_limit"

    def __str__(self) -> str:
        return f"{self.queue} {self.most}"


class WorkerRecord(models.Model):
    """What a worker last said of itself."""

    worker = ExactCharField(max_length=LONGEST, primary_key=True)
    beat_at = models.BigIntegerField()
    about = ExactTextField()

    class Meta:
        db_table = "asyncjobs_worker"

    def __str__(self) -> str:
        return f"{self.worker} {self.beat_at}"


class TurnRecord(models.Model):
    """Until when nobody gets another turn: see `Store.turn`."""

    name = ExactCharField(max_length=LONGEST, primary_key=True)
    until = models.BigIntegerField()

    class Meta:
        db_table = "asyncjobs_turn"

    def __str__(self) -> str:
        return f"{self.name} {self.until}"


class ClockRecord(models.Model):
    """The one row by which leases are timed: see `domain.lease.LeaseClock`."""

    id = models.SmallIntegerField(primary_key=True)
    last = models.BigIntegerField()
    set_back = models.BigIntegerField()  # LeaseClock.offset
    grace = models.BigIntegerField()

    class Meta:
        db_table = "asyncjobs_clock"

    def __str__(self) -> str:
        return str(self.last)
