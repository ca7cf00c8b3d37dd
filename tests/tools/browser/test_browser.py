"""The browser on pages of a local server: forms, tabs, downloads, pages that misbehave, and no process left."""

from __future__ import annotations

import base64
import contextlib
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.tools.shells import eventually
from tests.tools.web.site import Site, Visit, free_port
from workbench.errors import UsageError
from workbench.tools import ArgumentError, BrowserTool, Tool, ToolContext, resolve_tool
from workbench.tools.browser import installation as finding
from workbench.tools.browser.impl import BrowserExecutor

pytestmark = pytest.mark.timeout(400)

FORM = b"""<title>Order</title><h1>Order</h1><form action="/done">
<label>Name <input name="name"></label> <label>Password <input type="password" name="secret" value="geheim"></label>
<label>Size <select name="size"><option>small<option>large</select></label>
<label>File <input type="file" name="file" onchange="document.title = this.files[0].name"></label>
<button>Send</button></form>
<a href="/two" target="_blank">New tab</a> <a href="/report" download>Report</a>
<button onclick="document.title = confirm('Really?')">Ask</button>
<button onclick="this.textContent = 'Pressed'">Count</button>
<iframe srcdoc="<button onclick='parent.document.title = 1'>Inside</button>"></iframe>
<div style="height: 3000px"></div><a href="/last">Last</a>"""


PDF = (
    b"%PDF-1.3\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
)


def page(body: bytes, kind: str = "text/html; charset=utf-8", **headers: str):
    return lambda visit: visit.answer(body, kind, **headers)


def half(visit: Visit) -> None:
    """Answer with a page that never ends."""
    visit.begin("text/html")
    visit.send(b"<title>Half</title><h1>The beginning</h1>" + b"<p>more</p>" * 200)
    visit.hold()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    pages = {
        "/": page(FORM),
        "/done": lambda visit: visit.answer(f"<title>Done</title>{visit.path}".encode()),
        "/doc.pdf": page(PDF, "application/pdf"),
        "/blank": page(b""),
        "/to-private": lambda visit: visit.send_on("http://10.1.2.3/"),
        "/two": page(b"<title>Second</title><h1>Two</h1>"),
        "/report": page(b"a,b\n", "text/csv", content_disposition='attachment; filename="../../.profile"'),
        "/half": half,
        "/hangs": page(b"<title>Hangs</title><button onclick='setTimeout(() => { while (true) {} })'>Hang</button>"),
        "/away": lambda visit: visit.send_on("http://10.1.2.3/"),
        "/elsewhere": lambda visit: visit.send_on(f"http://127.0.0.1:{free_port()}/"),
        "/long": page(b"<title>Long</title>" + b"<p>one line of it</p>" * 5_000),
    }
    with Site(pages) as made:
        yield made


def use(tool: BrowserTool, *calls: str, tab: int | None = None):
    return tool(tool.action_from_arguments({"code": "\n".join(calls), **({"tab": tab} if tab else {})}))


def id_of(seen, name: str) -> str:
    """Return the id of the element with that name in the tree."""
    match = re.search(rf'"{name}".*?\[ref=(\w+)\]', seen.text)
    assert match, f"no {name} in\n{seen.text}"
    return match[1]


def test_form_is_filled_and_submitted(tool, site, place):
    seen = use(tool, f"goto('{site.url()}')")
    assert not seen.is_error, seen.text
    assert (seen.url, seen.title) == (site.url(), "Order")
    assert "geheim" not in seen.text  # the content of a password field
    assert [part.type for part in seen.content] == ["text", "image"]
    assert seen.content[1].mime_type == "image/jpeg"
    assert base64.b64decode(seen.content[1].data).startswith(b"\xff\xd8")
    (place / "letter.txt").write_text("text")
    name, size, file = (id_of(seen, each) for each in ("Name", "Size", "File"))
    assert tool.executor.elements[name] == 'textbox "Name"'
    filled = use(
        tool,
        f"fill('{name}', 'wrong')",
        f"clear('{name}')",
        f"fill('{name}', 'Ada')",
        f"press('{name}', 'End')",
        f"press('{name}', 'x')",
        f"select_option('{size}', ['large'])",
        f"upload_file('{file}', '{place / 'letter.txt'}')",
    )
    assert not filled.is_error, filled.text
    assert filled.title == "letter.txt"
    assert id_of(filled, "Name") == name  # IDs stay valid as long as the page
    sent = use(tool, f"click('{id_of(filled, 'Send')}')")
    assert sent.title == "Done"
    assert "/done?name=Adax&secret=geheim&size=large&file=letter.txt" in sent.text
    back = use(tool, "go_back()")
    assert back.url == site.url()
    assert use(tool, "go_forward()").title == "Done"


def test_clicks_reach_frames_and_elements_out_of_sight(tool, site):
    seen = use(tool, f"goto('{site.url()}')")
    seen = use(tool, f"click('{id_of(seen, 'Count')}')")
    assert "Pressed" in seen.text
    seen = use(tool, f"hover('{id_of(seen, 'Send')}')", f"focus('{id_of(seen, 'Name')}')", "scroll(0, 500)")
    assert not seen.is_error
    assert use(tool, f"click('{id_of(seen, 'Inside')}')").title == "1"
    assert "/last" in use(tool, f"click('{id_of(seen, 'Last')}')").url


def test_failing_call_ends_the_list_and_the_page_is_shown(tool, site):
    use(tool, f"goto('{site.url()}')")
    seen = use(tool, "click('e999')", f"goto('{site.url('/two')}')")
    assert seen.is_error
    assert "there is no element e999" in seen.error
    assert seen.title == "Order"


def test_tabs_are_listed_and_selected(tool, site):
    seen = use(tool, f"goto('{site.url()}')")
    seen = use(tool, f"click('{id_of(seen, 'New tab')}')")
    assert seen.title == "Second"
    assert [line.split(" ")[0] for line in seen.tabs] == ["Order", "Second"]
    assert "  2. Second" in seen.text
    assert use(tool, "noop(0)", tab=1).title == "Order"
    assert "there is no tab 7" in use(tool, "noop(0)", tab=7).error
    assert use(tool, "noop(0)", tab=2).title == "Second"


def test_dialog_gets_a_cautious_answer_and_is_reported(tool, site):
    seen = use(tool, f"goto('{site.url()}')")
    seen = use(tool, f"click('{id_of(seen, 'Ask')}')")
    assert "a dialog (confirm) was answered with Cancel: Really?" in seen.text
    assert seen.title == "false"


def test_downloads_are_saved_in_the_workspace_under_a_safe_name(tool, site, place):
    seen = use(tool, f"goto('{site.url()}')")
    report = id_of(seen, "Report")
    first, second = use(tool, f"click('{report}')"), use(tool, f"click('{report}')")
    saved = [Path(name) for name in (*first.downloads, *second.downloads)]
    assert len(set(saved)) == 2
    assert {path.parent for path in saved} == {place / "downloads"}
    assert [path.read_text() for path in saved] == ["a,b\n"] * 2
    assert not any(path.name.startswith(".") for path in saved)


def test_private_addresses_are_not_reached_even_by_redirects(tool, site):
    seen = use(tool, "goto('http://10.1.2.3/')")
    assert seen.is_error
    assert "10.1.2.3:80 was not reached" in seen.error
    assert "`private` in [tools.browser])]" in seen.text  # no hint follows, because going there is what was refused
    assert seen.text.count("was not reached") == 1
    seen = use(tool, f"goto('{site.url('/away')}')")
    assert "10.1.2.3:80 was not reached" in seen.text
    seen = use(tool, f"goto('{site.url('/elsewhere')}')")
    assert re.search(r"127.0.0.1:\d+ was not reached: .*; goto\('http://127.0.0.1:\d+/…'\) opens it", seen.text)
    assert "This URL may not be reached" in seen.text


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        ("http://localhost:{port}/", "goto('http://localhost:{port}/…') opens it by its URL"),
        ("http://[::1]:{port}/", "goto('http://[::1]:{port}/…') opens it by its URL"),
        ("https://127.0.0.1:{port}/", "; goto opens it by its URL"),  # never the address with another scheme
        ("http://nothing.localhost:{port}/", ""),  # a name that leads nowhere is not opened by goto either
    ],
)
def test_what_is_proposed_after_a_refusal_can_be_opened(tool, site, target, hint):
    port = free_port()
    target, hint = target.format(port=port), hint.format(port=port)
    site.pages["/on"] = lambda visit: visit.send_on(target)
    text = use(tool, f"goto('{site.url('/on')}')").text
    assert "was not reached" in text
    assert (hint in text) if hint else ("opens it" not in text)
    again = use(tool, f"goto('{target}')").text
    assert "goto('http" not in again.partition(f"goto('{target}')")[2]
    assert "only its own pages" not in again


def test_where_a_redirect_was_refused_the_call_failed(tool, site):
    seen = use(tool, f"goto('{site.url('/to-private')}')")
    assert seen.is_error
    assert "10.1.2.3:80 was not reached" in seen.error


@pytest.mark.parametrize("bid", ["e9999", "f9e1", "f1e999", "f999999e1"])
def test_an_element_that_is_not_there_is_named_also_in_frames(tool, site, bid):
    use(tool, f"goto('{site.url()}')")
    assert f"there is no element {bid} on the page now" in use(tool, f"click('{bid}')").error


@pytest.mark.parametrize("bid", ["button-1", "textbox-2", "#id", "Send"])
def test_what_is_no_id_is_not_suggested_as_one(tool, bid):
    with pytest.raises(ArgumentError) as refused:
        tool.action_from_arguments({"code": f"click('{bid}')"})
    assert "ids look like e12" in str(refused.value)
    assert "did you mean" not in str(refused.value)


EMBEDDED = [
    b"<embed src='/doc.pdf' type='application/pdf'>",
    b"<object data='/doc.pdf' type='application/pdf'></object>",
    b"<p>Text</p><iframe src='/doc.pdf'></iframe>",
]


def test_a_page_without_elements_names_its_type(tool, site):
    assert "(this is a PDF" in use(tool, f"goto('{site.url('/doc.pdf')}')").text
    assert "(the page is empty)" in use(tool, f"goto('{site.url('/blank')}')").text
    for body in EMBEDDED:
        site.pages["/embedded"] = page(body)
        text = use(tool, f"goto('{site.url('/embedded')}')").text
        assert f"({site.url('/doc.pdf')} is a PDF" in text
        assert ("Text" in text) == (b"Text" in body)
        assert "is empty" not in text


@pytest.mark.parametrize("kind", ["image/svg+xml", "image/png", "video/mp4"])
def test_a_document_that_has_no_elements_keeps_its_tab(tool, site, kind):
    site.pages["/other"] = page(b'<svg xmlns="http://www.w3.org/2000/svg"></svg>', kind)
    seen = use(tool, f"goto('{site.url()}')", f"goto('{site.url('/other')}')")
    assert f"(this is {kind} and has no elements to read)" in seen.text
    assert "closed" not in seen.text
    assert use(tool, "go_back()").title == "Order"


REACHING = """<title>{title}</title><h1>{title}</h1><img src="{to}/img"><iframe src="{to}/frame"></iframe>
<a href="{to}/link">Over</a><script>
fetch('{to}/fetch', {{mode: 'no-cors', method: 'POST', body: 'x'}}).catch(() => 0)
new WebSocket('{to}/socket'.replace('http', 'ws'))</script>"""


def test_local_server_gets_no_requests_from_other_sites_pages(tool):
    def paths() -> set[str]:
        return {visit.path for visit in own.visits}

    with Site() as own, Site(address="127.0.0.2") as other:
        to = own.url().rstrip("/")
        own.pages["/"] = page(REACHING.format(title="Own", to=to).encode())
        own.pages["/link"] = page(b"<title>Linked</title>")
        other.pages["/"] = page(REACHING.format(title="Other", to=to).encode())
        other.pages["/jump"] = lambda visit: visit.send_on(f"{to}/jumped")
        assert use(tool, f"goto('{to}/')").title == "Own"
        eventually(lambda: {"/img", "/frame", "/fetch", "/socket"} <= paths(), "its own page reaches it")
        own.visits.clear()
        seen = use(tool, f"goto('{other.url()}')")
        assert seen.title == "Other"
        assert f"127.0.0.1:{own.port} was not reached" in seen.text
        assert "only its own pages reach it" in seen.text
        use(tool, f"click('{id_of(seen, 'Over')}')", "noop(300)")
        use(tool, f"goto('{other.url('/jump')}')")
        assert paths() == set()
        assert use(tool, f"goto('{to}/link')").title == "Linked"  # the agent itself may open it
        assert paths() - {"/favicon.ico"} == {"/link"}


def test_invalid_certificate_is_reported_and_the_page_not_opened(tool):
    with Site({"/": page(b"<h1>secret</h1>")}, tls=True) as site:
        seen = use(tool, f"goto('{site.url()}')")
    assert seen.is_error
    assert "the certificate of" in seen.error
    assert "secret" not in seen.text
    assert site.visits == []


def test_unresponsive_server_is_reported(tool):
    seen = use(tool, f"goto('http://127.0.0.1:{free_port()}/')")
    assert "could not be reached" in seen.text
    assert "cannot be opened safely" in use(tool, "goto('http://127.0.0.1:9/')").error


def test_long_page_is_cut_with_a_notice(tool, site):
    seen = use(tool, f"goto('{site.url('/long')}')")
    assert len(seen.text) < 17_000
    assert "lines omitted" in seen.text


def test_endless_and_hanging_pages_do_not_block(chromium, site, tmp_path):
    state = tmp_path / "state"
    with BrowserTool(tmp_path, state_dir=state, executable=chromium, seconds=4, pictures=False) as tool:
        seen = use(tool, f"goto('{site.url('/half')}')")
        assert "had not loaded to its end" in seen.text
        assert "The beginning" in seen.text
        assert [part.type for part in seen.content] == ["text"]
        seen = use(tool, f"goto('{site.url('/hangs')}')")
        seen = use(tool, f"click('{id_of(seen, 'Hang')}')")
        assert "did not answer any more and was closed" in seen.text
        results, executor = [], tool.executor
        assert isinstance(executor, BrowserExecutor)
        thread = threading.Thread(target=lambda: results.append(use(tool, "noop(10000)", "noop(10000)")))
        thread.start()
        eventually(lambda: executor._running, "it does not run")
        tool.interrupt()
        thread.join(30)
        assert "nterrupted" in results[0].error
        assert use(tool, f"goto('{site.url('/two')}')").title == "Second"
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if any(str(state) in word for word in process.cmdline()):  # not the browser of the other tests
                    process.kill()
        lost = use(tool, "noop(0)")
        assert lost.is_error
        tool.executor.recall({})
        assert "was restarted" in use(tool, "noop(0)").text
        assert use(tool, f"goto('{site.url('/two')}')").title == "Second"
    assert not (tmp_path / "downloads").exists()


OWNER = """
import sys
from workbench.tools.browser.definition import BrowserAction, BrowserTool
tool = BrowserTool(sys.argv[1], executable=sys.argv[2])
seen = tool(BrowserAction(code="goto('about:blank')"))
print("ready" if not seen.is_error else seen.text, flush=True)
sys.stdin.read()
"""


def test_death_of_the_owner_and_close_leave_no_process(chromium, tmp_path):
    command = [sys.executable, "-c", OWNER, str(tmp_path), chromium]
    env = {**os.environ, "OPENAI_API_KEY": "sk-of-the-test"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "ready\n"
        below = psutil.Process(owner.pid).children(recursive=True)
        names = {process.name() for process in below}
        assert any("chrom" in name for name in names), names
        assert not any(
            "sk-of-the-test" in "".join(process.environ().values()) for process in below if process.is_running()
        )
        owner.send_signal(signal.SIGKILL)
    eventually(lambda: not any(process.is_running() and process.status() != "zombie" for process in below), "left")


def test_missing_chromium_or_playwright_is_reported_with_how_to_install_it(tmp_path, monkeypatch):
    with BrowserTool(tmp_path, executable="/no/such/browser") as tool:
        assert "`executable` in [tools.browser]" in use(tool, "noop()").error
    with BrowserTool(tmp_path, executable="/bin/false") as tool:
        assert "/bin/false could not be started" in use(tool, "noop()").error
    caged = tmp_path / "caged-chromium"
    caged.write_text("#!/bin/sh\necho 'No usable sandbox! If this is a Debian system' >&2\nexit 1\n")
    caged.chmod(0o755)
    with BrowserTool(tmp_path, executable=str(caged)) as tool:
        assert "install chromium-sandbox" in use(tool, "noop()").error
    monkeypatch.setattr(finding, "find_program", lambda *names, **more: None)
    monkeypatch.setattr(finding, "_APPS", ())
    with BrowserTool(tmp_path) as tool:
        assert "there is no Chromium" in use(tool, "noop()").error
        assert "apt-get install chromium" in use(tool, "noop()").text
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with BrowserTool(tmp_path) as tool:
        assert ".[browser]" in use(tool, "noop()").text
    with pytest.raises(UsageError, match=r"there is no playwright"):  # so it is not offered, and the notice says why
        resolve_tool(Tool("browser"), ToolContext(str(tmp_path)))


def test_browser_is_created_for_a_session_by_name(tmp_path):
    (tool,) = resolve_tool(Tool("browser", {"private": ["10.0.0.0/8"]}), ToolContext(str(tmp_path), tmp_path / "state"))
    with tool:
        assert not tool.is_read_only
        assert "security_risk" in tool.to_openai_tool()["function"]["parameters"]["required"]


def test_compiled_driver_is_cached_for_the_next_start(tool, site):
    assert not use(tool, "noop(0)").is_error
    directory = Path(os.environ["XDG_DATA_HOME"], "ohw", "browser-code")
    assert eventually(lambda: [*directory.glob("*/*")], "the driver to be kept", 60)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_system_program_is_started_without_its_wrapper_script(tmp_path, monkeypatch):
    script, program = tmp_path / "chromium", tmp_path / "lib"
    for each in (script, program):
        each.write_text("#!/bin/sh\n")
        each.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert finding.find_chromium() == str(script)
    monkeypatch.setitem(finding._LAUNCHERS, str(script), str(program))
    assert finding.find_chromium() == str(program)
    program.unlink()
    assert finding.find_chromium() == str(script)
