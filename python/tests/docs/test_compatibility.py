"""docs/compatibility.md is what tools/compatibility.py writes, and every name that cannot be reached has a reason."""

import importlib.util
import os
import subprocess
import sys

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
TOOL = os.path.join(ROOT, "tools", "compatibility.py")


def tool():
    spec = importlib.util.spec_from_file_location("compatibility", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_names_is_fresh():
    # In a process of its own: this one must not call Oarlock `paddle`.
    done = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_list_of_names_is_complete():
    names = tool().read_names()
    assert len(names) == len(set(names)) == 4353 and "paddle.fluid.layers.fc" in names and "paddle.fluid.io.PyReader.next" in names


def test_names_need_reasons_and_reasons_need_names():
    made = tool()
    names = ["paddle.a.F", "paddle.a.F.run", "paddle.b.g"]
    text = made.page(names, ["paddle.a.F", "paddle.a.F.run"], {"paddle.a.F": "no F"})
    assert "1 of 3 names" in text and "| `a`: `F`; `a.F`: `run` | 2 | no F |" in text and "| `paddle.b` | 1 | all |" in text
    with pytest.raises(ValueError, match="have no reason: paddle.b.g"):
        made.page(names, ["paddle.b.g"], {})
    with pytest.raises(ValueError, match="no name needs: remove paddle.a.F"):
        made.page(names, [], {"paddle.a.F": "no F"})
