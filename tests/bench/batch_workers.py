"""Many workers in one process, whose attempts have no session: only the client and the scheduler have work to do.

`python -m tests.bench.batch_workers SCHEDULER COUNT` runs until it is ended.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import AsyncExitStack

import msgspec
from distributed import Worker

from workbench.batch import cluster
from workbench.batch.attempt import AttemptOutcome, TaskAttempt
from workbench.batch.attempt_files import Report

_LOG = b"$ pytest -q\n" + b"." * 800


def run_nothing(attempt: bytes, context: bytes, turns: object = None) -> bytes:
    """Return the report of an attempt that has ended at once; its patch and log are small."""
    work = msgspec.json.decode(attempt, type=TaskAttempt)
    patch = f"attempts/{work.key}/changes.patch"
    outcome = AttemptOutcome(
        *work.names, "finished", solved=True, steps=12, input=150_000, output=4_000, cost=0.31, patch=patch
    )
    files = {patch: _LOG, f"attempts/{work.key}/check.log": _LOG}
    return msgspec.json.encode(Report(msgspec.structs.replace(outcome, started=time.time()), files))


async def _serve(scheduler: str, count: int) -> None:
    async with AsyncExitStack() as workers:
        for _ in range(count):
            await workers.enter_async_context(Worker(scheduler, nthreads=1, dashboard=False, validate=False))
        await asyncio.Event().wait()


if __name__ == "__main__":
    vars(cluster)["run_attempt"] = run_nothing
    asyncio.run(_serve(sys.argv[1], int(sys.argv[2])))
