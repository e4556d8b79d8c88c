"""Runs `manage.py jobs` in this process."""

import io
import json
from dataclasses import dataclass
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError


@dataclass
class Ran:
    """What a command wrote, and how it exited."""

    out: str
    err: str
    code: int

    @property
    def document(self) -> Any:
        assert self.out.isascii()
        assert self.out.count("\n") == 1
        return json.loads(self.out)


def jobs(*args: str) -> Ran:
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("jobs", *args, stdout=out, stderr=err, no_color=True)
    except CommandError as error:
        return Ran(out.getvalue(), f"{err.getvalue()}{error}", error.returncode)
    except SystemExit as exit:
        assert isinstance(exit.code, int)
        return Ran(out.getvalue(), err.getvalue(), exit.code)
    return Ran(out.getvalue(), err.getvalue(), 0)
