"""The examples as pages: what each README says, and its pipeline."""

from __future__ import annotations

from pathlib import Path

__all__ = ["example_pages"]


def example_pages(root: Path) -> dict[str, str]:
    """Each example's page by its path in the manual, and one that lists them."""
    pages, listed = {}, []
    for readme in sorted((root / "examples").glob("*/README.md")):
        name, text = readme.parent.name, readme.read_text(encoding="utf-8")
        pipeline = readme.with_name("pipeline.yaml")
        if pipeline.exists():
            text += f"\n## The pipeline\n\n```yaml\n{pipeline.read_text(encoding='utf-8')}```\n"
        pages[f"examples/{name}.md"] = text.replace("(../../docs/", "(../")
        title = text.splitlines()[0].removeprefix("# ")
        listed.append(f"- [{title}]({name}.md)")
    index = ("# Examples\n\nReady to run, in the folder `examples` of the source; each makes its "
             "data itself.\n\n" + "\n".join(listed) + "\n")
    return {"examples/index.md": index, **pages}
