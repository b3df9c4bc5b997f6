"""What the pattern loops' decorators promise of the functions under them."""

from __future__ import annotations

import ast
from pathlib import Path

import slackwater.pattern

SCALAR = {"int", "bool", "float", "None", "Any"}


def test_functions_that_count_no_references_return_no_arrays():
    """Numba would hand out an array that nobody owns, and say nothing."""
    found = []
    for file in Path(slackwater.pattern.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef) and "inner" in map(ast.unparse,
                                                                    node.decorator_list):
                assert node.returns is not None, f"{file.name}: {node.name}"
                names = ast.unparse(node.returns).removeprefix("tuple[").removesuffix("]")
                if not set(names.split(", ")) <= SCALAR:
                    found.append(f"{file.name}: {node.name} returns {names}")
    assert found == []
