"""Expressions, which all languages share: one tree, one table of operators, two back ends.

`tree` has the nodes, `parse` makes them of a text, `types` checks them against columns, and
`operators` says for each operator what it takes, gives and means.  `arrow` evaluates whole columns
with it; the compiled machine of patterns runs its opcodes.
"""
