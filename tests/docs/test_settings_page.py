"""Every setting is documented: the page is what the settings say of themselves."""

import runpy
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_of_settings_is_what_the_settings_say() -> None:
    made = runpy.run_path(str(DOCS / "make_settings.py"))["page"]()
    assert (DOCS / "settings.md").read_text("utf-8") == made
