"""Paper 1: its figures and tables; see `slackwater.papers.catalogue`."""
