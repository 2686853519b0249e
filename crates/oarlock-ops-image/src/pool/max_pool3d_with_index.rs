//! `max_pool3d_with_index`: the maximum of every window of a volume, and where it is.

use oarlock_ir::OpDef;
use oarlock_ops_support::sliding_window::Axes;

use crate::pool::indexed::{Indexed, IndexedGrad};
use crate::pool::pooling::Variant;

pub(crate) const OPS: &[&dyn OpDef] = &[&Indexed(VARIANT), &IndexedGrad(VARIANT)];

const VARIANT: Variant =
    Variant { op_type: "max_pool3d_with_index", grad_type: "max_pool3d_with_index_grad", axes: Axes::Volume };

#[test]
fn first_maxima() {
    use crate::testing::{check, tensor, tensor_of};
    let x = tensor([1, 1, 2, 2, 2], &[1.0, 4.0, 3.0, 0.0, 5.0, 2.0, 2.5, 3.5]);
    check("max_pool3d_with_index")
        .attr("ksize", vec![2, 2, 1])
        .input("X", x)
        .output("Out", tensor([1, 1, 1, 1, 2], &[5.0, 4.0]))
        .output("Mask", tensor_of::<i32>([1, 1, 1, 1, 2], &[4, 1]))
        .grad(&["X"])
        .run();
}
