"""How good is it: metrics, disorder profile, sweeps, and one module per paper's experiments.

Enters: datasets and policies.  Leaves: numbers, tables and pictures.
May import: the stages, datasets.
"""
