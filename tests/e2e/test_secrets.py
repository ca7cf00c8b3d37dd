"""Planted secrets appear on no screen, in no log, in no request and in no child's environment."""

import json
from pathlib import Path

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn
from tests.fakes.model_turns import bash as bash_turn
from tests.fakes.model_turns import finish as finish_turn
from tests.sandbox import Sandbox

FIRST, SECOND, IN_FILE, UNKNOWN = "first-key-000111222", "second-key-333444", "file-key-5556667", "db-pass-word-88990"
TOKEN = "".join(("gh", "p_", "0123456789abcdef" * 3))
SECRETS = (FIRST, SECOND, IN_FILE, UNKNOWN, TOKEN)


def planted(sandbox: Sandbox) -> None:
    """Plant keys in the environment, in a key file and in files of the project."""
    key_file = sandbox.home / "key.txt"
    key_file.write_text(IN_FILE + "\n")
    settings = sandbox.locations.settings_file
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f'[models.other]\nmodel = "openai/y"\napi_key_file = "{key_file}"\n')
    (sandbox.project / ".env").write_text(f"DB_PASSWORD={UNKNOWN}\nA=1\nFIRST={FIRST}\n")
    (sandbox.project / "notes.txt").write_text(
        f"{SECOND} and {IN_FILE} and {TOKEN}\n4a71ebf2c0ffee00112233445566778899aabbcc\n"
    )


def tool(name: str, **arguments: object) -> Turn:
    return Turn("", calls=(Called(name, {"security_risk": "HIGH", "summary": "s", **arguments}),))


def files_below(directory: Path) -> list[Path]:
    """Return all files in a directory, except copies of the user's files, which have to hold the same bytes."""
    return [path for path in directory.rglob("*") if path.is_file() and not {"seen", "shown", "undo"} & set(path.parts)]


def test_planted_secret_appears_nowhere_else(sandbox: Sandbox):
    planted(sandbox)
    env = {"OPENAI_API_KEY": FIRST, "ANTHROPIC_API_KEY": SECOND}
    turns = [
        bash_turn("cat .env notes.txt; env; printf %s first-key-; sleep 0.3; echo 000111222", risk="HIGH"),
        tool("python_execute", code="import os; print(dict(os.environ)); print(open('notes.txt').read())"),
        tool("execute_ipython_cell", code="print(open('notes.txt').read())\nopen('.env').read()"),
        tool("str_replace_editor", command="view", path=str(sandbox.project / ".env")),
        tool("grep", pattern="PASSWORD", path=str(sandbox.project)),
        finish_turn("Done."),
    ]
    with ModelServer(turns) as server:
        arguments = ("--model", "openai/x", "--api-base", server.base_url, "--mode", "never", "--json")
        done = sandbox.ohw("run", "look", *arguments, **env)
        requests = json.dumps([request.messages for request in server.requests], ensure_ascii=False)
    assert done.returncode == 0, done.stderr
    texts = {"requests": requests, "stdout": done.stdout, "stderr": done.stderr}
    texts |= {path.name: path.read_bytes().decode(errors="replace") for path in files_below(sandbox.locations.data)}
    texts |= {path.name: path.read_bytes().decode(errors="replace") for path in files_below(sandbox.locations.state)}
    assert [(name, secret) for name, text in texts.items() for secret in SECRETS if secret in text] == []
    names = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "key of other", "GitHub token", "DB_PASSWORD")
    assert [name for name in names if f"‹secret {name}›" not in requests] == []
    assert "4a71ebf2c0ffee00112233445566778899aabbcc" in requests
    assert (sandbox.project / ".env").read_text().startswith(f"DB_PASSWORD={UNKNOWN}")


def test_mask_is_not_written_into_a_file(sandbox: Sandbox):
    planted(sandbox)
    before = (sandbox.project / ".env").read_bytes()
    whole = tool("str_replace_editor", command="create", path=str(sandbox.project / "new"), file_text="K=‹secret K›\n")
    shell = bash_turn("echo 'DB_PASSWORD=‹secret DB_PASSWORD›' > .env", risk="HIGH")
    with ModelServer([whole, shell, finish_turn("Done.")]) as server:
        arguments = ("--model", "openai/x", "--api-base", server.base_url, "--mode", "never")
        done = sandbox.ohw("run", "change it", *arguments, OPENAI_API_KEY=FIRST)
        requests = json.dumps(server.requests[-1].messages, ensure_ascii=False)
    assert done.returncode == 0, done.stderr
    assert not (sandbox.project / "new").exists()
    assert (sandbox.project / ".env").read_bytes() == before
    assert requests.count("replaces a secret that is hidden from you") == 2


def test_stored_files_are_readable_by_the_user_only(sandbox: Sandbox):
    planted(sandbox)
    with ModelServer([bash_turn("seq 20000", risk="LOW"), finish_turn("Done.")]) as server:
        done = sandbox.ohw("run", "x", "--model", "openai/x", "--api-base", server.base_url, "--mode", "never")
    assert done.returncode == 0, done.stderr
    places = [path for directory in (sandbox.locations.data, sandbox.locations.state) for path in directory.rglob("*")]
    assert any(path.is_file() for path in places)
    assert [path for path in places if not path.is_symlink() and path.stat().st_mode & 0o077 and _is_seen(path)] == []


def test_output_and_exports_show_no_secret_from_file_snapshots(sandbox: Sandbox):
    secret = "tr0ub4dor-99"
    (sandbox.project / "gen.sh").write_text(f"echo DB_PASSWORD=$(echo {secret[::-1]} | rev) > made.conf\n")
    (sandbox.project / "made.conf").write_text("A=1\n")
    with ModelServer([bash_turn("sh gen.sh", risk="HIGH"), finish_turn("Done.")]) as server:
        arguments = ("--model", "openai/x", "--api-base", server.base_url, "--mode", "never", "--json")
        done = sandbox.ohw("run", f"set it to password={secret}", *arguments)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    deltas = [file for event in events if event["kind"] == "version_taken" for file in event["files"]]
    assert [file["after"] for file in deltas] == ["DB_PASSWORD=‹secret DB_PASSWORD›\n"]
    texts = {form: sandbox.command("export", f"--{form}").stdout for form in ("jsonl", "markdown", "html")}
    texts |= {"events": done.stdout, "list": sandbox.command("sessions").stdout, "narration": done.stderr}
    texts |= {"names": " ".join(path.name for path in sandbox.locations.data.rglob("*"))}
    assert [name for name, text in texts.items() if secret in text or "dor-99" in text] == []
    assert all(texts.values())
    assert (sandbox.project / "made.conf").read_text() == f"DB_PASSWORD={secret}\n"


def _is_seen(path: Path) -> bool:
    """Return whether other users can reach the path: no directory above it is closed to them."""
    home = next(parent for parent in path.parents if parent.name == "home")
    above = (parent for parent in path.parents if parent.is_relative_to(home) and parent != home)
    return all(parent.stat().st_mode & 0o077 for parent in above)
