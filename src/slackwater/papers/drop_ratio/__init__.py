"""Paper 4: its figures and tables; see `slackwater.papers.catalogue`."""
