"""The tables of the ORM store. Times are integer milliseconds since 1970, by the database's clock.

The store reads and writes them with SQL of its own (`asyncjobs.stores.orm`); write to them through the store alone,
for every change goes with a version, a position and a row of tally.
"""

from typing import ClassVar

from django.db import models

from asyncjobs.columns import ExactCharField, ExactTextField, PartialIndex, PartialUnique
from asyncjobs.domain.job import JobStatus

LONGEST = 255


class JobColumns(models.Model):
    """The fields of `domain.job.Job` by their names, and where the job stands among the others of its status."""

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
    unique_while = ExactCharField(max_length=7)
    payload = ExactTextField()
    result = ExactTextField(null=True)
    error = ExactTextField(null=True)
    fault = ExactCharField(max_length=16, null=True)
    headers = ExactTextField(null=True)
    route_params = ExactTextField(null=True)
    query_params = ExactTextField(null=True)
    retry = ExactTextField(null=True)
    tags = ExactTextField(null=True)
    progress = ExactTextField(null=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.name} {self.id}"


class JobRecord(JobColumns):
    """One job."""

    seq = models.BigAutoField(primary_key=True)  # the order of insertion
    unique_held = ExactCharField(max_length=LONGEST, null=True)  # unique_key while this job holds it

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
            PartialIndex(
                fields=["fault", "position", "seq"],
                name="asyncjobs_job_fault",
                only=models.Q(fault__isnull=False),
            ),
        ]


class RestingRecord(JobColumns):
    """One removed job that rests in the trash, as it was."""

    seq = models.BigIntegerField(primary_key=True)  # its own, so that its journal stays its own
    deleted_at = models.BigIntegerField()
    rests_until = models.BigIntegerField()

    class Meta:
        db_table = "asyncjobs_trash"
        constraints: ClassVar = [models.UniqueConstraint(fields=["id"], name="asyncjobs_trash_id")]
        indexes: ClassVar = [models.Index(fields=["rests_until", "seq"], name="asyncjobs_trash_until")]


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


class FaultRecord(models.Model):
    """What one batch of changes added to, or took from, the dead jobs of a fault that failed on one day."""

    seq = models.BigAutoField(primary_key=True)
    amount = models.BigIntegerField()
    day = models.BigIntegerField()  # its first millisecond; 0 for all days that are long past
    fault = ExactCharField(max_length=16)

    class Meta:
        db_table = "asyncjobs_fault"

    def __str__(self) -> str:
        return f"{self.fault} {self.amount:+d}"


class PauseRecord(models.Model):
    """A queue whose claims are stopped."""

    queue = ExactCharField(max_length=LONGEST, primary_key=True)
    since = models.BigIntegerField()
    reason = ExactTextField()
    until = models.BigIntegerField(null=True)
    paused_by = ExactCharField(max_length=LONGEST, null=True)

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
    """What a worker last said of itself, and what was ordered of it."""

    worker = ExactCharField(max_length=LONGEST, primary_key=True)
    beat_at = models.BigIntegerField()
    about = ExactTextField()
    ordered = ExactCharField(max_length=20, null=True)  # of it, by whoever may: WorkerRecord.order of the store

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


class ReceiptRecord(models.Model):
    """What was answered to a request: see `stores.base.Receipt`."""

    id = ExactCharField(max_length=64, primary_key=True)  # Receipt.key
    until = models.BigIntegerField()
    fingerprint = ExactCharField(max_length=64)
    text = ExactTextField()
    twins = ExactTextField()

    class Meta:
        db_table = "asyncjobs_receipt"
        indexes: ClassVar = [models.Index(fields=["until"], name="asyncjobs_receipt_until")]

    def __str__(self) -> str:
        return f"{self.id} {self.until}"


class GoneRecord(models.Model):
    """What is left of a job that had an owner and was removed."""

    id = ExactCharField(max_length=36, primary_key=True)  # the job's
    at = models.BigIntegerField()
    owner = ExactCharField(max_length=LONGEST)

    class Meta:
        db_table = "asyncjobs_gone"
        indexes: ClassVar = [models.Index(fields=["at"], name="asyncjobs_gone_at")]

    def __str__(self) -> str:
        return f"{self.id} {self.owner}"


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


class Dashboard(models.Model):
    """No table: what the permissions of the HTTP API and of the dashboard hang on."""

    class Meta:
        managed = False
        default_permissions = ()
        verbose_name = verbose_name_plural = "dashboard"
        permissions: ClassVar = [
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
        ]

    def __str__(self) -> str:
        return "dashboard"
