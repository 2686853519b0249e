//! `uniform_random_batch_size_like`: uniform random numbers, as many rows as another tensor has.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Sig, Traits};

use crate::fill::shape_source::{self, BatchShape};
use crate::random::distribution::{self, Distribution};

pub(crate) const OPS: &[&dyn OpDef] = &[&UniformRandomBatchSizeLike];

struct UniformRandomBatchSizeLike;

impl OpDef for UniformRandomBatchSizeLike {
    fn sig(&self) -> Sig {
        let sig = Sig::new("uniform_random_batch_size_like", "Out = random numbers, uniform in [min, max)");
        distribution::uniform_attrs(shape_source::batch_size_inputs(sig))
            .traits(Traits::GRADIENT_FREE.shape_only(&["Input"]))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        shape_source::infer_batch_size(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let shape = BatchShape::new(p, false)?;
        distribution::random_kernel(p, Distribution::uniform(&p.attrs())?, move |io| shape.dims(io))
    }
}

#[test]
fn rows_of_the_input() {
    use crate::testing::{check, noise, tensor, with_lod};
    check("uniform_random_batch_size_like")
        .input("Input", with_lod(noise([2, 5], 1), &[&[0, 2]]))
        .attr("shape", vec![-1, 2])
        .attr("seed", 3)
        .output("Out", tensor([2, 2], &[-0.9998651, -0.48980528, 0.6081157, 0.34966767]))
        .run();
}
