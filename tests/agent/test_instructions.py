"""Instruction files of a project: which are read, in which order, and which are ignored."""

import os

from workbench.agent.instructions import MAX_GUIDE
from workbench.agent.prompts import system_prompt
from workbench.agent.skills import skills_of


def test_project_notes_are_in_the_prompt(tmp_path):
    (tmp_path / "AGENTS.md").write_bytes(b"Use tabs.\x00\xff")
    prompt = system_prompt(tmp_path, ())
    assert "Use tabs.��" in prompt
    assert "AGENTS.md" in prompt


def test_long_notes_are_cut_with_a_notice(tmp_path):
    (tmp_path / "AGENTS.md").write_text("x" * (MAX_GUIDE * 3))
    prompt = system_prompt(tmp_path, ())
    assert "longer than 32 kB" in prompt
    assert prompt.count("x") < MAX_GUIDE + 500


def test_unreadable_notes_are_ignored(tmp_path):
    plain = system_prompt(tmp_path, ())
    os.mkfifo(tmp_path / "AGENTS.md")
    assert system_prompt(tmp_path, ()) == plain
    (tmp_path / "AGENTS.md").unlink()
    (tmp_path / "AGENTS.md").mkdir()
    assert system_prompt(tmp_path, ()) == plain


def test_notes_behind_a_link_out_of_the_workspace_are_never_sent(tmp_path):
    (tmp_path / "secret").write_text("the key")
    (tmp_path / "work").mkdir()
    (tmp_path / "work/AGENTS.md").symlink_to(tmp_path / "secret")
    assert "the key" not in system_prompt(tmp_path / "work", ())


def test_notes_apply_from_the_repository_root_down(tmp_path):
    inner = tmp_path / "root/part"
    inner.mkdir(parents=True)
    (tmp_path / "AGENTS.md").write_text("from above")
    (tmp_path / "root/.git").mkdir()
    (tmp_path / "root/AGENTS.md").write_text("of the root")
    (inner / "AGENTS.md").write_text("of the part")
    prompt = system_prompt(inner, ())
    assert "from above" not in prompt
    assert prompt.index("of the root") < prompt.index("of the part")


def test_notes_for_other_agents_are_a_fallback(tmp_path):
    (tmp_path / ".cursorrules").write_text("rules of cursor")
    assert "rules of cursor" in system_prompt(tmp_path, ())
    (tmp_path / "CLAUDE.md").write_text("rules of claude")
    assert "rules of cursor" not in system_prompt(tmp_path, ())
    (tmp_path / "AGENTS.md").write_text("rules for all")
    prompt = system_prompt(tmp_path, ())
    assert "rules for all" in prompt
    assert "rules of claude" not in prompt


def test_notes_in_subdirectories_are_listed_by_path(tmp_path):
    for directory in ("web/api", "node_modules/x", ".hidden"):
        (tmp_path / directory).mkdir(parents=True)
        (tmp_path / directory / "AGENTS.md").write_text("deep")
    prompt = system_prompt(tmp_path, ())
    assert "- web/api/AGENTS.md" in prompt
    assert "node_modules" not in prompt
    assert ".hidden" not in prompt
    assert "deep" not in prompt.replace("deeper", "")


def skill(directory, name, text):
    (directory / name).mkdir(parents=True)
    (directory / name / "SKILL.md").write_text(text)


def test_skills_are_listed_with_their_files_without_their_bodies(tmp_path):
    project, own = tmp_path / "p", tmp_path / "own"
    folded = "---\nname: pdf\ndescription: >\n  Fill in\n  PDF forms.\n---\nThe body.\n"
    skill(project / ".agents/skills", "pdf", folded)
    skill(project / ".ohw/skills", "mail", "---\nname: mail\ndescription: Write mails.\n---\n")
    skill(own, "pdf", "---\nname: pdf\ndescription: Mine.\n---\n")
    skill(own, "chart", "---\r\nname: chart\r\ndescription: 'Draw: charts.'\r\n---\r\nBody")
    skills = skills_of(project, [own])
    assert [(each.name, each.description) for each in skills] == [
        ("pdf", "Fill in PDF forms."),
        ("mail", "Write mails."),
        ("chart", "Draw: charts."),
    ]
    prompt = system_prompt(project, (), skills)
    assert f"- pdf: Fill in PDF forms. ({project}/.agents/skills/pdf/SKILL.md)" in prompt
    assert "The body." not in prompt


def test_invalid_skills_are_ignored(tmp_path):
    directory = tmp_path / ".agents/skills"
    skill(directory, "plain", "Just text.")
    skill(directory, "nameless", "---\ndescription: x\n---\n")
    skill(directory, "broken", "---\nname: [\n---\n")
    skill(directory, "tagged", "---\nname: !!python/object/apply:os.getcwd []\ndescription: x\n---\n")
    skill(directory, "open", "---\nname: open\ndescription: x\n")
    (directory / "linked").mkdir()
    (tmp_path / "elsewhere.md").write_text("---\nname: linked\ndescription: x\n---\n")
    (directory / "linked/SKILL.md").symlink_to(tmp_path / "elsewhere.md")
    os.mkfifo(directory / "open/fifo")
    assert skills_of(tmp_path) == []
    assert skills_of(tmp_path / "nowhere") == []
