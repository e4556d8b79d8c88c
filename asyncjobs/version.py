"""Which asyncjobs this is."""

from functools import cache
from importlib import metadata


@cache
def own_version() -> str:
    try:
        return metadata.version("django-asyncjobs")
    except metadata.PackageNotFoundError:
        return "(not installed)"
