"""The servers that a session has started on another machine, as text with the commands that lead to them."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.client.ssh_url import SshUrl
from workbench.protocol.live import ListeningPort, ListeningPorts
from workbench.text import visible

_HOW = "No port is forwarded by itself. Run such a line in another terminal here, then open http://localhost:PORT."


def ports_text(answer: ListeningPorts | None, url: SshUrl) -> str:
    """Return the list of ports; None as long as the engine has not answered."""
    host = visible(url.host, lines=False)
    if answer is None:
        return f"Ports on {host}: not known yet."
    if answer.ports is None:
        return f"Ports on {host}: its system does not say which programs listen."
    if not answer.ports:
        return f"Ports on {host}: no program that the session's shell has started listens on one."
    lines = [line for port in answer.ports for line in _lines(port, url)]
    more = () if all(port.is_isolated for port in answer.ports) else ("", _HOW)
    return "\n".join((f"Ports on {host} on which programs of the session's shell listen:", *lines, *more))


def _lines(port: ListeningPort, url: SshUrl) -> Iterator[str]:
    yield f"  {port.port:<5}  {visible(port.program, lines=False)}"
    if port.is_isolated:
        yield "         in the sandbox, which has a network of its own: no connection leads there"
    else:
        yield f"         {url.forwarding(port.port, port.host)}"
