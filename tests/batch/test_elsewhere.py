"""Workers on other machines get workspaces and settings, and return what attempts leave; no secret travels."""

from __future__ import annotations

import hashlib
import os
import queue
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.batch.runs import (
    DaskCluster,
    dask_cluster,
    outcomes,
    patch_of,
    run_batch,
    sessions,
    start_batch,
    write_tasks,
)
from tests.batch.test_attempts import git
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import bash, finish
from tests.sandbox import Sandbox, wait_for
from tests.system_packages import found_or_installed
from workbench.batch.attempt import AttemptOutcome, TaskAttempt
from workbench.batch.attempt_files import Report, RunContext
from workbench.batch.portable_settings import portable_settings
from workbench.batch.result_fetcher import FetchedResult, ResultFetcher
from workbench.batch.run_directory import RunDirectory
from workbench.batch.stored_results import StoredResult, part_of_result, store_result
from workbench.batch.task import TaskSpec
from workbench.batch.watched_run import AttemptStatus, WatchedRun
from workbench.batch.workspace_archives import (
    archive_needed,
    checked_name,
    forget_oldest,
    make_archive,
    origin_of,
    store_part,
)
from workbench.batch.workspaces import NoWorkspace
from workbench.errors import WorkbenchError

KEY = "sk-of-a-worker-8f2b6c1d9e"
OWN_KEY = "sk-of-the-client-41d7a0b2"
MODEL = """
[models.house]
model = "openai/x"
api_base = "{}"
api_key_env = "HOUSE_KEY"
"""
CHECK = "test $(cat a.py) = two && grep -q made made.txt && test -L link && git log -1 --format=%s"


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    """A repository with a change that is not committed, and a link that leads elsewhere."""
    path = sandbox.project / "shop"
    path.mkdir()
    git(path, "init", "-q")
    (path / "a.py").write_text("one\n")
    git(path, "add", ".")
    git(path, "commit", "-qm", "one")
    (path / "a.py").write_text("two\n")
    (path / "link").symlink_to("/etc/hostname")
    return path


@pytest.fixture
def elsewhere(sandbox: Sandbox, tmp_path: Path) -> Iterator[DaskCluster]:
    """A cluster with one worker on another machine: a program that sees no file of the user and has another home."""
    bwrap = found_or_installed(lambda: shutil.which("bwrap"), "bubblewrap")
    home = tmp_path / "other-home"
    home.mkdir()
    without = ["--dev-bind", "/", "/", "--tmpfs", str(sandbox.home), "--tmpfs", str(sandbox.project)]
    with dask_cluster(sandbox, tmp_path, 0) as cluster:
        env = {"HOME": str(home), "TMPDIR": str(home), "HOUSE_KEY": KEY}
        cluster.add_worker(bwrap, *without, "--die-with-parent", "--", **env)
        yield cluster


@pytest.mark.timeout(200)
@pytest.mark.parametrize("is_shared", [False, True], ids=["by value", "shared"])
def test_worker_on_another_machine_gets_all_it_needs_but_secrets(
    sandbox: Sandbox, shop: Path, elsewhere: DaskCluster, tmp_path: Path, *, is_shared: bool
):
    shared = tmp_path / "shared"
    shared.mkdir()
    with tarfile.open(sandbox.project / "shop.tar", "w") as archive:
        archive.add(shop / "a.py", "a.py")
    with ModelServer([bash("echo made > made.txt"), finish("Done.")] * 3, key=KEY) as server:
        sandbox.locations.settings_file.parent.mkdir(parents=True)
        sandbox.locations.settings_file.write_text(f'mode = "high"\n{MODEL.format(server.base_url)}')
        tasks = write_tasks(
            sandbox,
            {"id": "t1", "prompt": "Make it.", "workspace": "shop", "check": CHECK},
            {"id": "t2", "prompt": "Make it.", "workspace": "shop", "check": CHECK},
            {"id": "t3", "prompt": "Make it.", "workspace": "shop.tar", "check": "ls | tr '\\n' ' '"},
        )
        more = ["--shared", str(shared)] if is_shared else []
        arguments = [tasks, "-o", "run", "--model", "house", "--scheduler", elsewhere.url, *more]
        done = run_batch(sandbox, *arguments, HOUSE_KEY=OWN_KEY)
    assert done.returncode == 0, (done.stdout, done.stderr)
    after = outcomes(sandbox)
    assert [each.state for each in after.values()] == ["solved"] * 3
    assert "+made" in patch_of(sandbox, after["t2"])
    assert "a.py made.txt" in next((sandbox.project / "run").glob("attempts/t3-*/check.log")).read_text()
    assert sorted(each.stem for each in sessions(sandbox)) == sorted(each.session for each in after.values())
    assert not list(shared.iterdir())
    left = [*(sandbox.project / "run").rglob("*"), *tmp_path.glob("*.log")]
    assert not [each for each in left if each.is_file() and OWN_KEY.encode() in each.read_bytes()]
    other = tmp_path / "other-home/.local/share/ohw-batch"
    assert other.is_dir()
    assert not [each for each in other.rglob("*") if each.is_file()]


@pytest.mark.timeout(200)
def test_large_results_come_back_in_parts(sandbox: Sandbox, elsewhere: DaskCluster, tmp_path: Path):
    makes = " && ".join(f"seq {number} 400000 > big{number}.txt" for number in (1, 2, 3))
    with ModelServer([bash(makes), finish("Done.")], key=KEY) as server:
        sandbox.locations.settings_file.parent.mkdir(parents=True)
        sandbox.locations.settings_file.write_text(f'mode = "high"\n{MODEL.format(server.base_url)}')
        tasks = write_tasks(sandbox, {"id": "t1", "prompt": "Make it.", "check": "sha256sum big*.txt"})
        arguments = [tasks, "-o", "run", "--model", "house", "--scheduler", elsewhere.url]
        done = run_batch(sandbox, *arguments, HOUSE_KEY=OWN_KEY)
    assert done.returncode == 0, (done.stdout, done.stderr)
    outcome = outcomes(sandbox)["t1"]
    assert outcome.state == "solved", outcome
    assert len(sessions(sandbox)) == 1
    target = tmp_path / "applied"
    target.mkdir()
    git(target, "init", "-q")
    git(target, "apply", str(sandbox.project / "run" / outcome.patch))
    log = next((sandbox.project / "run").glob("attempts/*/check.log")).read_text()
    for name in ("big1.txt", "big2.txt", "big3.txt"):
        assert f"{hashlib.sha256((target / name).read_bytes()).hexdigest()}  {name}" in log
    other = tmp_path / "other-home/.local/share/ohw-batch"
    assert not [each for each in other.rglob("*") if each.is_file()]
    assert not list((sandbox.project / "run").rglob("*-part"))


class OneWorker:
    """A cluster with one worker, in this process, that is lost after some calls."""

    def __init__(self, calls: int = 1_000) -> None:
        self.calls = calls
        self.sizes: list[int] = []

    def worker_of(self, reply: object) -> str:
        return "tcp://worker"

    def call(self, worker: str, function: Callable[..., bytes | None], *arguments: object) -> bytes | None:
        self.calls -= 1
        if self.calls < 0:
            return None
        answer = function(*arguments)
        self.sizes.append(len(answer or b""))
        return answer


def stored_report(local_sandbox: Sandbox, tmp_path: Path) -> tuple[Report, Path]:
    """Return the report of an attempt with 9 MB of files on a worker, and the directory of those."""
    run = RunContext("nonce", "").own_run
    files = {"attempts/a/check.log": tmp_path / "log", "attempts/a/changes.patch": tmp_path / "patch"}
    (tmp_path / "log").write_bytes(b"l" * 9_000_000)
    (tmp_path / "patch").write_bytes(b"")
    stored = store_result(run, files)
    return Report(AttemptOutcome("a", "m", 1, "finished"), stored=stored), run / "results" / stored.token


def fetched(cluster: Any, report: Report, directory: Path) -> FetchedResult:
    ended: queue.SimpleQueue[FetchedResult] = queue.SimpleQueue()
    assert report.stored is not None
    ResultFetcher(cluster, RunContext("nonce", ""), directory).fetch(report, report.stored, "reply", ended.put)
    return ended.get(timeout=60)


def test_no_part_of_a_result_is_larger_than_4_mb(local_sandbox: Sandbox, tmp_path: Path):
    report, kept = stored_report(local_sandbox, tmp_path)
    cluster = OneWorker()
    assert fetched(cluster, report, tmp_path / "run") == FetchedResult(report)
    assert cluster.sizes == [4 << 20, 4 << 20, 9_000_000 - (8 << 20), 0]
    assert (tmp_path / "run/attempts/a/check.log").read_bytes() == b"l" * 9_000_000
    assert (tmp_path / "run/attempts/a/changes.patch").read_bytes() == b""
    assert not kept.exists()


def test_result_of_a_worker_that_is_lost_meanwhile_leaves_nothing(local_sandbox: Sandbox, tmp_path: Path):
    report, _ = stored_report(local_sandbox, tmp_path)
    assert fetched(OneWorker(2), report, tmp_path / "run").is_lost
    assert not [each for each in (tmp_path / "run").rglob("*") if each.is_file()]
    (tmp_path / "file").touch()
    assert "cannot be stored" in fetched(OneWorker(), report, tmp_path / "file").problem


def test_report_with_names_of_other_files_is_refused_before_they_are_fetched():
    attempt = TaskAttempt(TaskSpec("t", "x"), "m", 1)
    outcome = AttemptOutcome("t", "m", 1, "finished")
    for name in ("../x", "attempts/other/check.log", f"attempts/{attempt.key}/../x", "sessions/x.session"):
        with pytest.raises(WorkbenchError, match="not its own"):
            Report(outcome, stored=StoredResult("0" * 12, {name: 1})).check(attempt)
    for token in ("../x", "", "0" * 11):
        with pytest.raises(ValueError, match="not the name of a result"):
            part_of_result(Path("/"), token, 0, 0)


@pytest.mark.timeout(200)
@pytest.mark.parametrize("is_shared", [False, True], ids=["by value", "shared"])
def test_attempt_on_another_machine_shows_what_it_has_spent_so_far(
    sandbox: Sandbox, elsewhere: DaskCluster, tmp_path: Path, *, is_shared: bool
):
    shared, go, run = tmp_path / "shared", tmp_path / "go", sandbox.project / "run"
    shared.mkdir()
    with ModelServer([bash(f"until [ -e {go} ]; do sleep 0.1; done"), finish("Done.")], key=KEY) as server:
        sandbox.locations.settings_file.parent.mkdir(parents=True)
        sandbox.locations.settings_file.write_text(f'mode = "high"\n{MODEL.format(server.base_url)}')
        tasks = write_tasks(sandbox, {"id": "t1", "prompt": "Make it."})
        more = ["--shared", str(shared)] if is_shared else []
        arguments = [tasks, "-o", "run", "--model", "house", "--scheduler", elsewhere.url, *more]
        with start_batch(sandbox, *arguments, HOUSE_KEY=OWN_KEY) as client:
            wait_for(lambda: (run / "results.sqlite").exists(), "the run")
            watched = WatchedRun(RunDirectory(run))

            def status() -> AttemptStatus:
                return next(watched.read().rows[0].statuses)

            wait_for(lambda: status().progress, "the attempt to spend something", 60)
            seen = status()
            assert (seen.state, seen.session, seen.progress.steps) == ("running", "", 1)
            go.touch()
            client.communicate(timeout=100)
    assert status().state == "done"
    assert not list(run.glob("*elsewhere*"))


def test_worker_that_does_not_see_the_shared_directory_says_so(sandbox: Sandbox, shop: Path, elsewhere: DaskCluster):
    shared = sandbox.project / "not-shared"
    shared.mkdir()
    tasks = write_tasks(sandbox, {"id": "t1", "prompt": "Make it.", "workspace": "shop"})
    arguments = ["--model", "scripted/demo", "--scheduler", elsewhere.url, "--shared", str(shared)]
    assert run_batch(sandbox, tasks, "-o", "run", *arguments).returncode == 1
    outcome = outcomes(sandbox)["t1"]
    assert outcome.ending == "worker"
    assert outcome.detail.startswith("this worker does not see ")


def test_workspace_that_is_the_same_on_the_worker_is_not_sent(shop: Path, tmp_path: Path):
    task = TaskSpec("t", "x", workspace=str(shop))
    attempt = TaskAttempt(task, "m", 1, origin_of(task))
    assert archive_needed(attempt, []) == ("", None)
    shop.rename(tmp_path / "original")
    shutil.copytree(tmp_path / "original", shop, symlinks=True)
    os.utime(shop, ns=(0, (tmp_path / "original").stat().st_mtime_ns))
    missing, _ = archive_needed(attempt, [tmp_path])
    assert missing
    archive = tmp_path / missing
    archive.touch()
    assert archive_needed(attempt, [tmp_path / "none", tmp_path]) == ("", archive)


def test_archive_that_is_too_large_to_be_sent_is_named(shop: Path, tmp_path: Path):
    task = TaskSpec("t", "x", workspace=str(shop))
    with pytest.raises(NoWorkspace, match=r"as an archive, and at most 1 kB are sent.*--shared"):
        make_archive(task, tmp_path / "archives", tmp_path / "run", 1000)
    assert not list((tmp_path / "archives").iterdir())
    assert make_archive(task, tmp_path / "archives", tmp_path / "run", None).exists()


def test_parts_of_an_archive_become_a_file_with_the_last_one(tmp_path: Path):
    name = f"tree-{'0' * 32}"
    assert store_part(str(tmp_path / "new"), name, "u", b"one ", is_last=False) == ""
    assert not (tmp_path / "new" / name).exists()
    assert store_part(str(tmp_path / "new"), name, "u", b"two", is_last=True) == ""
    assert (tmp_path / "new" / name).read_bytes() == b"one two"
    (tmp_path / "file").touch()
    assert store_part(str(tmp_path / "file"), name, "u", b"", is_last=True)
    for wrong in ("../x", "tree-", f"{name}/x", ""):
        with pytest.raises(ValueError, match="not the name of an archive"):
            checked_name(wrong)


def test_archives_that_were_not_used_for_longest_are_deleted(tmp_path: Path):
    names = [f"tree-{number:032}" for number in range(4)]
    for age, name in enumerate(reversed(names)):
        (tmp_path / name).write_bytes(b"x" * 10)
        os.utime(tmp_path / name, (age, age))
    forget_oldest(tmp_path, 25)
    assert sorted(each.name for each in tmp_path.iterdir()) == names[:2]


def test_settings_that_may_contain_secrets_stay_on_the_machine(local_sandbox: Sandbox):
    file = local_sandbox.locations.settings_file
    file.parent.mkdir(parents=True)
    file.write_text(
        f"""
api_key = "{KEY}"
max_steps = 7
theme = "ohw-light"
hooks = [{{ event = "run_end", command = "curl -d {KEY} x" }}]
[models.open]
model = "openai/x"
api_base = "http://127.0.0.1/v1"
[models.closed]
model = "openai/x"
api_base = "http://me:{KEY}@127.0.0.1/v1"
[tools]
set = "code"
mine = {{ token = "{KEY}" }}
[mcpServers.x]
command = "x"
env = {{ A = "{KEY}" }}
[telemetry]
headers = {{ A = "{KEY}" }}
"""
    )
    portable = portable_settings({**local_sandbox.env, "OHW_API_KEY": KEY, "OHW_CALLS": "text"})
    assert KEY not in msgspec.json.encode(portable).decode()
    assert portable["models"].keys() == {"open"}
    assert (portable["max_steps"], portable["calls"], portable["tools"]) == (7, "text", {"set": "code"})
    assert "theme" not in portable
