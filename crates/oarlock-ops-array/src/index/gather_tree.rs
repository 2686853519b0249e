//! `gather_tree`: whole sequences out of the steps of a beam search of fixed width.

use oarlock_ir::{In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, kernel, sig};
use oarlock_ops_support::ints::Ints;
use oarlock_tensor::DType;
use oarlock_tensor::Element;

pub(crate) const OPS: &[&dyn OpDef] = &[&GatherTree];

struct GatherTree;

impl OpDef for GatherTree {
    sig! {
        "gather_tree":
            "Out[t, b, k] = the id at step t of the sequence whose last step is [b, k], found by going from each step to its parent";
        in "Ids": "i32 or i64 [steps, batch, beams]";
        in "Parents": "like `Ids`: the beam of the step before that each continues";
        out "Out": "like `Ids`";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (ids, parents) = (cx.integer("Ids")?, cx.integer("Parents")?);
        let same = ids.shape.rank() == 3
            && parents.shape.rank() == 3
            && ids.shape.iter().zip(parents.shape.iter()).all(|(a, b)| a.fits(*b));
        if !same {
            let what = format!("cannot follow {} through {}", cx.describe("Ids"), cx.describe("Parents"));
            return Err(cx.shape_error(what).help("both are [steps, batch, beams]"));
        }
        cx.set("Out", ids);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (ids, parents, out) = (p.input("Ids")?, p.input("Parents")?, p.output("Out")?);
        match p.dtype("Ids")? {
            DType::I32 => kernel(move |io| gather::<i32>(io, ids, parents, out)),
            _ => kernel(move |io| gather::<i64>(io, ids, parents, out)),
        }
    }
}

fn gather<T: Element>(io: &Io<'_>, ids: In, parents: In, out: Out) -> Result<()> {
    let (ids_tensor, parents_tensor) = (io.dense(ids)?, io.dense(parents)?);
    let &[steps, batch, beams] = &ids_tensor.dims()[..] else {
        return Err(io.error(Kind::Shape, ids, format!("is {}, not [steps, batch, beams]", ids_tensor.dims())));
    };
    if parents_tensor.dims() != ids_tensor.dims() {
        let what = format!("is {}, but {} is {}", parents_tensor.dims(), io.describe(ids), ids_tensor.dims());
        return Err(io.error(Kind::Shape, parents, what));
    }
    let (from, parent) = (io.data::<T>(ids, &ids_tensor)?, Ints::of(io, parents, &parents_tensor)?);
    if let Some(at) = (0..parent.len()).find(|&at| parent.at(at) as u64 >= beams as u64) {
        let what = format!("holds {} at position {at}, but there are {beams} beams", parent.at(at));
        return Err(io.error(Kind::Range, parents, what));
    }
    let mut to = io.out_sized(out, T::DTYPE, *ids_tensor.dims())?;
    let to = io.data_mut::<T>(out, &mut to)?;
    for row in 0..batch * beams {
        let (first, mut beam) = (row / beams * beams, row % beams);
        for step in (0..steps).rev() {
            let at = step * batch * beams + first;
            to[step * batch * beams + row] = from[at + beam];
            beam = parent.at(at + beam) as usize;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, tensor_of};

    #[test]
    fn parents_are_followed() {
        check("gather_tree")
            .input("Ids", tensor_of([3, 1, 2], &[1i64, 2, 3, 4, 5, 6]))
            .input("Parents", tensor_of([3, 1, 2], &[0i64, 0, 1, 0, 1, 1]))
            .output("Out", tensor_of([3, 1, 2], &[1i64, 1, 4, 4, 5, 6]))
            .run();
    }

    #[test]
    fn parents_must_be_beams() {
        let e = check("gather_tree")
            .input("Ids", tensor_of([1, 1, 2], &[1i64, 2]))
            .input("Parents", tensor_of([1, 1, 2], &[0i64, 2]))
            .any_output("Out")
            .error();
        assert!(e.contains("holds 2 at position 1, but there are 2 beams"), "{e}");
    }
}
