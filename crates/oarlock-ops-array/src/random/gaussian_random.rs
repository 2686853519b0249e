//! `gaussian_random`: random numbers of a normal distribution.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Sig, Traits};

use crate::fill::shape_source::{self, ShapeSource};
use crate::random::distribution::{self, Distribution};

pub(crate) const OPS: &[&dyn OpDef] = &[&GaussianRandom];

struct GaussianRandom;

impl OpDef for GaussianRandom {
    fn sig(&self) -> Sig {
        let sig = Sig::new("gaussian_random", "Out = random numbers of the normal distribution with `mean` and `std`");
        distribution::gaussian_attrs(shape_source::shape_inputs(sig)).traits(Traits::GRADIENT_FREE)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        shape_source::infer_shape(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let shape = ShapeSource::new(p)?;
        distribution::random_kernel(p, Distribution::gaussian(&p.attrs())?, move |io| shape.dims(io))
    }
}

#[test]
fn gaussian_random() {
    use crate::testing::{check, tensor};
    check("gaussian_random")
        .attr("shape", vec![3i64])
        .attr("seed", 7)
        .attr("mean", 1.0f32)
        .attr("std", 0.5f32)
        .output("Out", tensor([3], &[0.6668501, 0.6258881, 0.6523795]))
        .run();
}
