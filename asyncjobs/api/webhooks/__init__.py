"""Webhooks: a job that was submitted with a `callback_url` has a companion that tells its receiver how it ended."""

from asyncjobs.api.webhooks.callbacks import CALLBACK as CALLBACK
from asyncjobs.api.webhooks.callbacks import callback_of as callback_of
from asyncjobs.api.webhooks.callbacks import check_callback as check_callback
from asyncjobs.api.webhooks.delivering import delivery_of as delivery_of
from asyncjobs.api.webhooks.ringing import again as again
from asyncjobs.api.webhooks.ringing import ring as ring
