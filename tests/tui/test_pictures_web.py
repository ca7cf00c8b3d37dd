"""Golden pictures of reading the web: the question about an address and its result; `--snapshot-update`."""

from typing import Any

import pytest

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import MODEL, assess
from tests.tui.pictures import app_with, in_each_look, show_events, text_on
from tests.tui.sample_session import Script
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.risk.actions import assess_url
from workbench.tools.web_read.impl import page_of
from workbench.tools.web_read.pages import Document
from workbench.tui.open_screens import open_action
from workbench.tui.screens.pager import PagerScreen

URL = "https://docs.python.org/3/library/decimal.html"
TEXT = """# decimal: numbers with ten fingers

The `decimal` module gives exact arithmetic for amounts of money.

- Ten cents are held [as they are](https://docs.python.org/3/library/decimal.html#rounding), not as nearly ten cents.
- Three of them less thirty are nothing, to the last digit.

```python
from decimal import Decimal
Decimal("12.50") + Decimal("-3")
```
"""


def asked() -> Script:
    script = Script().start(model=MODEL).user("Which type should hold amounts? Look it up.")
    script.answer("I read what Python's documentation says about decimal numbers.")
    return script


def question() -> list[Any]:
    script = asked()
    name = script.propose("web_read", "UNKNOWN", "Read about decimal numbers", url=URL)
    assessment = assess_url(URL)
    always = ev.AlwaysChoice(
        label="Everything on docs.python.org", rules=("allow web_read in https://docs.python.org/**",)
    )
    assess(script, name, assessment.risk, reasons=assessment.reasons, always_choices=(always,))
    return [*script.events, live.EngineState(state="deciding")]


def answered() -> list[Any]:
    script = asked()
    document = Document(URL, "decimal — Python 3 documentation", "html", TEXT)
    seen = page_of(document, 1, is_cached=False).model_dump(mode="json")
    fields = {f"_{name}": value for name, value in seen.items() if name != "content"}
    script.run("web_read", seen["content"][0]["text"], "MEDIUM", url=URL, _seconds=0.84, **fields)
    script.answer("`Decimal` holds amounts exactly; floats do not.")
    script.add(ev.RunEnded, reason="finished", detail="")
    return [*script.events, live.EngineState(state="idle")]


@in_each_look
@pytest.mark.parametrize("state", [question, answered], ids=lambda state: state.__name__)
def test_reading_a_page(state, look, directory, picture):
    events = state()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        if state is answered:
            open_action(app, app.state, "a1", app.session.client)
            await wait_until(pilot, lambda: isinstance(app.screen, PagerScreen))
        words = "exact arithmetic" if state is answered else "reads from the network"
        await wait_until(pilot, lambda: words in text_on(app))

    assert picture(app, look, show)
