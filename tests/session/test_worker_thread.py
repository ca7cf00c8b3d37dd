"""Threads of calls that may hang: what an interrupt waits for, and what it abandons."""

import threading
import time

from workbench.llm.model import Cancel
from workbench.session.worker_thread import Job, WorkerThread, as_they_end


def test_interrupt_waits_for_a_job_with_a_long_grace_and_abandons_the_others_with_it():
    cancel, hangs, ends = Cancel(), threading.Event(), threading.Event()
    hung = Job(WorkerThread("one"), hangs.wait, 0.1)
    slow = Job(WorkerThread("two"), ends.wait, 30.0, lambda: threading.Timer(0.5, ends.set).start())
    cancel.set()
    began = time.monotonic()
    assert [(job, future is not None) for job, future in as_they_end((hung, slow), cancel)] == [
        (slow, True),
        (hung, False),
    ]
    assert 0.5 <= time.monotonic() - began < 20
    hangs.set()
