//! `truncated_gaussian_random`: random numbers of a normal distribution without its tails.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Sig, Traits};

use crate::fill::shape_source::{self, ShapeSource};
use crate::random::distribution::{self, Distribution};

pub(crate) const OPS: &[&dyn OpDef] = &[&TruncatedGaussianRandom];

struct TruncatedGaussianRandom;

impl OpDef for TruncatedGaussianRandom {
    fn sig(&self) -> Sig {
        let doc = "Out = random numbers of the normal distribution with `mean` and `std`, within two `std` of `mean`";
        distribution::gaussian_attrs(Sig::new("truncated_gaussian_random", doc).required_attr("shape", "the sizes"))
            .traits(Traits::GRADIENT_FREE)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        shape_source::infer_shape(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (mean, std) = (p.attrs().f32("mean")?, p.attrs().f32("std")?);
        let shape = ShapeSource::new(p)?;
        distribution::random_kernel(p, Distribution::Truncated { mean, std }, move |io| shape.dims(io))
    }
}

#[test]
fn truncated_gaussian_random() {
    use crate::testing::{check, tensor};
    check("truncated_gaussian_random")
        .attr("shape", vec![3])
        .attr("seed", 7)
        .output("Out", tensor([3], &[-1.997223, 0.22984603, -0.76314825]))
        .run();
}
