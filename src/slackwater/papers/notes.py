"""What the page says besides numbers: its setting, and where a paper is read in another way."""

from __future__ import annotations

__all__ = ["READINGS", "SETTING"]

SETTING = (
    "Made by `slackwater reproduce --all --report`: for each figure and table its data as CSV, its "
    "picture as PNG and PDF, and this page. *Same*: what the text prints, or says of the figure, "
    "holds here. *Differs*: it does not, and why. *Cannot*: data that the authors have and we have "
    "not. The papers' figures themselves are not in the texts that were at hand, so values stand "
    "here only as far as the texts print them.\n\n"
    "The recordings D-1 … D-5 and S-7 … S-10 (CC-BY-SA 4.0, W. Weiss et al., JOANNEUM RESEARCH) "
    "are not shipped; set `SLACKWATER_RECORDINGS` to their folder. Times are processor times of "
    "compiled code on the machine that made the page: their order and growth can be compared with "
    "the papers', not their size. How fast the stages themselves are is another matter: `make "
    "bench` prints ratios against references in the same run (numpy's stable sort, Spark's own "
    "watermarked window and stream-stream join, polars, DuckDB, PyFlink's MATCH_RECOGNIZE).")

READINGS: dict[int, tuple[str, ...]] = {
    1: (
        "- A timed-out event counts as a failure of the source that was waited for, not of “the "
        "stream that produced that event”, which would punish the healthy one "
        "(`blame=\"producer\"` has the literal reading).",
        "- Algorithm 4 has two misprints. `IsReadyToProcess(rootNode, mask)` must test "
        "`currentNode`: the root has been tested before the walk went on. And "
        "`SendToProcessingRecursive(currentNode)` as Algorithm 3 has it would also send the right "
        "subtree, whose events are not ready: only the node and its left subtree may leave.",
        "- A source is disabled for all keys of its shard only where they share it: each key "
        "synchronises by itself. The multi-threading that the paper leaves to the future is that: "
        "on Spark, keys are spread over shards that run side by side.",
        "- The module of section IV.D (synchroniser, output queue, feeder) is `SyncModule`, for a "
        "program that feeds a consumer at its own pace. On Spark the queue is the micro-batch and "
        "the feeder the sink, so it has no place there.",
    ),
    2: (
        "- The left probe region is derived exactly, which is narrower than the paper's remark "
        "(d − ρ).",
        "- The delays are not printed; here they are uniform on 0 … 500 ms.",
        "- Algorithm 7 is printed in one way and described in another; `corr-algorithm7` has both "
        "beside ours.",
    ),
    3: (
        "- The window policies use what their window has from the first arrival on; "
        "`fill=\"wait\"` waits until it is full. The printed deviation of BSTTD's buffer on G-1 "
        "(12.7 ms) is that of the part-filled window.",
        "- BSTT: the text says delay − offset; taken at its word that leaves 79 to 93 % of the "
        "out-of-order events of its own recordings uncompensated, so + is meant (`sign=\"minus\"` "
        "has the literal reading). Growth as printed has ten times the printed deviation; "
        "`grow=\"jump\"` is the reading that fits it.",
        "- BSKF: the noise vectors were disabled, so the prediction is the mean of all delays so "
        "far.",
        "- Equation 9 prints a variance; σ is the standard deviation.",
        "- G-3 and G-4 are ramps 75 → 975 ms ± 25; G-9 … G-12 have the published numbers of "
        "events, which are 0.8 and 2.7 % below those of the nominal interval.",
    ),
    4: (
        "- P_s, P_e and M are not printed: every 20th arrival is sampled, 1024 samples are kept, "
        "and the size is estimated every 1000 arrivals.",
        "- `DropRatio(literal=True)` is the paper's estimator; `heartbeat=\"earliest\"` makes it "
        "Algorithm 1 to the letter (an event before the earliest one held is dropped, one with the "
        "same time goes straight out), `sampling=\"reservoir\"` samples as section 3.3 suggests; "
        "Equation 12 is used above 100 arrivals a second, and W ≥ λ for D ≤ 0.1 %.",
        "- Shares are those of the stationary part of a stream: at both ends of a finite stream "
        "the rate of arrivals is not λ, and the paper's buffer, which counts events, cannot be "
        "right there.",
    ),
    5: (
        "- Algorithm 2's branches are swapped: an event with time ≥ AIS-CLOCK is appended.",
        "- WITHIN keeps equality, as the purge rule does.",
        "- Example 6's divider leaves “a7 b11 d15” for W = 8; for the printed W = 7 a7 is outdated "
        "as well (7 + 7 < 15). Its third sequence “a6 b11 d15” is a7 b11 d15. Example 5 names two "
        "of the four sequences that b8 completes.",
        "- The divider is set by CLOCK, the greatest timestamp of *any* event received. An "
        "in-order event of the last type may be earlier than CLOCK when events of types outside "
        "the pattern have advanced it: then an instance above the divider can be within the "
        "window, and the paper's construction loses the match. Ours measures the window from the "
        "events of the match itself.",
        "- Our matcher (`Match`) pushes the window into the construction, which no divider can "
        "better; Figs. 6 to 9 are those of the paper's own algorithms, to the letter, and say "
        "nothing about it.",
        "- CLOCK is the greatest timestamp received, as in the paper, where rows have no arrival "
        "time; with an arrival column it is the greatest arrival, so that a silent type does not "
        "hold back the purge.",
        "- Punctuation, which the paper leaves to the future, is an input of every stage: "
        "`punctuate` (see [semantics.md](semantics.md)); it is also paper 4's heartbeat.",
    ),
}
"""By paper."""
