//! `gaussian_random_batch_size_like`: normally distributed random numbers, as many rows as another tensor has.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Sig, Traits};

use crate::fill::shape_source::{self, BatchShape};
use crate::random::distribution::{self, Distribution};

pub(crate) const OPS: &[&dyn OpDef] = &[&GaussianRandomBatchSizeLike];

struct GaussianRandomBatchSizeLike;

impl OpDef for GaussianRandomBatchSizeLike {
    fn sig(&self) -> Sig {
        let sig = Sig::new(
            "gaussian_random_batch_size_like",
            "Out = random numbers of the normal distribution with `mean` and `std`",
        );
        distribution::gaussian_attrs(shape_source::batch_size_inputs(sig))
            .traits(Traits::GRADIENT_FREE.shape_only(&["Input"]))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        shape_source::infer_batch_size(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let shape = BatchShape::new(p, false)?;
        distribution::random_kernel(p, Distribution::gaussian(&p.attrs())?, move |io| shape.dims(io))
    }
}

#[test]
fn rows_of_the_input() {
    use crate::testing::{check, noise, tensor};
    check("gaussian_random_batch_size_like")
        .input("Input", noise([3, 5], 1))
        .attr("shape", vec![-1, 1])
        .attr("seed", 7)
        .output("Out", tensor([3, 1], &[-0.66629976, -0.7482237, -0.6952409]))
        .run();
}
