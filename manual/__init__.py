"""What makes the manual: its reference out of the code, its drawings, and the hooks of mkdocs."""
