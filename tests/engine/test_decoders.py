"""Decoders are made by one thread at a time: msgspec ends the process if two prepare the same structs at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import msgspec
import pytest

from workbench.protocol import commands, events

MAKERS: tuple[Callable[[], object], ...] = (
    commands._message_decoder.__wrapped__,
    commands._hello_decoder.__wrapped__,
    events._decoder.__wrapped__,
)


def test_no_two_decoders_of_the_protocol_are_made_at_once(monkeypatch: pytest.MonkeyPatch):
    making, most = [], []
    original = msgspec.json.Decoder

    def slow(kind: object) -> object:
        making.append(kind)
        most.append(len(making))
        time.sleep(0.02)
        making.pop()
        return original(kind)

    monkeypatch.setattr(msgspec.json, "Decoder", slow)
    threads = [threading.Thread(target=maker) for maker in MAKERS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * len(MAKERS)
