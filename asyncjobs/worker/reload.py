"""Whether the code of this process has changed on disk."""

import os
from collections.abc import Iterator

from django.utils.autoreload import iter_all_python_module_files


class Sources:
    """The modules imported so far, as they were when first seen."""

    def __init__(self) -> None:
        self._stamps = dict(_stamps())

    def have_changed(self) -> bool:
        now = dict(_stamps())
        changed = any(self._stamps.get(path, stamp) != stamp for path, stamp in now.items())
        self._stamps = {**now, **self._stamps}
        return changed


def _stamps() -> Iterator[tuple[str, int]]:
    for path in iter_all_python_module_files():
        try:
            yield str(path), os.stat(path).st_mtime_ns
        except OSError:
            continue
