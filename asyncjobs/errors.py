"""Everything asyncjobs raises on purpose. Each error has a stable code, a message for people, and the job's id."""

from typing import ClassVar


class AsyncJobsError(Exception):
    """Base of all errors raised by asyncjobs."""

    code: ClassVar[str] = "ASYNCJOBS_ERROR"

    def __init__(self, message: str, *, job_id: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.job_id = job_id

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}"


class InvalidJob(AsyncJobsError):
    """The job cannot be stored as given: a bad name, queue, priority, payload or option."""

    code = "INVALID_JOB"


class InvalidJobId(AsyncJobsError):
    """The id is not a GUID."""

    code = "INVALID_JOB_ID"


class InvalidQuery(AsyncJobsError):
    """No page of jobs can be found so: its size is out of bounds, or a filter is none."""

    code = "INVALID_QUERY"


class InvalidArguments(AsyncJobsError):
    """The arguments do not fit the handler's signature, or do not survive JSON."""

    code = "INVALID_ARGUMENTS"


class InvalidResult(AsyncJobsError):
    """What the handler returned does not survive JSON."""

    code = "INVALID_RESULT"


class PayloadTooLarge(AsyncJobsError):
    """The payload or the result is larger than the configured bound."""

    code = "PAYLOAD_TOO_LARGE"


class JobCreateFailed(AsyncJobsError):
    """The store holds another job under this id. Ours answer that one instead."""

    code = "JOB_CREATE_FAILED"


class JobNotFound(AsyncJobsError):
    """No job has this id."""

    code = "JOB_NOT_FOUND"


class DuplicateJob(AsyncJobsError):
    """A live job holds the same unique key; `job_id` is that twin's id."""

    code = "DUPLICATE_JOB"


class QueueFull(AsyncJobsError):
    """The queue's depth limit is reached; nothing was stored."""

    code = "QUEUE_FULL"


class StoreError(AsyncJobsError):
    """The store refused or failed; nothing is known to be written, and repeating the call is safe."""

    code = "JOB_STORE_ERROR"


class StoreUnavailable(StoreError):
    """The store cannot be reached right now."""

    code = "STORE_UNAVAILABLE"


class StoreOutOfMemory(StoreError):
    """The server is at its memory limit and takes no new jobs; finished ones are still recorded."""

    code = "STORE_OUT_OF_MEMORY"


class DeserializationError(AsyncJobsError):
    """Something stored cannot be read back."""

    code = "DESERIALIZATION_ERROR"


class JobNotClaimed(AsyncJobsError):
    """The job could not be taken. Our stores answer no jobs instead."""

    code = "JOB_NOT_CLAIMED"


class JobClaimError(StoreError):
    """The store failed while claiming; what it leased is handed back by `held`."""

    code = "JOB_CLAIM_ERROR"


class LeaseLost(AsyncJobsError):
    """Another version of the job exists: this holder may no longer write."""

    code = "LEASE_LOST"


class InvalidTransition(AsyncJobsError):
    """The job's status does not allow this change."""

    code = "INVALID_TRANSITION"


class WrongStatus(InvalidTransition):
    """The job is not waiting to be run."""

    code = "WRONG_STATUS"


class AlreadyAssigned(InvalidTransition):
    """Another worker holds the job."""

    code = "ALREADY_ASSIGNED"


class RetryDelay(InvalidTransition):
    """The job is not due yet."""

    code = "RETRY_DELAY"


class UnknownHandler(AsyncJobsError):
    """No handler is registered under this name."""

    code = "UNKNOWN_HANDLER"


class DuplicateHandler(AsyncJobsError):
    """Two functions claim the same job name."""

    code = "DUPLICATE_HANDLER"


class JobFailed(AsyncJobsError):
    """The job whose result was asked for ended without one: failed or canceled."""

    code = "JOB_FAILED"


class ResultTimeout(AsyncJobsError):
    """The job did not finish within the time given."""

    code = "RESULT_TIMEOUT"


class JobTimeout(AsyncJobsError):
    """A run took longer than its handler may."""

    code = "TIMEOUT"


class WebhookFailed(AsyncJobsError):
    """A receiver was not told how a job ended; this is tried again."""

    code = "WEBHOOK_FAILED"


class WebhookRefused(WebhookFailed):
    """A receiver is not to be told: it wants no more, or webhooks may not go there."""

    code = "WEBHOOK_REFUSED"


class EndpointRefused(AsyncJobsError):
    """The view answered a request with a status of 400 to 499: doing it again would not help."""

    code = "ENDPOINT_REFUSED"


class EndpointFailed(AsyncJobsError):
    """The view answered a request with a status of 500 or above."""

    code = "ENDPOINT_FAILED"


class UserGone(AsyncJobsError):
    """The user for whom the job would run is not there any more, or not active."""

    code = "USER_GONE"
