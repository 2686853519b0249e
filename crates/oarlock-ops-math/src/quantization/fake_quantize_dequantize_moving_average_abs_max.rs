//! `fake_quantize_dequantize_moving_average_abs_max`: a tensor with the error of integers, by a scale that follows it.

use oarlock_ir::OpDef;

use crate::quantization::simulated::Simulated;

pub(crate) const OPS: &[&dyn OpDef] = &[&Simulated {
    op_type: "fake_quantize_dequantize_moving_average_abs_max",
    doc: "OutScale as that of `fake_quantize_moving_average_abs_max`, \
          Out = round(X / OutScale * n) * OutScale / n with n = 2^(bit_length - 1) - 1 and X bounded by OutScale",
    out: "like `X`: numbers that integers stand for",
    dequantize: true,
}];

#[test]
fn numbers_have_the_error_of_integers() {
    use crate::testing::tensor;
    let step = 3.25f32 / 127.0;
    crate::quantization::simulated::case("fake_quantize_dequantize_moving_average_abs_max")
        .output("Out", tensor([3], &[-39.0 * step, 20.0 * step, 3.25]))
        .output("OutScale", tensor([1], &[3.25]))
        .output("OutAccum", tensor([1], &[6.5]))
        .output("OutState", tensor([1], &[2.0]))
        .run();
}
