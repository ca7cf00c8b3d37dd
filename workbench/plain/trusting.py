"""Plain mode asks whether to trust a folder as the screen does: before its session begins, and no by default."""

from __future__ import annotations

import asyncio

from workbench.errors import WorkbenchError
from workbench.plain.console import Console, LineAsker
from workbench.view.approval.trust import TrustQuestion, contents, kind_of, started_by

_PROMPT = "Trust this folder? Write yes, no or read: "


def ask_trust(console: Console, question: TrustQuestion) -> tuple[str, ...]:
    """What is trusted by the answer, for `Settings.trusted`."""
    try:
        question.answer(asyncio.run(_ask(console, question)))
    except WorkbenchError as error:
        console.say(f"{error}; you will be asked again.")
    return question.wait()


def _started(question: TrustQuestion, name: str) -> list[str]:
    return [f"    it would start {line}" for line in started_by(question, name)]


async def _ask(console: Console, question: TrustQuestion) -> bool:
    asker = LineAsker(console)
    asker.begin()
    console.listen(lambda line: asker.take("no" if line is None else line))
    names = [str(path.relative_to(question.folder)) for path in question.files]
    told = [line for name in names for line in (f"  {name}: {kind_of(name)}", *_started(question, name))]
    try:
        await asker.show(
            [
                f"The folder {question.folder} brings files of its own:",
                *told,
                "None of it has run, and none of it counts unless you say yes.",
                "Yes holds for exactly this content: a change asks again.",
            ]
        )
        while (said := (await asker.answer(_PROMPT)).strip().lower()) == "read":
            await asker.show([contents(question)])
    finally:
        console.deaf()
        console.ask("")
    console.say("The folder is trusted." if said == "yes" else "They are left out in this session.")
    return said == "yes"
