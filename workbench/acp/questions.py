"""A question from the agent that the user answers with text: shown as a message, and answered by the next prompt."""

from __future__ import annotations

from workbench.text import visible
from workbench.tools.ask_human.question import Question, read_question, who_asks
from workbench.view.state import ActionItem


def question_text(item: ActionItem) -> str:
    """Return the question as Markdown, with the offered answers as a numbered list."""
    question = read_question(item.arguments)
    asker = "" if not item.agent else f"{who_asks(item.agent).capitalize()} asks: "
    options = "".join(f"\n{number}. {visible(text, lines=False)}" for number, text in enumerate(question.options, 1))
    how = "Answer with a number or in your own words." if options else "Your next message is the answer."
    return f"\n\n{visible(asker + question.text)}\n{options}\n\n{how}"


def chosen_answer(question: Question, text: str) -> str:
    """Return the offered answer whose number the message consists of; otherwise the message itself."""
    text = text.strip()
    is_number = text.isascii() and text.isdecimal() and 0 < int(text) <= len(question.options)
    return question.options[int(text) - 1] if is_number else text
