"""The messages of `execute_bash`, and the bytes to type for `is_input`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.text import visible
from workbench.tools.execute_bash.definition import CmdOutputMetadata, ExecuteBashObservation
from workbench.tools.execute_bash.keys import ENTER, key_name
from workbench.tools.execute_bash.keys import KEYS as KEYS
from workbench.tools.execute_bash.keys import control_letter as control_letter
from workbench.tools.execute_bash.keys import key as key
from workbench.tools.execute_bash.stream import OutputText
from workbench.tools.execute_bash.wait import Outcome


def typed(text: str, *, by_line: bool = True) -> bytes:
    """Return the bytes to type: those of the key if `text` names one, else the text and Enter.

    A terminal in line mode expects a newline; a program that reads single keys expects what the Enter key sends.
    """
    enter = ENTER if by_line else b"\r"
    if key_name(text) == "ENTER":
        return enter
    pressed = key(text)
    return pressed if pressed is not None else text.encode("utf-8", "replace").replace(ENTER, enter) + enter


PREVIOUS_OUTPUT = "[Below is the output of the previous command.]"
BACKGROUND = "[Output that background processes wrote since the last command:]"
BACKGROUND_END = "[End of the background output.]"
_GO_ON = (
    "Call again with an empty command to wait for more output, with is_input=true to type text or a key into it, "
    "with command `C-c` and is_input=true to interrupt it, or with reset=true to end it together with the shell."
)
NOTHING_RUNS = (
    "No command is running, so there is nothing to wait for or to type into. Send a command with is_input=false."
)
TOO_LATE = "[The command had ended before the input came; nothing was typed.]"
CLOSED = "The shell was closed at the end of its session; nothing was run."
NUL = "The command contains a NUL character, which no shell accepts. Write it as \\0 in printf or omit it."
RESET_INPUT = "reset=true starts a new shell, where nothing is running that could take input. Omit one of the two."
NOT_READ = "The program does not read its input: not all of it could be typed. " + _GO_ON
LONG_LINE = (
    "The input has a line of more than 4,000 bytes, which a terminal would cut. Write it into a file and let the "
    "program read that."
)
REFUSED_PASSWORD = (
    "The running program asks for a password, and only the user may give one: the text was not typed. "
    "Interrupt it with command `C-c` and is_input=true and choose a way that needs no password "
    "(sudo -n, ssh keys, a credential helper), or tell the user what to run."
)
RESET = "[The shell was replaced by a new one: variables, functions and the working directory of the old one are gone.]"


def granted(directories: Sequence[str], directory: str) -> str:
    """Return the message for a shell that was replaced because the user changed what commands may write."""
    names = ", ".join(visible(each, lines=False) for each in directories)
    now = f"besides the workspace: {names}" if names else "the workspace and nothing else"
    return (
        f"[The user changed what commands may write: {now}. For that, the shell was replaced by a new one in "
        f"{visible(directory, lines=False)}: variables, functions and background processes of the old one are gone.]"
    )


def busy(command: str) -> str:
    """Return the refusal of a new command while `command` runs."""
    return f"The new command was not run: the previous one is still running ({command}). {_GO_ON}"


def unfinished(outcome: Outcome, silence: float, limit: float | None) -> str:
    """Return the reason why the call returned although the command is still running."""
    if outcome is Outcome.LIMIT:
        return f"[The command did not end within {limit:g} seconds and is still running. {_GO_ON}]"
    if outcome is Outcome.SILENT:
        return f"[There was no new output for {silence:g} seconds; the command is still running. {_GO_ON}]"
    if outcome is Outcome.PASSWORD:
        return (
            "[The command asks for a password or for a confirmation of identity and waits. The user must decide that: "
            "do not guess. Interrupt it with command `C-c` and is_input=true, and choose a way that needs no password.]"
        )
    if outcome is Outcome.FULL_SCREEN:
        return (
            "[A full-screen program is running; its picture cannot be shown here. Leave it with its own key "
            "(`q`, `:q!`) or with `C-c`, both with is_input=true, and use a command that prints plain text instead.]"
        )
    if outcome is Outcome.FLOOD:
        return f"[The command printed more than can be saved and is still printing; the rest will be lost. {_GO_ON}]"
    return f"[The command seems to wait for input and is still running. {_GO_ON}]"


def previous_output(output: str) -> list[str]:
    """Return an earlier command's output under a heading; empty if it printed nothing."""
    rest = output.rstrip("\n")
    return [PREVIOUS_OUTPUT, rest] if rest else []


def completed(code: int) -> str:
    """Return the line with the exit code."""
    return f"[The command completed with exit code {code}.]"


def ended(code: int) -> str:
    """Return the line with the exit code, with an explanation of 137."""
    text = completed(code)
    if code == 137:
        text += "\n[It was killed by signal 9; if that was not requested, memory ran out or a limit was reached.]"
    return text


def died(status: int | None, directory: str, trouble: str = "") -> str:
    """Return the message for a shell that ended during the command."""
    if status is None:
        how = "The shell was killed together with its supervisor"
    elif status < 0:
        how = f"The shell was killed by signal {-status}"
    else:
        how = f"The shell ended with exit code {status}"
    if trouble:
        return f"[{how}, and no new one could be started: {trouble}]"
    return (
        f"[{how}. A new shell was started in {directory}: variables, functions and background processes of the old one "
        "are gone.]"
    )


BEYOND_SANDBOX = (
    "[Commands run in a sandbox that lets them write only $TMPDIR and, unless it is read-only, the workspace and "
    "directories that the user has allowed. If this one needs more, call again with outside_sandbox=true and say why; "
    "the user decides. If several need the same directory outside the workspace, tell the user that "
    "`/sandbox write DIRECTORY` allows it for this session, unless the sandbox is read-only.]"
)
INTERRUPTED = "[The command was interrupted by the user.]"


def replaced(directory: str) -> str:
    """Return the message for an interrupted command that only ended with its shell."""
    return (
        "[The command was interrupted by the user. It did not react, so the shell was replaced by a new one "
        f"in {directory}: variables, functions and background processes are gone.]"
    )


def broken(directory: str) -> str:
    """Return the message for a command that changed the prompt, so its exit code is unknown."""
    return (
        "[The command ended, but it changed the prompt (PS1, PROMPT_COMMAND or a trap) so that its exit code cannot be "
        f"known. The shell was replaced by a new one in {directory}: variables, functions and background processes are "
        "gone.]"
    )


def location_lines(directory: str, interpreter: str | None) -> list[str]:
    """Return the lines with the shell's directory and interpreter."""
    lines = [f"[Current working directory: {visible(directory, lines=False)}]"]
    return [*lines, f"[Python interpreter: {interpreter}]"] if interpreter else lines


_NO_OUTPUT = OutputText("")


@dataclass(frozen=True)
class Result:
    """The result of a call: output, the lines before it, exit code."""

    output: OutputText = _NO_OUTPUT
    lead: Sequence[str] = ()
    code: int = -1
    timed_out: bool = False


NOTHING = Result()


def answer(command: str, trailing: list[str], now: CmdOutputMetadata, result: Result) -> ExecuteBashObservation:
    """Return the observation: lines before the output, the output, lines after it, the directory of the shell."""
    text = result.output.text.rstrip("\n")
    after = [*trailing, *location_lines(now.working_dir, now.py_interpreter_path)]
    parts = [*result.lead, *([text] if text else []), *after]
    around = {"exit_code": result.code, "prefix": "\n".join(result.lead), "suffix": "\n".join(after)}
    return ExecuteBashObservation.from_text(
        "\n".join(parts),
        output=result.output.text,
        command=command,
        exit_code=result.code,
        timed_out=result.timed_out,
        metadata=now.model_copy(update=around),
        full_output=result.output.file,
    )
