"""The engine's end of a session's socket that only streams an answer; run by `terminal_bench`.

`python -m tests.bench.streaming_engine SOCKET SEQ`: each client gets 500 tokens a second, batched as by an engine.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from workbench.engine.broadcast import Broadcast
from workbench.engine.front_ends import FrontEnd, FrontEnds
from workbench.engine.sockets import listen
from workbench.protocol.commands import Hello
from workbench.protocol.live import EngineState, TextDelta

TOKENS_A_SECOND = 500
_PARAGRAPH = 250
_STEP = 0.01


async def _serve(path: Path, last: int) -> None:
    screens = FrontEnds()
    broadcast = Broadcast(asyncio.get_running_loop(), screens.forward)

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        screen = FrontEnd(writer, last)
        screen.send(Hello(seen=last, pid=os.getpid()))
        screens.add(screen)
        broadcast.live(EngineState(state="thinking"))
        await reader.read()

    server = await asyncio.start_unix_server(greet, sock=listen(path))
    print("listening", flush=True)
    async with server:
        while not len(screens):
            await asyncio.sleep(_STEP)
        await _stream(broadcast)


async def _stream(broadcast: Broadcast) -> None:
    loop, given = asyncio.get_running_loop(), 0
    begun = loop.time()
    while True:
        while given < (loop.time() - begun) * TOKENS_A_SECOND:
            given += 1
            broadcast.live(TextDelta(text=f"word{given % 97}" + ("\n\n" if given % _PARAGRAPH == 0 else " ")))
        await asyncio.sleep(_STEP)


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]), int(sys.argv[2])))
