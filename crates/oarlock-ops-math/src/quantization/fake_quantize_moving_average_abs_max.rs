//! `fake_quantize_moving_average_abs_max`: a tensor rounded to integers, with a scale that follows its greatest absolute value.

use oarlock_ir::OpDef;

use crate::quantization::simulated::Simulated;

pub(crate) const OPS: &[&dyn OpDef] = &[&Simulated {
    op_type: "fake_quantize_moving_average_abs_max",
    doc: "OutScale = (moving_rate * InAccum + max |X|) / (moving_rate * InState + 1), \
          Out = round(X / OutScale * (2^(bit_length - 1) - 1)) with X bounded by OutScale; in a test, OutScale is InScale",
    out: "like `X`: integers",
    dequantize: false,
}];

#[cfg(test)]
mod tests {
    use crate::quantization::simulated::case;
    use crate::testing::tensor;

    const OP: &str = "fake_quantize_moving_average_abs_max";

    #[test]
    fn scale_follows_the_tensors() {
        // (0.5 * 5 + 4) / (0.5 * 2 + 1)
        case(OP)
            .output("Out", tensor([3], &[-39.0, 20.0, 127.0]))
            .output("OutScale", tensor([1], &[3.25]))
            .output("OutAccum", tensor([1], &[6.5]))
            .output("OutState", tensor([1], &[2.0]))
            .run();
        case(OP)
            .attr("is_test", true)
            .output("Out", tensor([3], &[-64.0, 32.0, 127.0]))
            .output("OutScale", tensor([1], &[2.0]))
            .run();
    }

    #[test]
    fn training_needs_its_state() {
        let e = case(OP).any_output("Out").any_output("OutScale").error();
        assert!(e.contains("needs `InAccum`, `InState`, `OutAccum` and `OutState` in training"), "{e}");
    }
}
