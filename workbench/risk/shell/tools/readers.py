"""Programs that print what they read."""

from __future__ import annotations

import re

from workbench.risk.shell.call import Call, Spec, flags
from workbench.risk.shell.tools.rule import Rule, flag_names, shown_variables, words
from workbench.risk.shell.words import literal
from workbench.secrets.names import holds_secret

_RUNS = "runs another program"
_SPLIT = Spec("MEDIUM", "writes files", flags=flags("HIGH", _RUNS, "--filter"), values=words("-l -b -n -a -f --prefix"))


def _split(call: Call) -> None:
    """The parts are called after the second operand, or a flag's value."""
    call.apply(_SPLIT)
    options, operands = call.options(_SPLIT)
    given = [option.value for option in options if option.flag in {"-f", "--prefix"} and option.value]
    prefix = given or ([literal("xx")] if call.name == "csplit" else operands[1:] or [literal("x")])
    call.use(prefix[0]._replace(text=f"{prefix[0].text}*", is_pattern=True), "write")


def _yq(call: Call) -> None:
    """With `-i` the files that follow the expression are written; its operators read files and variables."""
    options, operands = call.options(Spec(skip=1))
    if {"-i", "--inplace"} & flag_names(options):
        call.raise_to("MEDIUM", "changes files in place")
        for word in operands:
            call.use(word, "write")
    for word in call.words:
        if re.search(r"\b(?:str)?env(?:subst)?\b|\$ENV|\$__env", word.text):
            call.raise_to(*shown_variables(word.text))
        if re.search(r"\bload(?:_\w+)?\s*\(", word.text):
            call.raise_to("MEDIUM", "reads a file that its program names")
        if re.search(r"\bsystem\s*\(", word.text):
            call.raise_to("HIGH", _RUNS)


RULES: dict[str, Rule] = {
    "yq": _yq,
    "split": _split,
    "csplit": _split,
    "mail": Spec("HIGH", "sends a message", operands="text"),
}


def _dc(call: Call) -> None:
    """The calculator that also runs commands."""
    text = " ".join([*(word.text for word in call.words), call.stdin or ""])
    if "!" in text or call.piped or (call.has_input and call.stdin is None):
        call.raise_to("HIGH", "may run a command")


def _less(call: Call) -> None:
    if any(word.text.startswith("+") and word.text[1:].lstrip("0123456789gGF") != "" for word in call.words):
        call.raise_to("HIGH", "gives the pager a command")


_JQ_READS = re.compile(r"(?<![.\w\"$])(?:import|include)\b")


_JQ_FILE = re.compile(r"-[a-zA-Z]*f|--from-file(?:=.*)?", re.DOTALL)


def _jq(call: Call) -> None:
    """Its program may name a module, which is a file from anywhere, or look at variables."""
    for word in call.words:
        if re.search(r"(?<![.\w\"])(?:env|\$ENV|\$__prog_args)\b", word.text):
            call.raise_to(*shown_variables(word.text))
        if _JQ_FILE.fullmatch(word.text):
            call.raise_to("MEDIUM", "runs a program that stands in a file")
        if _JQ_READS.search(word.text):
            call.raise_to("MEDIUM", "reads a module that its program names")


def _ps(call: Call) -> None:
    """Without a dash in front, `e` shows the variables of each process."""
    if any(re.fullmatch(r"[a-zA-Z]*e[a-zA-Z]*", word.text) for word in call.words[:1]):
        call.raise_to("MEDIUM", "prints the variables of processes, secrets among them")


def _printenv(call: Call) -> None:
    call.raise_to("MEDIUM", "prints the variables of the surroundings, secrets among them")
    if any(holds_secret(word.text) for word in call.words):
        call.raise_to("HIGH", "prints a secret")


RULES |= {
    **dict.fromkeys(("jq", "gojq", "jaq"), _jq),
    **dict.fromkeys(("less", "more", "zless"), _less),
    "ps": _ps,
    "dc": _dc,
    "printenv": _printenv,
}
