"""Every example trains and reaches the result of Fluid 1.8.5 (docs/models.md)."""

import importlib.util
import os
import subprocess
import sys

import pytest

_COMPARE = os.path.join(os.path.dirname(__file__), "..", "..", "..", "examples", "compare.py")
_spec = importlib.util.spec_from_file_location("compare", _COMPARE)
compare = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(compare)

ROWS = compare.read_table()


def test_the_table_has_every_example():
    assert set(ROWS) == {compare.command(example) for example in compare.EXAMPLES}


@pytest.mark.parametrize("example", compare.EXAMPLES, ids=compare.command)
def test_example(example):
    if not compare.wanted(example):
        pytest.skip("set %s to run it on real data" % example.data)
    row = ROWS[compare.command(example)]
    metric, value = compare.run(example, [sys.executable])
    assert metric == row.metric
    assert value == pytest.approx(row.fluid, abs=row.tolerance)


@pytest.mark.parametrize("script", sorted({e.script for e in compare.EXAMPLES if e.argument}))
def test_a_wrong_network_name_is_answered_with_those_there_are(script):
    path = os.path.join(compare.HERE, script + ".py")
    done = subprocess.run([sys.executable, path, "nonesuch"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("there is no network 'nonesuch': choose ") and "Traceback" not in done.stderr
