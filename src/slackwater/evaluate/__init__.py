"""How good is it: metrics, disorder profile, sweeps, and one module per paper's experiments.

Enters: datasets and policies.  Leaves: numbers, tables and pictures.
May import: the stages, datasets.
"""

from slackwater.evaluate.metrics import Metrics, evaluate
from slackwater.evaluate.profile import Profile, profile, recommended_policies
from slackwater.evaluate.run import reorder_table
from slackwater.evaluate.sweep import sweep

__all__ = ["Metrics", "Profile", "evaluate", "profile", "recommended_policies", "reorder_table",
           "sweep"]
