"""Measures of click prediction that add up over batches and workers."""

from ...initializer import Constant
from ...layer_helper import LayerHelper

__all__ = ["ctr_metric_bundle"]


def ctr_metric_bundle(input, label):
    """Sums over all batches so far, in variables of the scope: squared errors, absolute errors, predictions, sigmoids of predictions
    (``q``), positive samples, samples. Divide by the number of samples, after adding up what all workers have."""
    if tuple(input.shape) != tuple(label.shape):
        raise ValueError("input and label of ctr_metric_bundle must have one shape, not %s and %s" % (input.shape, label.shape))
    helper = LayerHelper("ctr_metric_bundle", **locals())

    def computed(op_type, inputs, attrs=None):
        out = helper.create_variable_for_type_inference(dtype="float32", stop_gradient=True)
        helper.append_op(type=op_type, inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
        return out

    def total(of_batch):
        kept = helper.create_global_variable(persistable=True, dtype="float32", shape=[1])
        kept.stop_gradient = True
        helper.set_variable_initializer(kept, Constant(value=0.0, force_cpu=True))
        helper.append_op(type="elementwise_add", inputs={"X": [of_batch], "Y": [kept]}, outputs={"Out": [kept]})
        return kept

    def summed(var):
        return computed("reduce_sum", {"X": [var]}, {"reduce_all": True})

    error = computed("elementwise_sub", {"X": [input], "Y": [label]})
    ones = computed(
        "fill_constant_batch_size_like", {"Input": [label]}, {"shape": [-1, 1], "dtype": int(error.dtype), "value": 1.0}
    )
    return (
        total(computed("squared_l2_norm", {"X": [error]})), total(computed("l1_norm", {"X": [error]})), total(summed(input)),
        total(summed(computed("sigmoid", {"X": [input]}))), total(summed(label)), total(summed(ones)),
    )
