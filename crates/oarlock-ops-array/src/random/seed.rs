//! `seed`: a number for random operators to start from.

use oarlock_ir::{Dim, Infer, Kernel, OpDef, Prepare, Result, Traits, VarType, kernel, sig};
use oarlock_tensor::{DType, Dims};

pub(crate) const OPS: &[&dyn OpDef] = &[&Seed];

struct Seed;

impl OpDef for Seed {
    sig! {
        "seed": "Out = `seed`, or a random number if that is 0";
        out "Out": "[1] i32";
        attr "seed" = 0, "the number; 0 for another one in every run";
        traits Traits::GRADIENT_FREE.random(None);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.set("Out", VarType::tensor(DType::I32, vec![Dim::Is(1)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (out, fixed) = (p.output("Out")?, p.attrs().int("seed")? as i32);
        kernel(move |io| {
            // Who reads it takes no negative seed.
            let seed = if fixed == 0 { (io.runtime().fresh_seed() % i32::MAX as u64) as i32 } else { fixed };
            let mut to = io.out_sized(out, DType::I32, Dims::from([1]))?;
            io.data_mut::<i32>(out, &mut to)?.fill(seed);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use oarlock_tensor::Tensor;

    use crate::testing::check;

    #[test]
    fn what_the_user_says() {
        check("seed").attr("seed", 5).output("Out", Tensor::scalar(5i32)).run();
    }
}
