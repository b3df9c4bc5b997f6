"""The whole story on one plant: reorder, windows, a pattern, a correlation, against the truth.

Enters: a folder to work in.  Leaves: what Spark alone and Slackwater made of the same feed, scored
against the truth, as tables, a picture and a report.  May import: everything but the command.
"""
