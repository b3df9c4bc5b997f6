"""The reference pages of the manual, each a text in Markdown made from the code."""

from __future__ import annotations

from manual.reference.api import api_pages
from manual.reference.commands import commands_page
from manual.reference.language import language_page
from manual.reference.pipeline_file import pipeline_page
from manual.reference.policies import policies_page

__all__ = ["reference_pages"]


def reference_pages() -> dict[str, str]:
    """Every page by its path in the manual."""
    return {
        "reference/commands.md": commands_page(),
        "reference/pipeline_file.md": pipeline_page(),
        "reference/language.md": language_page(),
        "reference/policies.md": policies_page(),
        **api_pages(),
    }
