"""``SELECT … FROM name [RANGE …, SLIDE …, DRATIO …] WHERE … GROUP BY …``: windows over a stream."""
