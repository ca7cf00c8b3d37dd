"""Secrets are masked wherever they stand and however they come; what only looks like one stays."""

import string
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.security.secret_stream import SecretStream
from workbench.security.secrets import Secrets, mask, masks_in

DIGITS = "0123456789abcdefABCDEF"
LONG = (DIGITS * 4)[:60]
JOINED = "".join  # so that no file of ours holds anything that looks like a key

SHAPED = {
    "AWS key": (JOINED(("AK", "IA", "Q3EGRFT5XYZ1ABCD")), "AWS key"),
    "GitHub token": (JOINED(("gh", "p_", LONG[:36])), "GitHub token"),
    "OpenAI key": (JOINED(("sk", "-proj-", LONG)), "API key"),
    "Anthropic key": (JOINED(("sk", "-ant-api03-", LONG)), "API key"),
    "Google key": (JOINED(("AI", "za", LONG[:35])), "Google key"),
    "Slack token": (JOINED(("xo", "xb-", "123456789012-abcdef")), "Slack token"),
    "web token": (JOINED(("ey", "JhbGciOiJI.ey", "JzdWIiOiIx.", LONG)), "web token"),
}
SPOKEN = {
    "header": ("Authorization: Bearer {}", "abcdef0123456789abcdef"),
    "curl": ("curl -H 'authorization: token {}' https://x.example", "abcdef0123456789abcdef"),
    "address": ("postgres://user:{}@db.example/x", "hunter2"),
    "netrc": ("machine x.example login me password {}", "hunter2"),
    "file of variables": ("A=1\nexport DB_PASSWORD='{}'\nB=2", "tr0ub4dor"),
    "file with ends of another system": ("MY_TOKEN={}\r\nB=2\r\n", "abc123def456"),
}
ORDINARY = """
4a71ebf2c0ffee00112233445566778899aabbcc
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
123e4567-e89b-12d3-a456-426614174000
sk-learn and task-0123456789-abcdefghijklmnop
API_KEY = os.environ["API_KEY"]
MAX_TOKEN=100000000
TOKEN=$GITHUB_TOKEN
password = getpass.getpass()
https://example.com/a?b=c#d
git@github.com:owner/repository.git
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB public
The bearer of bad news
monkey=banana1234
"""


@pytest.mark.parametrize("name", SHAPED)
def test_a_key_of_a_known_shape_is_masked(name):
    key, said = SHAPED[name]
    assert Secrets().masked(f"a {key}, b") == f"a {mask(said)}, b"


@pytest.mark.parametrize("name", SPOKEN)
def test_a_secret_is_known_by_what_stands_around_it(name):
    text, secret = SPOKEN[name]
    found = Secrets().masked(text.format(secret))
    assert secret not in found
    before, _, after = text.partition("{}")
    assert found.startswith(before) and found.endswith(after)  # noqa: PT018 - one promise


def test_a_private_key_goes_as_a_whole_even_when_its_end_is_missing():
    begin, end = (f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END"))
    for text in (f"x\n{begin}\nMIIE\nabcd\n{end}\ny", f"x\n{begin}\nMIIE\nabcd"):
        assert "MIIE" not in Secrets().masked(text)
        assert "abcd" not in Secrets().masked(text)
    assert Secrets().masked(f"{begin}\nMIIE\n{end}\ny").endswith(f"{end}\ny")


@pytest.mark.parametrize("line", ORDINARY.strip().splitlines())
def test_what_is_no_secret_stays(line):
    assert Secrets().masked(line) == line


def test_values_that_are_known_are_masked_by_their_name():
    secrets = Secrets()
    secrets.add_all({"OPENAI_API_KEY": "abcdefgh12345", "HOME": "/home/u", "EDITOR": "emacs-28", "A_TOKEN": "short"})
    secrets.add("key of fast", "zyxwv-98765")
    assert secrets.masked("k=abcdefgh12345; zyxwv-98765!") == f"k={mask('OPENAI_API_KEY')}; {mask('key of fast')}!"
    assert secrets.masked("/home/u emacs-28 short") == "/home/u emacs-28 short"


def test_plain_data_is_masked_in_its_texts_alone():
    secrets = Secrets()
    secrets.add("K", "abcdefgh12345")
    data = {"content": [{"type": "text", "text": "abcdefgh12345"}, {"type": "image", "data": "abcdefgh12345"}], "n": 1}
    assert secrets.masked_data(data)["content"] == [{"type": "text", "text": mask("K")}, data["content"][1]]


def test_a_mask_in_arguments_is_found():
    assert masks_in(["a", {"edits": [{"new": f"K={mask('K')}"}]}]) == mask("K")
    assert masks_in(["a ‹b› secret", 3, None]) is None


TEXTS = st.lists(
    st.sampled_from(["abcdefgh12345", "key ", "\n", " ", "a", "gh", "p_", LONG[:36], "Authorization: Bearer "])
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(TEXTS.map("".join), st.lists(st.integers(0, 200), max_size=12))
def test_a_secret_that_comes_in_pieces_is_masked_as_one_that_comes_whole(text, cuts):
    secrets = Secrets()
    secrets.add("K", "abcdefgh12345")
    stream = SecretStream(secrets)
    ends = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    shown = "".join(stream.feed(text[start:end]) for start, end in pairwise(ends)) + stream.rest()
    assert shown == secrets.masked(text)


def test_a_question_at_the_end_of_a_line_is_shown_at_once():
    assert SecretStream(Secrets()).feed("Continue? [y/n] ") == "Continue? [y/n] "


def test_a_line_without_an_end_is_not_held_for_ever():
    stream = SecretStream(Secrets())
    assert sum(len(stream.feed("x" * 1000)) for _ in range(100)) > 90_000


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(alphabet=string.printable + "é‹›\x1b", max_size=200))
def test_masking_is_total_and_done_once(text):
    once = Secrets().masked(text)
    assert Secrets().masked(once) == once


def test_masking_is_quick():
    secrets = Secrets()
    for number in range(10):
        secrets.add(f"K{number}", f"value-of-key-{number:04}")
    text = "INFO 12:00:01 module.name: a line of an ordinary log with some words in it, id=4a71ebf2c0\n" * 1100
    spent = []
    for _ in range(5):
        began = time.process_time()
        secrets.masked(text)
        spent.append(time.process_time() - began)
    assert min(spent) < 0.01  # 1 ms on a machine that is free
