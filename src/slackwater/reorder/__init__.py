"""Put a disordered stream in time order: one file a policy, one release rule for all.

Enters: events in arrival order.  Leaves: the same events in time order (`ready`), except those that
came after their place had been released (`late`) or have no usable time (`quarantined`).
May import: events, kernel, state, outcome.
"""

from slackwater.reorder.delay_range import DelayRange
from slackwater.reorder.drop_ratio import DropRatio
from slackwater.reorder.kalman import Kalman
from slackwater.reorder.kernel import Reorder
from slackwater.reorder.kslack import KSlack
from slackwater.reorder.latest_delay import LatestDelay
from slackwater.reorder.max_delay import MaxDelay
from slackwater.reorder.mean_plus_range import MeanPlusRange
from slackwater.reorder.named import POLICIES, as_policy
from slackwater.reorder.policy import DelayPolicy, Policy
from slackwater.reorder.static import Static
from slackwater.reorder.tide import Tide
from slackwater.reorder.weighted_mean import WeightedMean

__all__ = [
    "POLICIES",
    "DelayPolicy",
    "DelayRange",
    "DropRatio",
    "KSlack",
    "Kalman",
    "LatestDelay",
    "MaxDelay",
    "MeanPlusRange",
    "Policy",
    "Reorder",
    "Static",
    "Tide",
    "WeightedMean",
    "as_policy",
]
