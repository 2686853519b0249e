"""Values, gradients, names and losses of eager mode equal those that Fluid 1.8.5 computed (``record.py``)."""

import json
import os
import sys

import numpy as np
import pytest

from oarlock import fluid

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases import CASES  # noqa: E402

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded.json")) as _file:
    RECORDED = json.load(_file)


def equal(found, wanted, where):
    if isinstance(wanted, list) and any(isinstance(each, (str, list)) for each in wanted) and not isinstance(found, np.ndarray):
        assert len(found) == len(wanted), where
        for at, (here, there) in enumerate(zip(found, wanted)):
            equal(here, there, "%s[%d]" % (where, at))
    elif isinstance(wanted, str) or wanted is None:
        assert found == wanted, where
    else:
        assert np.shape(found) == np.shape(wanted), "%s: %s, not %s" % (where, np.shape(found), np.shape(wanted))
        np.testing.assert_allclose(np.asarray(found, "float64"), np.asarray(wanted, "float64"), rtol=2e-5, atol=2e-6, err_msg=where)


def test_every_case_is_recorded():
    assert set(CASES) == set(RECORDED)


@pytest.mark.parametrize("name", sorted(CASES))
def test_results_equal_those_of_fluid(name):
    found = CASES[name](fluid)
    assert set(found) == set(RECORDED[name])
    for key, wanted in RECORDED[name].items():
        equal(found[key], wanted, "%s: %s" % (name, key))
