"""A session in which a cell draws a plot, and one in which a form is to be filled in a browser."""

from __future__ import annotations

import base64
import io
from typing import Any

from PIL import Image

from tests.tui.picture_sessions import MODEL, answered, assess
from tests.tui.sample_session import Script
from workbench.protocol import events as ev
from workbench.protocol import live

HEIGHTS = (3, 5, 4, 8, 12, 9, 14, 18, 16, 21)
CODE = "import matplotlib.pyplot as plt\nplt.bar(range(10), amounts)\nplt.show()"


def plot() -> str:
    """Return a plot of whole pixels as an image, small enough to be shown the same on every screen."""
    image = Image.new("RGB", (64, 28), "white")
    for number, height in enumerate(HEIGHTS):
        image.paste((31, 119, 180), (4 + number * 6, 26 - height, 8 + number * 6, 26))
    image.paste((60, 60, 60), (2, 26, 63, 27))
    image.paste((60, 60, 60), (2, 1, 3, 27))
    out = io.BytesIO()
    image.save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()


def with_plot(output: str = "[picture 1]") -> list[Any]:
    """Return the events up to the plot."""
    script = Script().start(model=MODEL)
    script.user("How do the amounts grow?")
    answered(script, "I draw them.", 2_100)
    blocks = [{"type": "text", "text": output}, {"type": "image", "data": plot(), "mime_type": "image/png"}]
    script.run(
        "execute_ipython_cell", "", "MEDIUM", code=CODE, _content=blocks, _output=output, _count=2, _seconds=0.42
    )
    return [*script.events, live.EngineState(state="idle")]


FORM = "fill('e5', 'Ada Lovelace')\nselect_option('e8', ['monthly'])\nclick('e11')"


def browser_form() -> list[Any]:
    """Return the events up to the sending of a filled-in form."""
    script = Script().start(model=MODEL)
    script.user("Sign me up for the report of example.org.")
    answered(script, "I open the page.", 2_300)
    page = "Address: https://example.org/report\nTitle: The report\n\n" + TREE
    script.run("browser", page, "MEDIUM", code="goto('https://example.org/report')", _url="https://example.org/report")
    answered(script, "The form asks for a name and how often it should come.", 3_000)
    action = script.propose("browser", "MEDIUM", "Fill in the form and send it", code=FORM)
    what = {
        "fill('e5', 'Ada Lovelace')": 'fills textbox "Name" on example.org',
        "select_option('e8', ['monthly'])": 'chooses in combobox "How often" on example.org',
        "click('e11')": 'clicks button "Send" on example.org',
    }
    parts = tuple(ev.Segment(text=text, risk="MEDIUM", reason=reason) for text, reason in what.items())
    assess(script, action, "MEDIUM", segments=parts, reasons=tuple(what.values()))
    return [*script.events, live.EngineState(state="deciding")]


TREE = """- heading "The report" [level=1] [ref=e2]
- generic [ref=e3]:
  - textbox "Name" [ref=e5]
  - combobox "How often" [ref=e8]:
    - option "weekly" [selected]
    - option "monthly"
  - button "Send" [ref=e11]"""
