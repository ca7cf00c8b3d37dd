"""Spans are sent only if the user's own settings ask for it, and a collector never holds up or changes a session."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.fakes.otlp_server import OtlpServer
from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.session.recording import approve, go_on
from tests.subagent_scripts import delegating
from tests.telemetry.sessions import DENIED, Traced
from workbench.sdk import ToolCallAgent
from workbench.telemetry.sender import SpanSender
from workbench.telemetry.span import SpanRecord, TraceParent

CLOSED = "http://127.0.0.1:9"
"""An endpoint at which nothing listens."""
KEY = "otlp-key-4711-falcon"


@pytest.fixture
def server() -> Iterator[OtlpServer]:
    with OtlpServer() as server:
        yield server


def configure(sandbox: Sandbox, *lines: str) -> None:
    file = sandbox.locations.settings_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(["[telemetry]", *lines]))


def run(sandbox: Sandbox, **env: str):
    """Run an agent; return the exit code and both outputs, without what differs between any two runs."""
    model = sandbox.script(bash("echo one"), finish("All done."))
    done = sandbox.ohw("run", "--model", model, "--mode", "never", "go", **env)
    session = next(iter(sandbox.locations.sessions.glob("*.session"))).stem
    for file in sandbox.locations.sessions.glob("*.session"):
        file.unlink()
    return done.returncode, done.stdout, done.stderr.replace(session, "ID")


def test_nothing_is_sent_unless_the_setting_is_on(sandbox: Sandbox, server: OtlpServer):
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": server.url, "OTEL_TRACES_EXPORTER": "otlp", "OHW_TELEMETRY": "true"}
    assert run(sandbox, **variables)[:2] == (0, "All done.\n")
    configure(sandbox, f'endpoint = "{server.url}"', "content = true")
    assert run(sandbox, **variables)[:2] == (0, "All done.\n")
    assert server.requests == []


def test_nothing_of_opentelemetry_is_loaded_while_it_is_off(sandbox: Sandbox):
    model = sandbox.script(bash("echo one"), finish("All done."))
    code = (
        "import sys\nfrom workbench.cli.main import main\n"
        f"main(['run', '--model', {model!r}, '--mode', 'never', 'go'])\n"
        "print([name for name in sys.modules if name.partition('.')[0] in ('opentelemetry', 'google', 'requests')])\n"
        "print([name for name in sys.modules if name.startswith('workbench.telemetry')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=sandbox.env, cwd=sandbox.project, capture_output=True, text=True, check=True
    )
    assert done.stdout == "All done.\n[]\n['workbench.telemetry', 'workbench.telemetry.installation']\n"


@pytest.mark.parametrize(
    "name", ["settings.toml", ".ohw/settings.toml", ".ohw/telemetry.toml", ".config/ohw/settings.toml"]
)
def test_project_neither_turns_it_on_nor_changes_the_endpoint(sandbox: Sandbox, server: OtlpServer, name: str):
    file = sandbox.project / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'[telemetry]\nenabled = true\ncontent = true\nendpoint = "{server.url}"\n')
    (sandbox.project / ".env").write_text(f"OTEL_EXPORTER_OTLP_ENDPOINT={server.url}\n")
    assert run(sandbox)[0] == 0
    configure(sandbox, "enabled = true", f'endpoint = "{CLOSED}"')
    assert run(sandbox)[0] == 0
    assert server.requests == []


def test_standard_variables_apply_once_it_is_on(sandbox: Sandbox, server: OtlpServer):
    configure(sandbox, "enabled = true")
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": server.url,
        "OTEL_EXPORTER_OTLP_HEADERS": f"x-api-key={KEY}",
        "OTEL_SERVICE_NAME": "my-agents",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
    }
    assert run(sandbox, **variables)[0] == 0
    ((path, headers),) = server.requests
    assert (path, headers["x-api-key"]) == ("/v1/traces", KEY)
    resource = server.named("invoke_agent ohw").resource
    assert (resource["service.name"], resource["deployment.environment.name"]) == ("my-agents", "test")


def test_setting_of_the_endpoint_wins_over_the_variable(sandbox: Sandbox, server: OtlpServer):
    configure(sandbox, "enabled = true", f'endpoint = "{server.url}/"')
    assert run(sandbox, OTEL_EXPORTER_OTLP_ENDPOINT=CLOSED)[0] == 0
    resource = server.named("invoke_agent ohw").resource
    assert resource["service.name"] == "ohw"
    assert [path for path, _ in server.requests] == ["/v1/traces"]


@pytest.mark.parametrize("variables", [{}, {"OTEL_EXPORTER_OTLP_HEADERS": f"x-api-key: {KEY}\nnonsense"}])
def test_run_is_the_same_if_nothing_listens(sandbox: Sandbox, variables: dict[str, str]):
    before = run(sandbox)
    configure(sandbox, "enabled = true", f'endpoint = "{CLOSED}"')
    assert run(sandbox, **variables) == before
    assert KEY not in "".join(file.read_text() for file in sandbox.locations.logs.iterdir())


def test_key_in_the_headers_is_masked_and_passed_to_no_command(sandbox: Sandbox, server: OtlpServer):
    configure(sandbox, "enabled = true", f'endpoint = "{server.url}"', "content = true")
    (sandbox.project / "notes.txt").write_text(f"the key is {KEY}\n")
    model = sandbox.script(bash("cat notes.txt; env | grep OTEL"), finish("All done."))
    headers = {"OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{KEY}"}
    done = sandbox.ohw("run", "--json", "--model", model, "--mode", "never", "go", **headers)
    assert "the key is \\u2039secret" in done.stdout
    assert "EXPORTER" not in done.stdout.replace("secret OTEL_EXPORTER_OTLP_HEADERS", "")
    assert KEY not in done.stdout + done.stderr + str(server.spans)
    assert server.requests[0][1]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(("has_user", "most"), [(True, 0.3), (False, 2.0)])
def test_closing_waits_a_bounded_time_for_a_collector_that_hangs(tmp_path: Path, server: OtlpServer, has_user, most):
    server.opened.clear()
    session = Traced(tmp_path, enabled=True, endpoint=server.url)
    opened = session.opened(delegating(session.script, {}, bash("echo one")), has_user=has_user)
    before = time.monotonic()
    opened.session.send("go")
    go_on(opened, approve)
    ran = time.monotonic()
    opened.close()
    closed = time.monotonic() - ran
    assert ran - before < 2 + most
    assert most <= closed + 0.01
    assert closed < most + 1.5


def test_resumed_session_sends_only_what_is_new(tmp_path: Path, server: OtlpServer):
    session = Traced(tmp_path, enabled=True, endpoint=server.url)
    session.run()
    earlier = len(server.spans)
    opened = session.opened(delegating(session.script, {}, DENIED), is_new=False)
    opened.close()
    assert len(server.spans) == earlier


def test_question_that_an_earlier_process_asked_is_followed_by_its_tool_call(tmp_path: Path, server: OtlpServer):
    session = Traced(tmp_path, enabled=True, endpoint=server.url)
    model = f"scripted/{session.script}"
    session.script.write_text(
        '[[turn]]\nname = "a"\n[[turn.call]]\ntool = "execute_bash"\nrisk = "HIGH"\n'
        'arguments = { command = "rm -rf falcon" }\n[[turn]]\nname = "b"\ntext = "Done."\n'
    )
    opened = session.opened(model)
    opened.session.send("go")
    while opened.session.step():
        pass
    opened.close()
    before = {each.id for each in server.spans}
    assert sorted(each.name.partition(" ")[0] for each in server.spans) == ["chat", "invoke_agent", "step"]
    assert server.named("invoke_agent ohw").attributes["ohw.run.end"] == "open"
    opened = session.opened(model, is_new=False)
    go_on(opened, approve)
    opened.close()
    new = [each for each in server.spans if each.id not in before]
    assert sorted(each.name.partition(" ")[0] for each in new) == ["chat", "execute_tool", "invoke_agent", "step"]
    assert len({each.trace for each in new}) == 1


def test_missing_packages_are_one_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: OtlpServer):
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk", None)
    session = Traced(tmp_path, enabled=True, endpoint=server.url)
    opened = session.opened(delegating(session.script, {}))
    opened.close()
    (notice,) = [line for line in opened.notices if "opentelemetry" in line]
    assert notice.endswith("is not installed; install it with `uv tool install '.[otel]'` in a clone of ohw")


def test_agent_of_a_program_sends_its_spans(local_sandbox: Sandbox, server: OtlpServer):
    model = local_sandbox.script(bash("echo one"), finish("All done."))
    telemetry = {"enabled": True, "endpoint": server.url}
    with ToolCallAgent(model, mode="never", telemetry=telemetry, workspace=local_sandbox.project) as agent:
        assert asyncio.run(agent.run("go")).text == "All done."
    assert server.named("invoke_agent ohw").attributes["ohw.run.end"] == "finished"


class SlowCollector:
    """An exporter that waits until it is released."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.received: list[int] = []
        self.is_up = True

    def export(self, spans: Sequence[SpanRecord]) -> bool:
        self.released.wait()
        self.received += [span.span_id for span in spans] if self.is_up else []
        return self.is_up

    def close(self) -> None:
        """Nothing is open."""


def span(number: int) -> SpanRecord:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return SpanRecord("a span", TraceParent(1), number, at, at, {})


def test_oldest_spans_are_dropped_if_a_collector_is_too_slow():
    collector = SlowCollector()
    sender = SpanSender(lambda: collector, "a slow one")
    for number in range(10_000):
        sender.add(span(number))
    collector.released.set()
    sender.close(10.0)
    assert collector.received[-2_048:] == [*range(10_000 - 2_048, 10_000)]
    assert len(collector.received) <= 2_048 + 512


def test_spans_of_a_run_that_has_ended_are_sent_at_once():
    collector = SlowCollector()
    collector.released.set()
    sender = SpanSender(lambda: collector, "a quick one")
    sender.add(span(1))
    sender.flush()
    wait_for(lambda: collector.received == [1], "the span", 2.0)
    sender.close(0.0)
    sender.add(span(2))
    assert collector.received == [1]


def test_end_does_not_wait_long_for_a_collector_that_has_failed(caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO")
    collector = SlowCollector()
    collector.is_up = False
    collector.released.set()
    sender = SpanSender(lambda: collector, "a broken one")
    sender.add(span(1))
    sender.flush()
    wait_for(lambda: caplog.messages == ["spans could not be sent to a broken one"], "the failure", 2.0)
    collector.released.clear()
    sender.add(span(2))
    before = time.monotonic()
    sender.close(5.0)
    assert time.monotonic() - before < 2.0
    collector.released.set()
    assert len(caplog.messages) == 1


def test_exporter_that_cannot_be_opened_ends_nothing_else():
    def fail() -> SlowCollector:
        raise ImportError("broken")

    sender = SpanSender(fail, "nothing")
    sender.add(span(1))
    before = time.monotonic()
    sender.close(5.0)
    assert time.monotonic() - before < 1.0
