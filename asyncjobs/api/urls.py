"""The addresses of the API: `path("api/jobs/", include("asyncjobs.api.urls"))`."""

from django.urls import path
from django.urls.resolvers import RoutePattern

from asyncjobs.api.places import NAMESPACE
from asyncjobs.api.views.acts import Cancel, Retry
from asyncjobs.api.views.health import Health
from asyncjobs.api.views.job import Events, Log, OneJob, Result
from asyncjobs.api.views.staff import Handlers, OneHandler, PauseQueue, Queues, ResumeQueue, Workers
from asyncjobs.api.views.submit import Batch, Jobs
from asyncjobs.api.waiting import WaitingPattern

app_name = NAMESPACE
urlpatterns = [
    path("", Jobs.as_view(), name="jobs"),
    path("batch/", Batch.as_view(), name="batch"),
    path("health/", Health.as_view(), name="health"),
    path("queues/", Queues.as_view(), name="queues"),
    path("queues/<str:name>/pause/", PauseQueue.as_view(), name="pause"),
    path("queues/<str:name>/resume/", ResumeQueue.as_view(), name="resume"),
    path("workers/", Workers.as_view(), name="workers"),
    path("handlers/", Handlers.as_view(), name="handlers"),
    path("handlers/<path:name>/", OneHandler.as_view(), name="handler"),
    WaitingPattern(RoutePattern("<str:job_id>/", name="job", is_endpoint=True), OneJob.as_view(), name="job"),
    path("<str:job_id>/events/", Events.as_view(), name="events"),
    path("<str:job_id>/result/", Result.as_view(), name="result"),
    path("<str:job_id>/log/", Log.as_view(), name="log"),
    path("<str:job_id>/cancel/", Cancel.as_view(), name="cancel"),
    path("<str:job_id>/retry/", Retry.as_view(), name="retry"),
]
