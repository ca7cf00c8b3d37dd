"""Brace expansion: as bash does it, for words without quotes; compared with the real one."""

import random
import shutil
import subprocess

import pytest

from workbench.risk.shell.words import spread
from workbench.risk.word import Word

KNOWN = (
    *("{a,b}", "x{a,b}y", "{1..3}", "{03..1}", "{a..e..2}", "{a,{b,c}d}", "{}", "{a}", "{a,b", "a}", "{a,b}{c,d}"),
    *("{,x}", "{git,push}", "{-1..2}", "{5..1..2}", "{{a,b}}", "{a,b}}", "{{a,b},c}", "{a..}", "{1..a}", "{01..10}"),
    *("a{b,c}{d}e", "{a,,b}", "{,}", "x{,}", "{..}", "{1..2}{", "{-01..2}", "{a,b}{1..2}", "{a{b},c}", "{a..c}.{x,y}"),
    *(
        "{+1..+3}",
        "{1..03}",
        "{-1..03}",
        "{+01..3}",
        "{1..-03}",
        "{3..1..+2}",
        "{000..3}",
        "{-0..2}",
        "{+0000000001..2}",
        "{0..0}",
    ),
    *(
        "{1..9223372036854775808}",
        "{9223372036854775806..9223372036854775807}",
        "{1..9..9223372036854775807}",
        "{1..٣}",
    ),
)


@pytest.mark.skipif(shutil.which("bash") is None, reason="compares with bash")
@pytest.mark.starts
def test_braces_expand_as_in_bash():
    rng = random.Random(5)
    words = [*KNOWN, *("".join(rng.choices("{},.a120+-{}..,", k=rng.randint(3, 9))) for _ in range(2000))]
    script = "\n".join(f"for w in {word}; do printf '%s ' \"$w\"; done; echo" for word in words)
    done = subprocess.run(["bash", "--norc"], input=script, capture_output=True, text=True, check=True, timeout=60)
    for word, printed in zip(words, done.stdout.split("\n"), strict=False):
        assert [each.text for each in spread([Word(word, word, True)])] == printed.split(), word


def test_braces_that_expand_to_too_many_words_stay_unexpanded():
    for text in ("{1..1000}", "{a,b}" * 9, "{1..60}{1..60}", '"$x"{a,b}', "{a," * 400):
        word = Word(text, text, True)
        assert spread([word]) == [word]
