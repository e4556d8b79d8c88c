"""What a browser fetches once beside the first page: our files and htmx, not those of the admin itself."""

import gzip
import re
from pathlib import Path
from typing import Final, NamedTuple

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string

KB: Final = 1_024
LIMIT: Final = 90 * KB
_OURS: Final = re.compile(r'(?:src|href)="/?static/((?:asyncjobs|django_htmx)/[^"]+)"')


class Asset(NamedTuple):
    """A file, its bytes as they are, and as a server that compresses sends them."""

    name: str
    bytes: int
    compressed: int


def assets() -> list[Asset]:
    """Those that the frame of every page names, the sum of them last."""
    found = [_asset(name) for name in _OURS.findall(render_to_string("asyncjobs/base_site.html"))]
    return [*found, Asset("together", sum(asset.bytes for asset in found), sum(asset.compressed for asset in found))]


def _asset(name: str) -> Asset:
    path = finders.find(name)
    assert path, f"{name} is not found"
    content = Path(path).read_bytes()
    return Asset(name.rpartition("/")[2], len(content), len(gzip.compress(content)))
