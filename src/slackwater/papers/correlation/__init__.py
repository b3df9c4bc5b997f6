"""Paper 2: its figures and tables; see `slackwater.papers.catalogue`."""
