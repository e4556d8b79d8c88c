"""A worker carries out operations, on every kind of store that processes share, in a site without an admin."""

from collections import Counter

from asyncjobs.dashboard.operations.orders import Order
from asyncjobs.dashboard.operations.starting import submitted, tally_of
from asyncjobs.domain.job import JobStatus
from asyncjobs.stores.base import Query
from tests.scene import Scene
from tests.worker.conftest import World


def test_a_worker_carries_out_an_order_and_its_undo(world: World) -> None:
    scene = Scene(world.store, world.store.now)
    jobs = world.store.add([scene.delayed(3_600_000) for _ in range(900)])
    order = Order.of_search("status:scheduled", {}, deed="cancel", frozen=jobs[-1].updated_at, by="7")
    operation = submitted(world.engine, order.but(reason="no need", expected=900))
    world.site.start("--queues=asyncjobs", "--processes=1")
    [canceled] = world.ended(operation)
    assert tally_of(canceled) == Counter(done=900)
    assert canceled.progress is not None
    assert (canceled.progress.done, canceled.progress.total) == (900, 900)
    assert len(world.store.find(Query(status=JobStatus.CANCELED, limit=1_000)).jobs) == 900
    undo = Order(deed="cancel", frozen=world.store.now(), by="7", undoes=operation.id)
    [undone] = world.ended(submitted(world.engine, undo))
    assert tally_of(undone) == Counter(done=900)
    assert len(world.store.find(Query(status=JobStatus.SCHEDULED, limit=1_000)).jobs) == 900
