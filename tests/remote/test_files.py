"""Files that a message mentions are those of the other machine; none of this one is listed or sent."""

from __future__ import annotations

from tests.remote.far_machine import FarMachine
from tests.remote.screens import events_there, lines_here, lines_there, quit_screen, quit_when_finished, send, started
from tests.sandbox import finish
from workbench.protocol.events import UserMessage


def sent(far: FarMachine) -> UserMessage:
    """Return the only message of the session."""
    (message,) = [event for event in events_there(far) if isinstance(event, UserMessage)]
    return message


def test_a_file_is_chosen_from_those_there_and_sent_as_it_is_there(far: FarMachine):
    (far.near.project / "notes.md").write_text("what is here\n")
    (far.near.project / "only_here.md").write_text("a secret of this machine\n")
    (far.user.project / "notes.md").write_text("what is there\n")
    (far.user.project / "only_there.md").write_text("x\n")
    with started(far, far.user.script(finish("All done."))) as terminal:
        terminal.type("read @only")
        assert "only_here" not in terminal.wait_for("only_there.md")
        terminal.press(*["backspace"] * 4)
        terminal.type("note")
        terminal.wait_until(lambda text: "only_there" not in text and "notes.md" in text, "the list to change")
        terminal.press("tab")
        send(terminal, "and @only_here.md too")  # the list of similar files closes with the space
        quit_when_finished(terminal)
    message = sent(far)
    assert message.mentions == ("notes.md",)
    assert [(file.path, file.text) for file in message.attached] == [("notes.md", "what is there\n")]
    assert lines_here(far) == lines_there(far)


def test_a_long_paste_names_no_file_to_send(far: FarMachine):
    (far.user.project / "notes.md").write_text("what is there\n")
    with started(far, far.user.script(finish("All done."))) as terminal:
        terminal.paste("\n".join(["see @notes.md"] * 40))
        terminal.wait_for("[pasted 40 lines]")
        terminal.press("enter")
        terminal.wait_for("All done.")
        quit_screen(terminal)
    assert sent(far).text.count("@notes.md") == 40
    assert sent(far).mentions == ()


def test_no_letter_waits_for_a_slow_link(far: FarMachine):
    (far.user.project / "notes.md").write_text("what is there\n")
    with started(far, far.user.script(finish("All done."))) as terminal:
        far.link.freeze()
        terminal.type("see @notes.md please")
        terminal.wait_for("see @notes.md please")
        far.link.cut()
        far.link.restore()
        terminal.wait_for("Connected to far again")
        assert "did not arrive" not in terminal.text()
        terminal.press("enter")
        terminal.wait_for("All done.")
        quit_screen(terminal)
    assert [file.text for file in sent(far).attached] == ["what is there\n"]


def test_no_image_of_this_machine_is_attached(far: FarMachine):
    (far.near.project / "shot.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    with started(far, far.user.script(finish("All done."))) as terminal:
        send(terminal, "/paste")
        terminal.wait_for("Only images on the session's machine can be sent")
        terminal.paste("shot.png")
        terminal.wait_for("shot.png")
        assert "@shot.png" not in terminal.text()
        terminal.press("enter")
        terminal.wait_for("All done.")
        quit_screen(terminal)
    assert (sent(far).mentions, sent(far).images) == ((), ())
