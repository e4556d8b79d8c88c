"""Sleeping until something can be read."""

import select


def readable(*files: int | None, timeout: float) -> set[int]:
    """Those of these file descriptors that can be read; none of them after `timeout` milliseconds.

    `poll`, because `select` knows no descriptor above 1,023.
    """
    poller = select.poll()
    for file in files:
        if file is not None:
            poller.register(file, select.POLLIN)
    return {file for file, _ in poller.poll(max(0, timeout))}
