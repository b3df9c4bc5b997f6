from __future__ import annotations

import csv

from slackwater.evaluate.reproduce import experiment_names, reproduce


def test_the_experiments_of_paper_4_run(tmp_path):
    names = [n for n in experiment_names() if n.startswith("dratio")]
    assert names == ["dratio-fig5", "dratio-fig6", "dratio-fig7", "dratio-promise"]
    for name in names:
        files = reproduce(name, tmp_path, quick=True)
        assert {f.suffix for f in files} == {".csv", ".png", ".pdf"}
        assert all(f.stat().st_size > 0 for f in files)
    with (tmp_path / "dratio-fig6.csv").open() as file:
        rows = list(csv.DictReader(file))
    # ten seconds are too short a run to tell a tenth of a per cent by, or to know a changing stream
    ours, paper = ([float(r["late_pct"]) for r in rows
                    if r["method"] == method and r["stream"] == "constant"
                    and r["ratio_or_n"] == "0.01"]
                   for method in ("ours", "paper"))
    assert len(ours) == len(paper) == 2
    assert max(ours) <= 1.0 < max(paper)
