"""`ohw export` and `ohw import` as whole commands."""

import json
import stat

from tests.world import World, bash, finish
from workbench.session.storage.catalog import list_sessions


def recorded(world: World) -> str:
    model = world.script(bash("echo made of <b>lines</b>"), finish("All **done**."))
    assert world.ohw("run", "Say <something>", "--model", model, "--mode", "never").returncode == 0
    (session,) = list_sessions(world.locations)
    return session.id


def test_a_session_goes_out_in_each_form_and_comes_back(world: World):
    name = recorded(world)
    shown = world.ohw("export", name[:12])
    assert shown.returncode == 0
    assert "All **done**." in shown.stdout
    page = world.home / "page.html"
    assert world.ohw("export", "-o", str(page)).returncode == 0
    assert "<strong>done</strong>" in page.read_text()
    assert "&lt;something&gt;" in page.read_text()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    lines = world.ohw("export", name, "--jsonl").stdout
    assert [json.loads(line)["seq"] for line in lines.splitlines()] == list(range(1, lines.count("\n") + 1))
    assert world.ohw("export", name, "--jsonl", "--at", "2").stdout == "".join(lines.splitlines(True)[:2])
    again = world.ohw("import", "-", stdin=lines)
    assert again.returncode == 0
    assert {each.title for each in list_sessions(world.locations)} == {"Say <something>"}
    assert len(list_sessions(world.locations)) == 2  # the id is taken: it has one of its own
    copy = again.stdout.split("\n")[0]
    assert world.ohw("export", copy, "--jsonl").stdout.splitlines()[1:] == lines.splitlines()[1:]


def test_what_cannot_be_exported_or_imported_is_one_line(world: World):
    name = recorded(world)
    torn = world.home / "torn.jsonl"
    torn.write_bytes(b"\xff\xfe")
    for args, told in (
        (["export", name, "--at", "9999"], "there is no 9999"),
        (["export", name, "--at", "x"], "not 'x'"),
        (["export", name, "--size", "1x1"], "--size"),
        (["export", name, "-o", str(world.home / "no" / "file.md")], "cannot write"),
        (["export", name, "--svg", "--html"], "not allowed with"),
        (["import", str(torn)], "not UTF-8"),
        (["import", str(world.home / "none")], "cannot read"),
        (["import", "-"], "session_started"),
    ):
        done = world.ohw(*args)
        assert done.returncode in (1, 2)
        assert told in done.stderr
        assert done.stderr.count("\n") == 1
    assert len(list_sessions(world.locations)) == 1
