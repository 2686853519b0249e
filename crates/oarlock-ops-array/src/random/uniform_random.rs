//! `uniform_random`: random numbers, uniform in an interval.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Sig, Traits};

use crate::fill::shape_source::{self, ShapeSource};
use crate::random::distribution::{self, Distribution};

pub(crate) const OPS: &[&dyn OpDef] = &[&UniformRandom];

struct UniformRandom;

impl OpDef for UniformRandom {
    fn sig(&self) -> Sig {
        let sig = Sig::new("uniform_random", "Out = random numbers, uniform in [min, max)");
        distribution::uniform_attrs(shape_source::shape_inputs(sig)).traits(Traits::GRADIENT_FREE)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        shape_source::infer_shape(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let shape = ShapeSource::new(p)?;
        distribution::random_kernel(p, Distribution::uniform(&p.attrs())?, move |io| shape.dims(io))
    }
}

#[test]
fn a_seed_repeats_its_numbers() {
    use crate::testing::{check, tensor};
    // The first numbers of `std::minstd_rand` seeded with 3, as `std::uniform_real_distribution<float>(-1, 1)` gives them.
    check("uniform_random")
        .attr("shape", vec![2i64, 2])
        .attr("seed", 3)
        .output("Out", tensor([2, 2], &[-0.9998651, -0.48980528, 0.6081157, 0.34966767]))
        .tolerance(0.0, 0.0)
        .run();
    check("uniform_random")
        .attr("shape", vec![2i64, 2])
        .attr("seed", 3)
        .attr("diag_num", 2)
        .attr("diag_step", 2)
        .output("Out", tensor([2, 2], &[1.0, -0.48980528, 0.6081157, 1.0]))
        .run();
}
