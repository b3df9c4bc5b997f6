"""Paper 3: its figures and tables; see `slackwater.papers.catalogue`."""
