//! `rank_attention`: each example of a page from all of its page, through a matrix for every pair of places on it.

use oarlock_ir::{
    Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, by_float, fail, kernel,
};
use oarlock_ir::{sig, slots};
use oarlock_ops_support::checks;
use oarlock_tensor::{Dims, Float, Tensor, simd};

pub(crate) const OPS: &[&dyn OpDef] = &[&RankAttention, &RANK_ATTENTION_GRAD];

struct RankAttention;

impl OpDef for RankAttention {
    sig! {
        "rank_attention":
            "Out[i] = the sum over k of X[row k of i] P, where P is the block of RankParam for the places of i and of that row; \
             examples and rows without a place (0 or less) count as zeros";
        in "X": "[n, features], f32 or f64";
        in "RankOffset":
            "i32 [n, 1 + 2 MaxRank]: the place of an example, from 1 on, then for each k a place and the row of `X` that has it";
        in "RankParam": "[MaxRank * MaxRank * features, columns]: a block of `features` rows for each pair of places";
        out "Out": "[n, columns], with the LoD of `X`";
        attr "MaxRank" = 3, "places of a page";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, offset, param) = (cx.float("X")?, cx.input("RankOffset")?, cx.float("RankParam")?);
        let places = places(&cx.attrs())?;
        let fits = match (&x.shape[..], &offset.shape[..], &param.shape[..]) {
            ([_, features], [_, columns], [rows, _]) => {
                let blocks = oarlock_ir::product(&[Dim::Is(places * places), *features]);
                columns.known().is_none_or(|n| n.saturating_sub(1) / 2 == places) && rows.fits(blocks)
            }
            _ => false,
        };
        if !fits {
            let all = ["X", "RankOffset", "RankParam"].map(|slot| cx.describe(slot)).join(", ");
            let note = format!(
                "with an `X` of n x m, `RankOffset` is n x {} and `RankParam` has {} m rows",
                1 + 2 * places,
                places * places
            );
            return Err(cx.shape_error(format_args!("cannot use {all} together")).note(note));
        }
        let columns = param.shape[1];
        cx.set("Out", x.clone().with_shape(vec![x.shape[0], columns]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (slots, param, out) = (Slots::new(p)?, p.input("RankParam")?, p.output("Out")?);
        by_float!(p.float("X")?, T => kernel(move |io| forward::<T>(io, &slots, param, out)))
    }
}

fn places(attrs: &oarlock_ir::AttrView<'_>) -> Result<usize> {
    match attrs.count("MaxRank")? {
        0 => fail!(Kind::Argument, "attribute `MaxRank` of `rank_attention` is 0; it must be above 0"),
        n => Ok(n),
    }
}

slots! {
    struct Slots(p) {
        x: input "X",
        offset: input "RankOffset",
        places: usize = places(&p.attrs())?,
    }
}

impl Slots {
    /// Calls `f` for every example and row of its page, with the block of the parameter.
    fn each(&self, io: &Io<'_>, n: usize, offset: &Tensor, mut f: impl FnMut(usize, usize, usize)) -> Result<()> {
        let columns = 1 + 2 * self.places;
        checks::expect_dims(io, self.offset, offset, &[n, columns], "a row per example")?;
        let lines = io.data::<i32>(self.offset, offset)?.chunks_exact(columns);
        for (i, line) in lines.enumerate().filter(|(_, line)| line[0] > 0) {
            for pair in line[1..].chunks_exact(2).filter(|pair| pair[0] > 0) {
                let row = usize::try_from(pair[1]).ok().filter(|row| *row < n);
                let known = [line[0], pair[0]].map(|place| place as usize - 1);
                let Some(row) = row.filter(|_| known.iter().all(|place| *place < self.places)) else {
                    let what =
                        format_args!("has {line:?} in row {i}, but there are {} places and {n} rows", self.places);
                    return Err(io.error(Kind::Range, self.offset, what));
                };
                f(i, row, known[0] * self.places + known[1]);
            }
        }
        Ok(())
    }

    /// Rows of the parameter.
    fn rows(&self, features: usize) -> usize {
        self.places * self.places * features
    }
}

fn forward<T: Float>(io: &Io<'_>, s: &Slots, param: In, out: Out) -> Result<()> {
    let (x, offset, p) = (io.dense(s.x)?, io.dense(s.offset)?, io.dense(param)?);
    let ((n, features), columns) = (x.dims().matrix(1), p.dims().matrix(1).1);
    checks::expect_dims(io, param, &p, &[s.rows(features), columns], "a block of rows per pair of places")?;
    let mut to = io.out_sized(out, T::DTYPE, Dims::from([n, columns]))?;
    to.set_lod(x.lod().clone());
    let to = io.data_mut::<T>(out, &mut to)?;
    to.fill(T::ZERO);
    let (x, p) = (io.data::<T>(s.x, &x)?, io.data::<T>(param, &p)?);
    s.each(io, n, &offset, |i, row, block| {
        let to = &mut to[i * columns..][..columns];
        for (feature, value) in x[row * features..][..features].iter().enumerate() {
            simd::axpy(to, *value, &p[(block * features + feature) * columns..][..columns]);
        }
    })
}

const RANK_ATTENTION_GRAD: GradOp =
    GradOp::of(&RankAttention, "rank_attention_grad(X, RankOffset, RankParam, Out@GRAD) -> RankParam@GRAD")
        .doc("RankParam@GRAD, block by block: the sum of X[row]^T Out@GRAD[i]; as in Fluid, X gets no gradient")
        .traits(Traits::NONE.shape_only(&["RankParam"]))
        .kernel(|p| {
            let (slots, param, dout) = (Slots::new(p)?, p.input("RankParam")?, p.input("Out@GRAD")?);
            let out = p.output("RankParam@GRAD")?;
            by_float!(p.float("X")?, T => kernel(move |io| backward::<T>(io, &slots, (param, dout), out)))
        });

fn backward<T: Float>(io: &Io<'_>, s: &Slots, (param, dout): (In, In), out: Out) -> Result<()> {
    let (x, offset, p, d) = (io.dense(s.x)?, io.dense(s.offset)?, io.dense(param)?, io.dense(dout)?);
    let ((n, features), columns) = (x.dims().matrix(1), p.dims().matrix(1).1);
    checks::expect_dims(io, param, &p, &[s.rows(features), columns], "a block of rows per pair of places")?;
    let (x, d) = (io.data::<T>(s.x, &x)?, checks::sized::<T>(io, dout, &d, n * columns)?);
    let mut to = io.out_sized(out, T::DTYPE, *p.dims())?;
    let to = io.data_mut::<T>(out, &mut to)?;
    to.fill(T::ZERO);
    s.each(io, n, &offset, |i, row, block| {
        let d = &d[i * columns..][..columns];
        for (feature, value) in x[row * features..][..features].iter().enumerate() {
            simd::axpy(&mut to[(block * features + feature) * columns..][..columns], *value, d);
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, tensor_of};

    /// A page of two examples at places 1 and 2, and an example without a place.
    fn case() -> Check {
        let offsets = [1i32, 1, 0, 2, 1, 2, 1, 0, 2, 1, 0, 1, 0, 2, 1];
        check("rank_attention").input("RankOffset", tensor_of([3, 5], &offsets)).attr("MaxRank", 2)
    }

    #[test]
    fn pairs_of_places_have_blocks() {
        case()
            .input("X", tensor([3, 1], &[1.0, 10.0, 100.0]))
            .input("RankParam", tensor([4, 1], &[1.0, 2.0, 3.0, 4.0]))
            .output("Out", tensor([3, 1], &[21.0, 43.0, 0.0]))
            .run();
    }

    #[test]
    fn gradient_of_the_parameter() {
        case()
            .input("X", noise([3, 2], 1))
            .input("RankParam", noise([8, 3], 2))
            .any_output("Out")
            .grad(&["RankParam"])
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = case().input("X", noise([3, 2], 1)).input("RankParam", noise([6, 3], 2)).any_output("Out").error();
        assert!(e.contains("with an `X` of n x m, `RankOffset` is n x 5 and `RankParam` has 4 m rows"), "{e}");
        let offsets = tensor_of([1, 5], &[3i32, 1, 0, 2, 0]);
        let e = case().input("RankOffset", offsets).input("X", noise([1, 2], 1)).input("RankParam", noise([8, 3], 2));
        let e = e.any_output("Out").error();
        assert!(e.contains("has [3, 1, 0, 2, 0] in row 0, but there are 2 places and 1 rows"), "{e}");
    }
}
