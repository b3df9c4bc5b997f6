"""While Spark starts its words go to a log; those of the command still reach people."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import os, sys
from pathlib import Path
from slackwater.spark.session.session import _stderr_to

with _stderr_to(Path(sys.argv[1])):
    os.write(2, b"the JVM's words\\n")
    print("progress", file=sys.stderr)
print("afterwards", file=sys.stderr)
"""


def test_progress_is_seen_while_the_jvm_writes_to_its_log(tmp_path):
    log = tmp_path / "spark.log"
    said = subprocess.run([sys.executable, "-c", CODE, str(log)], capture_output=True, text=True,
                          check=True)
    assert said.stderr.splitlines()[-2:] == ["progress", "afterwards"]
    assert log.read_text() == "the JVM's words\n"


def test_streams_that_are_no_files_stay_as_they_are(tmp_path, capsys):
    from slackwater.spark.session.session import _stderr_to

    before = sys.stderr
    with _stderr_to(tmp_path / "spark.log"):
        assert sys.stderr is before
        print("here", file=sys.stderr)
    assert capsys.readouterr().err == "here\n"
