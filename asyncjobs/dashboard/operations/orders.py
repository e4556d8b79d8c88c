"""What an operation is to do: a deed, to jobs as they were at one moment. Nobody can write such an order but we."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Self

from django.core import signing
from django.utils import timezone

from asyncjobs.dashboard.search import Search, read_search, term_text
from asyncjobs.dashboard.terms import Known
from asyncjobs.domain.job import Job, JobStatus
from asyncjobs.errors import InvalidArguments
from asyncjobs.registry import names_of_handlers

UNDO: Final = "undo"

_SALT: Final = "asyncjobs.operation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A deed, the jobs it is to be done to, who wants that, and why.

    The jobs are those of a search, or those named by their ids. Of these belong only the ones that were there, and as
    they are, at the moment the order was `frozen`: what comes later is left alone, and so is what was done already.
    An undo has no jobs of its own: it takes the deed back from those of the operation that it `undoes`.
    """

    deed: str
    frozen: int
    by: str
    reason: str = ""
    typed: str = ""
    chosen: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()  # of the handlers that the search is about, in full
    zone: str = ""  # in which the search's times are read
    ids: tuple[str, ...] = ()
    undoes: str = ""
    expected: int | None = None  # how many jobs there were about

    @classmethod
    def of_search(cls, typed: str, chosen: Mapping[str, str], *, deed: str, frozen: int, by: str) -> Self:
        """About all jobs that a search finds. One that is not wholly understood would find too many: it is refused."""
        names, zone = tuple(names_of_handlers()), timezone.get_current_timezone_name()
        order = cls(deed=deed, frozen=frozen, by=by, typed=typed, chosen=chosen, names=names, zone=zone)
        meant = [term.meaning.looked_up.get("name") for term in order.search().terms]
        return order.but(names=tuple(filter(None, meant)))

    def but(self, **changes: Any) -> Self:
        return replace(self, **changes)

    @property
    def act(self) -> str:
        """What the journals of the jobs call it."""
        return UNDO if self.undoes else self.deed

    @property
    def text(self) -> str:
        """The search, as one would type it all."""
        return " ".join([*filter(None, [self.typed]), *(term_text(*choice) for choice in self.chosen.items())])

    def belongs(self, job: Job) -> bool:
        """Whether the job was there, in the status that it has, when the order was frozen."""
        since = job.started_at or 0 if job.status == JobStatus.IN_PROGRESS else job.updated_at
        return max(job.created_at, since) <= self.frozen

    def search(self) -> Search:
        """As it was understood when the order was frozen, or an error."""
        with timezone.override(self.zone or None):
            found = read_search(self.typed, Known(self.frozen, self.names), self.chosen)
        if found.unclear:
            raise InvalidArguments(f"the search is not understood: {' '.join(found.unclear)}")
        return found


def signed(order: Order, *, salt: str = _SALT) -> str:
    """The order as a text that only this site can have written."""
    return signing.dumps(_facts(order), salt=salt, compress=True)


def read_order(text: str, *, salt: str = _SALT, max_age: int | None = None) -> Order:
    """The order in this text. `signing.BadSignature` says that it is none of ours, or too old."""
    facts = signing.loads(text, salt=salt, max_age=max_age)
    return Order(**facts | {name: tuple(facts[name]) for name in ("ids", "names") if name in facts})


def _facts(order: Order) -> dict[str, Any]:
    return {name: value for name, value in asdict(order).items() if value not in ("", None, {}, ())}
