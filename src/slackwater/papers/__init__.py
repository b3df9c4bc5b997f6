"""The five papers, figure by figure: one package per paper, one function per figure or table.

Enters: nothing but the folder to write to, and the recordings of paper 3 where they are at hand.
Leaves: for each figure or table its data as CSV, its picture as PNG and PDF, and the printed values
beside ours; all of it on one page (`report`).
May import: the stages, query, datasets, evaluate.
"""
