"""Heads of SSD, YOLO version 3 and Faster R-CNN train as in Fluid 1.8.5: losses, gradients of all parameters, detections.
``detection_models.py`` recorded ``detection.json`` there."""

import json
import os

import detection_models as models
import numpy as np
import pytest

import oarlock.fluid as fluid

HERE = os.path.dirname(os.path.abspath(__file__))


@pytest.fixture(scope="module")
def recorded():
    with open(os.path.join(HERE, "detection.json")) as f:
        return json.load(f)


def close(found, expected, what):
    scale = max(1.0, np.max(np.abs(expected), initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * scale, err_msg=what)


@pytest.mark.parametrize("model", sorted(models.MODELS))
def test_a_detector_trains_as_in_fluid(model, recorded):
    found, expected = models.train(fluid, model), recorded[model]
    close(found["losses"], expected["losses"], "losses")
    assert found["grads"].keys() == expected["grads"].keys()
    for name, grad in expected["grads"].items():
        close(found["grads"][name], grad, "gradient of " + name)
    assert len(found["outs"]) == len(expected["outs"])
    for i, (ours, theirs) in enumerate(zip(found["outs"], expected["outs"])):
        assert (ours["shape"], ours["lod"]) == (theirs["shape"], theirs["lod"]), i
        close(ours["values"], theirs["values"], "output %d" % i)
