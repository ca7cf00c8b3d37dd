"""The network of a container: a proxy inside asks the session whose command runs, and nothing else leads out."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import pytest

from tests.containers.images import WITH_BASH, Engine, in_each_engine
from tests.containers.test_commands import failure_of, ours
from tests.sandbox import Sandbox as User
from tests.sandbox import bash as bash_turn
from tests.sandbox import finish
from tests.walls.proxy_client import HOST, Server, policy
from tests.walls.shells import bash, shell_in
from workbench.processes.landlock_network import PROXY_PORT
from workbench.processes.leftovers import mark
from workbench.protocol.live import EngineState
from workbench.sandbox.container import LABEL, Container
from workbench.sandbox.container_network import ContainerNetwork
from workbench.sandbox.container_runtime import ContainerRuntime
from workbench.sandbox.host_access import HostRequest, HostVerdict
from workbench.tools.execute_bash import BashTool


def hello(connection: socket.socket) -> None:
    """Answer any request."""
    connection.recv(4096)
    connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nhello from outside\n")


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server(hello)
    yield one
    one.close()


@dataclass
class Decider:
    """A session that decides on hosts."""

    allows: bool
    runs: bool = True
    asked: list[str] = field(default_factory=list)

    def is_running(self, label: str) -> bool:
        return self.runs

    def decide(self, request: HostRequest) -> HostVerdict:
        self.asked.append(request.host)
        return HostVerdict(self.allows, "" if self.allows else "the user rejected it")


@pytest.fixture
def asking(opened: Callable[..., Container]) -> Container:
    container = opened(policy=policy())
    assert failure_of(container) == ""
    return container


@pytest.fixture
def shell(asking: Container, user: User) -> Iterator[BashTool]:
    yield from shell_in(asking, user)


def fetch(shell: BashTool, server: Server, host: str = HOST):
    return bash(shell, _request(f"http://{host}:{server.port}/"), timeout=15)


def _request(url: str) -> str:
    """Return a command that fetches a URL through the proxy that the variable names, and fails without an answer."""
    # wget of the static busybox crashes where it is given a proxy
    return f"""proxy=${{http_proxy#http://}}
    printf 'GET {url} HTTP/1.0\\r\\n\\r\\n' | nc -w 30 ${{proxy%:*}} ${{proxy#*:}} > got
    head -n 1 got | grep -q ' 200 ' && tail -n 1 got"""


def ask_from(container: Container, decider: Decider) -> Callable[[], None]:
    assert container.network is not None
    return container.network.ask_from(decider)


@in_each_engine
def test_a_host_is_reached_once_the_session_allows_it(asking: Container, shell: BashTool, server: Server):
    decider = Decider(allows=True)
    ask_from(asking, decider)
    assert fetch(shell, server).output == "hello from outside\n"
    assert decider.asked == [HOST]


def test_a_refused_host_is_not_reached_and_the_result_names_it(asking: Container, shell: BashTool, server: Server):
    ask_from(asking, Decider(allows=False))
    done = fetch(shell, server)
    assert done.exit_code > 0
    assert f"[The container refused {HOST}" in done.text
    assert server.connections == 0


def test_the_machine_itself_is_not_reached_even_if_it_is_allowed(asking: Container, shell: BashTool, server: Server):
    ask_from(asking, Decider(allows=True))
    assert fetch(shell, server, "127.0.0.1").exit_code > 0
    assert bash(shell, f"nc -w 3 127.0.0.1 {server.port} < /dev/null", timeout=15).exit_code == 1
    assert server.connections == 0


def test_a_sub_agents_session_decides_while_its_command_runs(asking: Container, shell: BashTool, server: Server):
    parent, child = Decider(allows=False, runs=False), Decider(allows=True)
    ask_from(asking, parent)
    end = ask_from(asking, child)
    assert fetch(shell, server).exit_code == 0
    assert (parent.asked, child.asked) == ([], [HOST])
    end()
    assert fetch(shell, server).exit_code > 0
    assert parent.asked == [HOST]


def test_a_host_that_one_of_the_running_sessions_refuses_is_not_reached(
    asking: Container, shell: BashTool, server: Server
):
    first, last = Decider(allows=False), Decider(allows=True)
    ask_from(asking, first)
    ask_from(asking, last)
    assert fetch(shell, server).exit_code > 0
    assert (first.asked, last.asked) == ([HOST], [HOST])
    assert server.connections == 0


def test_the_proxy_serves_the_container_that_replaces_one(
    asking: Container, shell: BashTool, server: Server, engine: Engine
):
    ask_from(asking, Decider(allows=True))
    bash(shell, "true")
    engine("kill", ours(engine))
    assert "was ended from outside" in bash(shell, "sleep 20", timeout=25).text + bash(shell, "true").text
    assert fetch(shell, server).output == "hello from outside\n"


@in_each_engine
def test_where_no_namespace_can_be_entered_the_runtime_starts_what_listens_in_it(
    opened: Callable[..., Container], user: User, server: Server, engine: Engine
):
    if engine.name == "podman" and os.getuid() != 0:
        pytest.skip("podman without root runs nothing in the network of another user namespace, and need not")
    container = opened(network="none")
    assert failure_of(container) == ""
    network, runtime = ContainerNetwork(policy()), ContainerRuntime.find(engine.name)
    name, decider = ours(engine), Decider(allows=True)
    no_process = 0
    network.serve(no_process, partial(runtime.beside_command, name=name, image=WITH_BASH, label=f"{LABEL}={mark()}"))
    network.ask_from(decider)
    for shell in shell_in(container, user):
        bash(shell, f"export http_proxy=http://127.0.0.1:{PROXY_PORT}")
        assert fetch(shell, server).output == "hello from outside\n"
    assert decider.asked == [HOST]
    assert ours(engine, "-a") == name
    network.close()


def test_without_a_proxy_in_the_container_its_network_is_none(opened: Callable[..., Container]):
    container = opened(policy=policy())
    assert failure_of(container) == ""
    assert container.with_container(EngineState(state="idle")).container_network == "ask"
    assert container.network is not None
    container.network.release()
    assert container.with_container(EngineState(state="idle")).container_network == "none"


def test_a_run_without_a_user_reaches_only_hosts_that_a_rule_allows(user: User):
    command = f"{_request('http://registry.invalid/')} || echo not reached"
    done = user.ohw(
        *("run", "--json", "--model", user.script(bash_turn(command), finish()), "--mode", "never"),
        *("--container", "localhost/ohw-test-bash", "go"),
    )
    assert "not reached" in done.stdout
    assert "[The container refused" in done.stdout
