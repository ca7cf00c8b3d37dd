"""Lines are followed by content, from the newest state of a file back to the one that introduced them."""

import random

import pytest

from workbench.session.blame.line_tracing import LineTracer


def traced(*texts: str) -> list[int]:
    return LineTracer([str(hash(text)) for text in texts], lambda index: texts[index]).origins()


def lines(*names: str) -> str:
    return "".join(f"the whole line {name}\n" for name in names)


ABC = lines("a", "b", "c")
CASES = {
    "nothing changed": ([ABC], [0, 0, 0]),
    "a line was inserted": ([ABC, lines("a", "x", "b", "c")], [0, 1, 0, 0]),
    "a line was changed": ([ABC, lines("a", "B", "c")], [0, 1, 0]),
    "a line was removed": ([ABC, lines("a", "c")], [0, 0]),
    "each line has its own change": (["", lines("a"), lines("a", "b"), lines("0", "a", "b")], [3, 1, 2]),
    "changed twice": ([ABC, lines("a", "x", "c"), lines("a", "y", "c")], [0, 2, 0]),
    "the file was emptied and restored": ([ABC, "", ABC], [0, 0, 0]),
    "the file was emptied and written differently": ([ABC, "", "x\n"], [2]),
    "a change was undone": ([ABC, lines("a", "x", "y", "c"), ABC], [0, 0, 0]),
    "a change was undone but for a line": (
        [ABC, lines("z"), lines("a", "new", "b", "c")],
        [0, 2, 0, 0],
    ),
    "a line was undone and another one added": (
        [ABC, lines("a", "x", "b", "c"), ABC, lines("a", "b", "x", "c", "d")],
        [0, 0, 1, 0, 3],
    ),
    "lines moved in one change": ([lines("f", "g", "a", "b", "c"), lines("a", "b", "c", "f", "g")], [0] * 5),
    "a line was cut and pasted later": ([ABC, lines("b", "c"), lines("b", "c", "a")], [0, 0, 0]),
    "braces are not recognized elsewhere": (
        [
            "int f() {\n  return one_number;\n}\n",
            "int f() {\n  return one_number;\n",
            "}\nint f() {\n  return one_number;\n",
        ],
        [2, 0, 0],
    ),
    "the ends of the lines changed": ([ABC, ABC.replace("\n", "\r\n")], [0, 0, 0]),
    "the last line lost its end": ([ABC, ABC.rstrip("\n")], [0, 0, 0]),
    "a rebase took the agent's lines away and brought them back below another's": (
        [
            ABC,
            lines("a", "agent", "b", "c"),
            ABC,
            lines("upstream", "a", "b", "c"),
            lines("upstream", "a", "agent", "b", "c"),
        ],
        [3, 0, 1, 0, 0],
    ),
    "the empty file": (["", ABC, ""], []),
}


@pytest.mark.parametrize(("texts", "origins"), CASES.values(), ids=CASES)
def test_origins(texts, origins):
    assert traced(*texts) == origins


def test_every_line_of_a_random_history_belongs_to_the_state_that_introduced_it():
    """All lines are different and none returns, so each one's first state is its origin."""
    for seed in range(30):
        chance = random.Random(seed)
        present: list[str] = []
        texts, number = [""], 0
        for _ in range(chance.randint(1, 40)):
            for _ in range(chance.randint(0, 4)):
                number += 1
                present.insert(chance.randint(0, len(present)), f"line number {number:06} of the file\n")
            for _ in range(chance.randint(0, 2)):
                if present:
                    present.pop(chance.randrange(len(present)))
            texts.append("".join(present))
        first = {line: next(at for at, text in enumerate(texts) if line in text) for line in present}
        assert traced(*texts) == [first[line] for line in present]


def test_each_text_is_read_once_but_the_last_and_none_once_all_lines_are_traced():
    texts = [lines(*(str(number) for number in range(count))) for count in range(50)]
    texts.append(lines("alone"))
    read: list[int] = []
    tracer = LineTracer([str(hash(text)) for text in texts], lambda index: read.append(index) or texts[index])
    assert tracer.origins() == [50]
    assert [number for number in read if read.count(number) > 1] in ([], [50, 50])
