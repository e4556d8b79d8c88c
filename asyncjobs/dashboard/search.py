"""What people type to find jobs: `queue:mail -status:failed error:timeout created:<2h send`.

Nothing that is typed is an error. What is not understood is left out, and said.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

from django.utils.translation import gettext as _

from asyncjobs.dashboard.terms import FIELDS, Known, Meaning, Unclear, is_retrying, part_of_name
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import InvalidJobId
from asyncjobs.ids import job_id_of
from asyncjobs.stores.base import Query

LONGEST: Final = 300  # characters of a search that are read
MOST: Final = 20  # terms
TYPED: Final = "q"  # the parameter of what is typed
CHOICES: Final = ("status", "queue", "name")  # what can be chosen beside it

_TERM: Final = re.compile(r'(?P<minus>-?)(?:(?P<field>[a-z_]+):)?(?:"(?P<quoted>[^"]*)"?|(?P<plain>\S+))', re.I)
_UNFIT: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_NARROWER: Final[Mapping[str, Callable[[Any, Any], Any]]] = {"created_from": max, "created_to": min}


class Term(NamedTuple):
    """One condition, as it was typed or chosen."""

    field: str
    text: str
    meaning: Meaning
    param: str = TYPED  # where it came from
    is_negated: bool = False

    def fits(self, job: Job) -> bool:
        return self.meaning.fits(job) is not self.is_negated


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """All conditions of a search, and what was not understood."""

    terms: tuple[Term, ...] = ()
    unclear: tuple[str, ...] = ()

    def fits(self, job: Job) -> bool:
        return all(term.fits(job) for term in self.terms)

    @property
    def query(self) -> Query:
        """The narrowest query that finds every job of the search, and maybe others."""
        wanted: dict[str, Any] = {}
        for term in self._plain_terms():
            for name, value in term.meaning.looked_up.items():
                # Of two values of another field, which no job has, it does not matter which one is looked up.
                narrower = _NARROWER.get(name, _first)
                wanted[name] = narrower(wanted.get(name, value), value)
        return Query(**wanted)

    @property
    def job_ids(self) -> list[str]:
        """The jobs it names by their ids, if it does: then there is nothing to look for."""
        return [term.meaning.job_id for term in self._plain_terms() if term.meaning.job_id]

    @property
    def is_counted(self) -> bool:
        """Whether the store counts the jobs that fit: those of a queue and a status, or of either."""
        fields = [term.field for term in self.terms]
        return all(map(_is_counted, self.terms)) and len(fields) == len(set(fields))

    @property
    def one_fault(self) -> str | None:
        """The fault whose dead jobs are all that it finds, and all of which it finds."""
        fields = sorted("-" * term.is_negated + term.field for term in self.terms)
        is_all = fields in (["fault"], ["fault", "status"]) and self.query.status == JobStatus.FAILED
        return self.query.fault if is_all else None

    def text_without(self, *dropped: Term) -> str:
        """What was typed, but for these terms."""
        return " ".join(term.text for term in self.terms if term.param == TYPED and term not in dropped)

    def _plain_terms(self) -> Iterator[Term]:
        return (term for term in self.terms if not term.is_negated)


def read_search(text: str, known: Known, chosen: Mapping[str, str] | None = None) -> Search:
    """The search in this text, together with what was `chosen` by field."""
    terms, unclear = [], []
    for build in (*_chosen(chosen or {}, known), *_typed(text, known)):
        try:
            terms.append(build())
        except Unclear as reason:
            unclear.append(str(reason))
    if _UNFIT.search(text[:LONGEST]):
        unclear.append(_("There are control characters in this search: they are read as spaces."))
    if len(text) > LONGEST or len(terms) > MOST:
        unclear.append(_("This is a long search: only its beginning is used."))
    return Search(terms=tuple(terms[:MOST]), unclear=tuple(unclear[:MOST]))


def term_text(name: str, value: str) -> str:
    """The term as one would type it."""
    return f'{name}:"{value}"' if re.search(r"\s", value) else f"{name}:{value}"


def _chosen(chosen: Mapping[str, str], known: Known) -> Iterator[Callable[[], Term]]:
    return (partial(_choice, name, value, known) for name, value in chosen.items() if value)


def _choice(name: str, value: str, known: Known) -> Term:
    """As it is, or not at all: what is cut or changed would be another queue, or another handler."""
    if len(value) > LONGEST or _UNFIT.search(value):
        raise Unclear(_("What was chosen as “%(name)s:” is too long, or has control characters.") % {"name": name})
    return _term(name, value, known, text=term_text(name, value), param=name)


def _typed(text: str, known: Known) -> Iterator[Callable[[], Term]]:
    for match in _TERM.finditer(_UNFIT.sub(" ", text[:LONGEST])):
        is_open = match["quoted"] is not None and not match[0].endswith('"')
        value = match["plain"] if match["quoted"] is None else match["quoted"]
        read: Callable[..., Term] = partial(_term, match["field"].lower()) if match["field"] else _word
        yield partial(read, value, known, text=match[0] + '"' * is_open, is_negated=bool(match["minus"]))


def _term(name: str, value: str, known: Known, *, text: str, param: str = TYPED, is_negated: bool = False) -> Term:
    if name not in FIELDS:
        facts = {"name": name, "offer": ", ".join(f"{field}:" for field in FIELDS)}
        raise Unclear(_("There is nothing called “%(name)s:” to search by; there are %(offer)s") % facts)
    if not value:
        raise Unclear(_("“%(name)s:” has no value.") % {"name": name})
    return Term(name, text, FIELDS[name](value, known), param, is_negated)


def _word(value: str, known: Known, *, text: str, is_negated: bool) -> Term:
    """A word alone is part of a name; an id is an id."""
    if not value or (value.endswith(":") and value[:-1].lower() in FIELDS):
        raise Unclear(_("“%(text)s” has no value.") % {"text": text})
    try:
        return Term("id", text, FIELDS["id"](job_id_of(value), known), is_negated=is_negated)
    except InvalidJobId:
        return Term("word", text, part_of_name(value), is_negated=is_negated)


def _is_counted(term: Term) -> bool:
    return term.field in ("queue", "status") and not term.is_negated and term.meaning.fits is not is_retrying


def _first(before: Any, value: Any) -> Any:
    return before
