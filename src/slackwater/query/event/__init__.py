"""``EVENT SEQ(…) WHERE … WITHIN … RETURN …``: patterns for the matcher of `slackwater.pattern`."""
