//! `randperm`: the numbers from 0 on in random order.

use oarlock_ir::{Dim, Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType, fail, kernel, sig};
use oarlock_ops_support::seed::seed_or_fresh;
use oarlock_tensor::rng::GlibcRand;
use oarlock_tensor::{DType, Dims, Element};

pub(crate) const OPS: &[&dyn OpDef] = &[&Randperm];

struct Randperm;

impl OpDef for Randperm {
    sig! {
        "randperm": "Out = 0, 1, ..., n - 1 in random order";
        out "Out": "[n] of `dtype`";
        attr "n": "how many numbers";
        attr "dtype" = DType::I64.proto(), "element type of `Out`: i32 or i64";
        attr "seed" = 0, "start of the sequence; 0 for another one in every run";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (dtype, n) = (cx.attrs().dtype("dtype")?, cx.attrs().count("n")?);
        cx.set("Out", VarType::tensor(dtype, vec![Dim::Is(n)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        match p.attrs().dtype("dtype")? {
            DType::I32 => prepare::<i32>(p),
            DType::I64 => prepare::<i64>(p),
            other => fail!(Kind::DType, "`randperm` makes i32 or i64, not {other}"),
        }
    }
}

fn prepare<T: Element>(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let (out, n, seed) = (p.output("Out")?, p.attrs().count("n")?, p.attrs().int("seed")?);
    kernel(move |io| {
        let mut to = io.out_sized(out, T::DTYPE, Dims::from([n]))?;
        let to = io.data_mut::<T>(out, &mut to)?;
        to.iter_mut().enumerate().for_each(|(i, v)| *v = T::from_i64(i as i64));
        GlibcRand::new(seed_or_fresh(io, seed) as u32).shuffle(to);
        Ok(())
    })
}

#[test]
fn randperm() {
    use crate::testing::{check, tensor_of};
    check("randperm")
        .attr("n", 8)
        .attr("seed", 7)
        .output("Out", tensor_of::<i64>([8], &[2, 4, 7, 3, 6, 5, 1, 0]))
        .run();
    check("randperm").attr("n", 0).attr("seed", 7).output("Out", tensor_of::<i64>([0], &[])).run();
}
