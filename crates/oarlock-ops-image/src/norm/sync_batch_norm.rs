//! `sync_batch_norm`: `batch_norm` whose statistics are those of the samples of all replicas of a run.
//!
//! Without replicas it is `batch_norm`. Replicas add up counts and sums, in their order, so all have the same statistics and the
//! gradients lead back to the samples of all. Gradients of scale and bias are those of a replica's own samples, like those of any
//! other parameter.

use oarlock_ir::OpDef;

use super::batch_norm::{BatchNorm, BatchNormGrad, Variant};

pub(crate) const OPS: &[&dyn OpDef] = &[&BatchNorm(&VARIANT), &BatchNormGrad(&VARIANT)];

const VARIANT: Variant = Variant {
    types: ["sync_batch_norm", "sync_batch_norm_grad"],
    docs: [
        "`batch_norm` with statistics over the samples of all replicas",
        "gradients of `sync_batch_norm`, through the statistics of all replicas",
    ],
    sync: true,
};

#[cfg(test)]
mod tests {
    use crate::norm::batch_norm::tests::case_of;
    use crate::testing::{noise, tensor};

    #[test]
    fn sync_batch_norm_without_replicas_is_batch_norm() {
        case_of("sync_batch_norm", tensor([2, 2], &[1.0, 2.0, 3.0, 6.0]))
            .attr("epsilon", 0.0f32)
            .output("Y", tensor([2, 2], &[-1.0, -1.0, 1.0, 3.0]))
            .output("MeanOut", tensor([2], &[0.65, 0.4]))
            .output("VarianceOut", tensor([2], &[1.0, 4.0]))
            .output("SavedMean", tensor([2], &[2.0, 4.0]))
            .output("SavedVariance", tensor([2], &[1.0, 0.5]))
            .run();
    }

    #[test]
    fn gradients() {
        case_of("sync_batch_norm", noise([2, 2, 3], 1))
            .in_place("Mean", "MeanOut")
            .in_place("Variance", "VarianceOut")
            .any_output("Y")
            .any_output("SavedMean")
            .any_output("SavedVariance")
            .counting(&["Y"])
            .grad(&["X", "Scale", "Bias"])
            .run();
    }
}
