"""Every form that hides a declaration, put into a project and judged by the command (SPEC 13.2, 13.3)."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import pytest
from click.testing import CliRunner

from remit.cli import main

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "reference" / "compiler.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One form as the table has it."""

    id: str
    says: str
    caught: Literal["source", "import", "accepted"]
    app: str
    at: str = ""
    found: str = ""
    write: str = ""
    files: dict[str, str] = field(default_factory=dict)


FORMS: Final = tuple(
    Form(**each) for each in tomllib.loads((ROOT / "spec" / "dynamic-forms.toml").read_text(encoding="utf-8"))["form"]
)


def project_of(form: Form, root: Path) -> Path:
    """The form as a project on disk."""
    files = {"app.py": form.app, "pyproject.toml": '[tool.remit]\nentries = ["app"]\n', **form.files}
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.mark.requirement("13.2-every-form-is-found-where-the-table-says")
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.id)
def test_a_form_is_found_out_by_the_pass_that_the_table_names(form: Form, tmp_path: Path) -> None:
    root = project_of(form, tmp_path)
    if form.caught == "source":  # what reading alone finds is found before anything runs
        (root / "app.py").write_text(form.app + "\nraise SystemExit('it ran')\n", encoding="utf-8")
    ran = CliRunner().invoke(main, ["compile", "--project", str(root)])
    if form.caught == "accepted":
        assert ran.exit_code == 0, ran.stderr
        assert "1 capability of 1 component" in ran.stdout
        return
    assert ran.exit_code == 2, ran.stdout
    assert ran.stderr.startswith(f"{form.at}  "), ran.stderr
    assert form.found in ran.stderr
    assert not form.write or f"\n  write  {form.write}\n" in ran.stderr, ran.stderr
    assert "it ran" not in ran.stderr
    assert not (root / "remit.contract.json").exists()


def test_the_table_has_all_thirty_seven_forms() -> None:
    assert len({form.id for form in FORMS}) == len(FORMS) == 37


def test_the_page_tells_every_form_and_what_to_write_instead() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for form in FORMS:
        assert form.says in page, form.id
        assert form.write in page, form.id
