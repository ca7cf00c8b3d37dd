"""A worker whose disk is full runs no more attempts: they go to others, and the run stops if there is none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.batch.runs import (
    FINISH,
    WRITE,
    DaskCluster,
    dask_cluster,
    outcomes,
    run_batch,
    sessions,
    task,
    write_tasks,
)
from tests.sandbox import Sandbox, wait_for
from tests.system_packages import found_or_installed
from workbench.batch.disk_space import LEAST_SPACE, space_problem

pytestmark = pytest.mark.timeout(300)
_FILL = 'dd if=/dev/zero of="$HOME/fill" bs=64K 2>/dev/null; exec "$@"'
"""Fills the disk on which the home directory is, then runs a program."""


def add_full_worker(cluster: DaskCluster, home: Path) -> None:
    """Start a worker whose home directory is on a disk of its own, which is full."""
    bwrap = found_or_installed(lambda: shutil.which("bwrap"), "bubblewrap")
    home.mkdir(exist_ok=True)
    disk = ["--dev-bind", "/", "/", "--size", str(LEAST_SPACE // 4), "--tmpfs", str(home)]
    cluster.add_worker(bwrap, *disk, "--die-with-parent", "--", "sh", "-c", _FILL, "sh", HOME=str(home))


def wait_for_workers(cluster: DaskCluster, count: int) -> None:
    """Wait until this many workers have registered with the scheduler."""
    from distributed import Client

    with Client(cluster.url) as client:
        wait_for(lambda: len(client.nthreads()) == count, "the workers", 100)


def test_attempts_of_a_worker_with_a_full_disk_run_on_the_others(sandbox: Sandbox, tmp_path: Path):
    tasks = write_tasks(sandbox, *(task(number) for number in range(8)))
    with dask_cluster(sandbox, tmp_path, 1) as cluster:
        add_full_worker(cluster, tmp_path / "full")
        wait_for_workers(cluster, 2)
        model = sandbox.script(WRITE, FINISH)
        done = run_batch(sandbox, tasks, "-o", "run", "--model", model, "--scheduler", cluster.url)
    assert done.returncode == 0, (done.stdout, done.stderr)
    after = outcomes(sandbox)
    assert [each.state for each in after.values()] == ["solved"] * 8
    assert len({each.worker for each in after.values()}) == 1
    assert sorted(each.stem for each in sessions(sandbox)) == sorted(each.session for each in after.values())
    (line,) = [each for each in done.stderr.splitlines() if "gets no more attempts" in each]
    assert f"the disk is full; free some space ({tmp_path / 'full'}" in line


def test_run_without_a_worker_with_room_stops_and_is_resumed_later(sandbox: Sandbox, tmp_path: Path):
    tasks = write_tasks(sandbox, *(task(number) for number in range(5)))
    with dask_cluster(sandbox, tmp_path, 0) as cluster:
        for name in ("one", "two"):
            add_full_worker(cluster, tmp_path / name)
        wait_for_workers(cluster, 2)
        run = ["-o", "run", "--model", sandbox.script(WRITE, FINISH), "--scheduler", cluster.url]
        done = run_batch(sandbox, tasks, *run)
        assert done.returncode == 1
        assert done.stderr.count("gets no more attempts") == 2
        assert "no worker is left that can run attempts; no more are started" in done.stderr
        assert "5 attempts left; continue with `ohw batch --resume -o run`" in done.stderr
        assert {each.state for each in outcomes(sandbox).values()} <= {"interrupted"}
        assert sessions(sandbox) == []
        cluster.add_worker()
        wait_for_workers(cluster, 3)
        done = run_batch(sandbox, "--resume", *run)
        assert done.returncode == 0, (done.stdout, done.stderr)
    assert [each.state for each in outcomes(sandbox).values()] == ["solved"] * 5


def test_directory_with_room_lacks_nothing_and_keeps_nothing(tmp_path: Path):
    assert space_problem([tmp_path, tmp_path / "not/there"]) == ""
    assert list(tmp_path.iterdir()) == []
