"""``python -m manual.drawings``: write every drawing to docs/drawings."""

from __future__ import annotations

from pathlib import Path

from manual.drawings import drawings

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "drawings"

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in drawings().items():
        (FOLDER / f"{name}.svg").write_text(text, encoding="utf-8")
        print(f"docs/drawings/{name}.svg")
