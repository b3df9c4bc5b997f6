"""Every policy, with the name it has in its paper and its parameters."""

from __future__ import annotations

from manual.reference.docstrings import describe, one_line, table
from slackwater.reorder import POLICIES

__all__ = ["policies_page"]


def policies_page() -> str:
    """The page."""
    parts = [
        "# Policies",
        "Each can be written as a text, in a pipeline file, at the command line or in Python: "
        '`"Tide(loss=0.1%)"`, `"bsttda(n=300, offset=200ms)"`. Upper and lower case are the '
        "same, and so are our name and the paper's. Pictures are in "
        "[the policies, drawn](../concepts_policies.md), advice in "
        "[choosing a policy](../choosing.md).",
        table(("policy", "in its paper", "waits"),
              [(f"[`{name}`](#{name.lower()})", kind.paper or "", one_line(kind))
               for name, kind in POLICIES.items()])]
    for name, kind in POLICIES.items():
        made = str(kind())
        parts += [f"## {name} {{ #{name.lower()} }}", f"```text\n{made}\n```", describe(kind, 2)]
    return "\n\n".join(parts) + "\n"
