"""nc and its kin: whether a port answers is a question; all else is a connection to anywhere. And the programs that
show the network, or change it.
"""

from __future__ import annotations

import re

from workbench.risk.shell.call import Call, Spec
from workbench.risk.shell.tools.rule import Rule, words

_LOCAL = re.compile(r"localhost|127(?:\.\d+){1,3}|::1|0\.0\.0\.0")
_FLAGS = re.compile(r"-[zvnw46\d]+")


def _nc(call: Call) -> None:
    options, operands = call.options(Spec(values=words("-w -i")))
    asks = any(option.flag == "-z" for option in options) and all(_FLAGS.fullmatch(option.flag) for option in options)
    if asks and operands and not call.piped and not call.has_input and all(word.is_literal for word in operands):
        local = bool(_LOCAL.fullmatch(operands[0].text))
        call.raise_to("MEDIUM", "asks whether a port of this machine answers" if local else "asks another machine")
    else:
        call.raise_to("HIGH", "opens a connection to anywhere")


_SETS = words("up down add del delete change replace set flush netmask mtu hw promisc -K --kill -d -s -f kill restart")


def _network(call: Call) -> None:
    """`ip`, `ifconfig`, `route`, `arp`, `ss` show, but for a word that sets."""
    texts = [word.text for word in call.words]
    if call.name == "ip":
        call.raise_to("MEDIUM", "shows the network")
        if texts[:1] == ["netns"] and "exec" in texts:
            call.run_words(call.words[texts.index("exec") + 2 :])
    if not _SETS.isdisjoint(texts) and not (call.name == "ss" and not {"-K", "--kill"} & set(texts)):
        call.raise_to("HIGH", "changes the network")


RULES: dict[str, Rule] = {
    **dict.fromkeys(words("nc ncat netcat"), _nc),
    **dict.fromkeys(words("ip ifconfig route arp ss"), _network),
}
