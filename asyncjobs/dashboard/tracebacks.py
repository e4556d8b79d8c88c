"""Tracebacks, parted into what the site wrote and what it merely uses."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

import asyncjobs

_FRAME: Final = re.compile(r'\s*(?:[|+-] ?)*\s*File "(?P<path>[^"\n]*)", line \d+')
_PART_OF_FRAME: Final = re.compile(r"(?:\s*\| )?(?: {4}|\t)|\s*\[Previous line repeated ")
_FOREIGN: Final = re.compile(
    r"[\\/](?:site|dist)-packages[\\/]|[\\/]lib(?:32|64)?[\\/]python\d|[\\/]Lib[\\/]|^<frozen "
)
_OURS: Final = str(Path(asyncjobs.__file__).parent)


class Stretch(NamedTuple):
    """Lines that belong together. `frames` counts those of libraries in it, which may be folded; 0: not to be."""

    text: str
    frames: int


class _Piece(NamedTuple):
    """A frame with its lines of code, or a line that is of no frame."""

    lines: list[str]
    is_foreign: bool


def stretches(text: str) -> list[Stretch]:
    """The lines of the text, in order and complete. Where all frames are of libraries, none is folded."""
    pieces = list(_pieces(text.removesuffix("\n").split("\n"))) if text else []
    has_own = any(_is_own_frame(piece) for piece in pieces)
    groups = groupby(pieces, key=lambda piece: has_own and piece.is_foreign)
    return [_stretch(list(group), folds=folds) for folds, group in groups]


def _stretch(pieces: list[_Piece], *, folds: bool) -> Stretch:
    return Stretch("\n".join(line for piece in pieces for line in piece.lines), len(pieces) if folds else 0)


def _pieces(lines: Iterable[str]) -> Iterator[_Piece]:
    frame: _Piece | None = None
    for line in lines:
        if match := _FRAME.match(line):
            if frame:
                yield frame
            frame = _Piece([line], _is_foreign(match["path"]))
        elif frame and _PART_OF_FRAME.match(line):
            frame.lines.append(line)
        else:
            if frame:
                yield frame
            frame = None
            yield _Piece([line], is_foreign=False)
    if frame:
        yield frame


def _is_own_frame(piece: _Piece) -> bool:
    return not piece.is_foreign and _FRAME.match(piece.lines[0]) is not None


def _is_foreign(path: str) -> bool:
    """Of a library, of Python itself, or of this package."""
    return _FOREIGN.search(path) is not None or path.startswith(_OURS)
