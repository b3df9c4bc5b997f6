"""Paper 5: its figures and tables; see `slackwater.papers.catalogue`."""
