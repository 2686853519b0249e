//! `random_crop`: a part of each example, at a random place.

use oarlock_ir::{Dim, Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType, fail, kernel, sig};
use oarlock_tensor::rng::{MinStd, uniform_int};
use oarlock_tensor::{DType, Dims};

pub(crate) const OPS: &[&dyn OpDef] = &[&RandomCrop];

struct RandomCrop;

impl OpDef for RandomCrop {
    sig! {
        "random_crop":
            "for each example, Out = a part of X of the sizes `shape`, which are those of the last dimensions; the others number \
             the examples";
        in "X": "any tensor";
        in "Seed": "one i64; `startup_seed` is used while it is empty";
        out "Out": "like `X`, with `shape` for its last sizes";
        out "SeedOut": "one i64, for the next step; usually `Seed` itself";
        attr "shape": "sizes of a part";
        attr "startup_seed" = 0, "of the first step";
        // Its seed is another one in the next run.
        traits Traits { gradient_free: true, ..Traits::NONE.random(None).maybe_empty(&["Seed"]) };
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, shape) = (cx.input("X")?, sizes(&cx.attrs().ints("shape")?)?);
        let mut dims = x.shape.to_vec();
        let Some(first) = dims.len().checked_sub(shape.len()).filter(|n| *n > 0) else {
            let what = format_args!("takes parts {shape:?} of examples, but has {}", cx.describe("X"));
            return Err(cx
                .shape_error(what)
                .help("`shape` has fewer sizes than `X`, whose first ones number the examples"));
        };
        for (dim, &size) in dims[first..].iter_mut().zip(&shape) {
            if dim.known().is_some_and(|n| n < size) {
                let what = format_args!("cannot take parts {shape:?} of {}", cx.describe("X"));
                return Err(cx.shape_error(what));
            }
            *dim = Dim::Is(size);
        }
        cx.set("Out", VarType::tensor(x.dtype, dims));
        cx.set("SeedOut", VarType::tensor(DType::I64, vec![Dim::Is(1)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, seed, out, seed_out) = (p.input("X")?, p.input("Seed")?, p.output("Out")?, p.output("SeedOut")?);
        let (shape, startup) = (sizes(&p.attrs().ints("shape")?)?, p.attrs().int("startup_seed")?);
        kernel(move |io| {
            let first = io.value(seed)?.is_empty();
            let seed = if first { startup } else { io.index(seed)? } as u64;
            let from = io.dense(x)?;
            let batch = from.dims().rank().saturating_sub(shape.len());
            let (examples, whole) = from.dims().split_at(batch);
            if batch == 0 || whole.iter().zip(&shape).any(|(n, size)| n < size) {
                let what = format_args!("is {}, of which no parts {shape:?} of examples can be taken", from.dims());
                return Err(io.error(Kind::Shape, x, what));
            }
            let dims: Vec<usize> = examples.iter().chain(&shape).copied().collect();
            let mut to = io.out_sized(out, from.dtype(), Dims::new(&dims))?;
            let size = from.dtype().size();
            let (step, bytes) = (whole.iter().product::<usize>() * size, shape.iter().product::<usize>() * size);
            let examples: usize = examples.iter().product();
            for example in 0..examples {
                // Each example has draws of its own, so that their order does not matter.
                let mut engine = MinStd::new(seed);
                engine.jump((example * shape.len()) as u64);
                let place = |(n, size): (&usize, &usize)| uniform_int(&mut engine, 0, (n - size) as u64) as usize;
                let places: Vec<usize> = whole.iter().zip(&shape).map(place).collect();
                let to = &mut to.bytes_mut()[example * bytes..][..bytes];
                copy(&from.bytes()[example * step..][..step], to, (whole, &shape, &places), size);
            }
            let mut engine = MinStd::new(seed);
            engine.jump((examples * shape.len()) as u64);
            let mut next = io.out_sized(seed_out, DType::I64, Dims::from([1]))?;
            io.data_mut::<i64>(seed_out, &mut next)?[0] = engine.next().into();
            Ok(())
        })
    }
}

fn sizes(shape: &[i64]) -> Result<Vec<usize>> {
    let size = |n: &i64| usize::try_from(*n).ok().filter(|n| *n > 0);
    match shape.iter().map(size).collect::<Option<Vec<_>>>().filter(|sizes| !sizes.is_empty()) {
        Some(sizes) => Ok(sizes),
        None => fail!(Kind::Argument, "attribute `shape` of `random_crop` is {shape:?}; it must be sizes above 0"),
    }
}

/// Copies a part: `whole` and `part` are the sizes, `places` where the part begins, all along the same axes.
fn copy(from: &[u8], to: &mut [u8], (whole, part, places): (&[usize], &[usize], &[usize]), size: usize) {
    let ([_, whole @ ..], [rows, part @ ..], [place, places @ ..]) = (whole, part, places) else {
        return to.copy_from_slice(from);
    };
    let (stride, bytes) = (whole.iter().product::<usize>() * size, part.iter().product::<usize>() * size);
    if part.is_empty() {
        // The last axis lies in one piece.
        return to.copy_from_slice(&from[place * size..][..rows * size]);
    }
    for (row, to) in to.chunks_exact_mut(bytes).enumerate() {
        copy(&from[(place + row) * stride..][..stride], to, (whole, part, places), size);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor_of};

    fn case(shape: Vec<i32>) -> Check {
        let x: Vec<i32> = (0..24).collect();
        check("random_crop")
            .input("X", tensor_of([2, 3, 4], &x))
            .input("Seed", tensor_of([1], &[7i64]))
            .attr("shape", shape)
    }

    /// As `std::minstd_rand` draws them.
    #[test]
    fn examples_have_places_of_their_own() {
        let whole: Vec<i32> = (0..24).collect();
        case(vec![3, 4]).output("Out", tensor_of([2, 3, 4], &whole)).any_output("SeedOut").run();
        case(vec![2, 2])
            .output("Out", tensor_of([2, 2, 2], &[1i32, 2, 5, 6, 12, 13, 16, 17]))
            .output("SeedOut", tensor_of([1], &[1_665_781_405i64]))
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = case(vec![2, 3, 4]).any_output("Out").any_output("SeedOut").error();
        assert!(e.contains("takes parts [2, 3, 4] of examples, but has `X` = X.0 i32[2, 3, 4]"), "{e}");
        let e = case(vec![4, 4]).any_output("Out").any_output("SeedOut").error();
        assert!(e.contains("cannot take parts [4, 4] of `X` = X.0 i32[2, 3, 4]"), "{e}");
        let e = case(vec![-1, 2]).any_output("Out").any_output("SeedOut").error();
        assert!(e.contains("attribute `shape` of `random_crop` is [-1, 2]; it must be sizes above 0"), "{e}");
    }
}
