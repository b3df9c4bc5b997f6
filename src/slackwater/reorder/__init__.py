"""Put a disordered stream in time order: one file a policy, one release rule for all.

Enters: events in arrival order.  Leaves: the same events in time order (`ready`), except those that
came after their place had been released (`late`) or have no usable time (`quarantined`).
May import: events, kernel, state, outcome.
"""

from slackwater.core.callable_module import make_callable
from slackwater.reorder.policies.bounded import BoundedOutOfOrderness
from slackwater.reorder.policies.delay_range import DelayRange
from slackwater.reorder.policies.drop_ratio import DropRatio
from slackwater.reorder.policies.kalman import Kalman
from slackwater.reorder.policies.kslack import KSlack
from slackwater.reorder.policies.latest_delay import LatestDelay
from slackwater.reorder.policies.max_delay import MaxDelay
from slackwater.reorder.policies.mean_plus_range import MeanPlusRange
from slackwater.reorder.policies.named import POLICIES, as_policy, default_policy
from slackwater.reorder.policies.percentile import Percentile
from slackwater.reorder.policies.static import Static
from slackwater.reorder.policies.weighted_mean import WeightedMean
from slackwater.reorder.policy import DelayPolicy, Policy
from slackwater.reorder.reorder import Reorder
from slackwater.reorder.tide.policy import Tide

__all__ = [
    "POLICIES",
    "BoundedOutOfOrderness",
    "DelayPolicy",
    "DelayRange",
    "DropRatio",
    "KSlack",
    "Kalman",
    "LatestDelay",
    "MaxDelay",
    "MeanPlusRange",
    "Percentile",
    "Policy",
    "Reorder",
    "Static",
    "Tide",
    "WeightedMean",
    "as_policy",
    "default_policy",
]

make_callable(__name__)  # slackwater.reorder(df, …) is slackwater.frames.reorder
