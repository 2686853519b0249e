//! `target_assign`: for every prediction the target that it was matched to.

use oarlock_ir::{Dim, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType, kernel, sig, slots};
use oarlock_ops_support::lod_rows;
use oarlock_ops_support::number::by_number;
use oarlock_tensor::{DType, Dims, Element, Tensor};

use crate::sizes;

pub(crate) const OPS: &[&dyn OpDef] = &[&TargetAssign];

struct TargetAssign;

impl OpDef for TargetAssign {
    sig! {
        "target_assign":
            "Out[i, j] = X[row MatchIndices[i, j] of image i, j modulo p], with weight 1; mismatch_value with weight 0 where \
             the index is -1, and with weight 1 for the indices of NegIndices";
        in "X": "[rows, p, k], f32, f64, i32 or i64, with a sequence of rows per image: the targets";
        in "MatchIndices": "[images, m], i32: rows counted from the first of the image, -1 for none";
        in? "NegIndices": "[n, 1], i32, with a sequence per image: predictions that count as negative examples";
        out "Out": "[images, m, k]";
        out "OutWeight": "[images, m, 1], f32";
        attr "mismatch_value" = 0, "the target of predictions that match nothing";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, matches) = (cx.input("X")?, cx.integer("MatchIndices")?);
        sizes::expect(cx, "X", &x, &[None; 3], "[rows, p, k]")?;
        sizes::expect(cx, "MatchIndices", &matches, &[None; 2], "[images, m]")?;
        let (n, m) = (matches.shape[0], matches.shape[1]);
        if cx.has("NegIndices") {
            sizes::expect(cx, "NegIndices", &cx.integer("NegIndices")?, &[None, Some(1)], "[n, 1]")?;
        }
        cx.set("Out", VarType::tensor(x.dtype, vec![n, m, x.shape[2]]));
        cx.set("OutWeight", VarType::tensor(DType::F32, vec![n, m, Dim::Is(1)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let slots = Slots::new(p)?;
        let mismatch = p.attrs().int("mismatch_value")?;
        by_number!(p.dtype("X")?, T => kernel(move |io| slots.run(io, T::from_i64(mismatch))), d => {
            Err(oarlock_ir::Error::new(Kind::DType, format!("`target_assign` needs f32, f64, i32 or i64 in `X`, not {d}")))
        })
    }
}

slots! {
    #[derive(Clone, Copy)]
    struct Slots(p) {
        x: input "X",
        matches: input "MatchIndices",
        negative: maybe_input "NegIndices",
        out: output "Out",
        weight: output "OutWeight",
    }
}

impl Slots {
    fn run<T: Element>(&self, io: &Io<'_>, mismatch: T) -> Result<()> {
        let (x_tensor, match_tensor) = (io.dense(self.x)?, io.dense(self.matches)?);
        let [_, p, k] = sizes::dims(io, self.x, &x_tensor, "[rows, p, k]")?;
        let [images, m] = sizes::dims(io, self.matches, &match_tensor, "[images, m]")?;
        let offsets = sequences(io, self.x, &x_tensor, images)?;
        let (x, matches) = (io.data::<T>(self.x, &x_tensor)?, io.data::<i32>(self.matches, &match_tensor)?);
        let mut out_tensor = io.out_sized(self.out, T::DTYPE, Dims::from([images, m, k]))?;
        let mut weight_tensor = io.out_sized(self.weight, DType::F32, Dims::from([images, m, 1]))?;
        let out = io.data_mut::<T>(self.out, &mut out_tensor)?;
        let weights = io.data_mut::<f32>(self.weight, &mut weight_tensor)?;
        for (i, (&row, weight)) in matches.iter().zip(&mut *weights).enumerate() {
            let (rows, out) = (&offsets[i / m..], &mut out[i * k..][..k]);
            *weight = if row > -1 { 1.0 } else { 0.0 };
            if row <= -1 {
                out.fill(mismatch);
                continue;
            }
            let row = row as usize;
            if p == 0 || row >= rows[1] - rows[0] {
                let what = format!("names row {row} of image {}, which has {}", i / m, rows[1] - rows[0]);
                return Err(io.error(Kind::Range, self.matches, what));
            }
            out.copy_from_slice(&x[((rows[0] + row) * p + i % m % p) * k..][..k]);
        }
        self.mark_negative(io, (out, weights), (images, m, k), mismatch)
    }

    fn mark_negative<T: Element>(
        &self,
        io: &Io<'_>,
        (out, weights): (&mut [T], &mut [f32]),
        (images, m, k): (usize, usize, usize),
        mismatch: T,
    ) -> Result<()> {
        let Some(negative) = self.negative else { return Ok(()) };
        let tensor = io.dense(negative)?;
        let offsets = sequences(io, negative, &tensor, images)?;
        let indices = io.data::<i32>(negative, &tensor)?;
        for (i, rows) in offsets.windows(2).enumerate() {
            for &index in &indices[rows[0]..rows[1]] {
                let Some(at) = usize::try_from(index).ok().filter(|at| *at < m).map(|at| i * m + at) else {
                    let what = format!("names prediction {index}, but there are {m}");
                    return Err(io.error(Kind::Range, negative, what));
                };
                out[at * k..][..k].fill(mismatch);
                weights[at] = 1.0;
            }
        }
        Ok(())
    }
}

/// The offsets of a tensor that has a sequence per image.
fn sequences<'t>(io: &Io<'_>, input: In, t: &'t Tensor, images: usize) -> Result<&'t [usize]> {
    let offsets = lod_rows::offsets(io, input, t)?;
    if offsets.len() == images + 1 && t.lod().len() == 1 {
        return Ok(offsets);
    }
    let what = format_args!(
        "has {} levels of LoD and {} sequences, but needs one level with a sequence for each of {images} images",
        t.lod().len(),
        offsets.len() - 1
    );
    Err(io.error(Kind::Lod, input, what))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of, with_lod};

    fn case() -> Check {
        check("target_assign")
            .input("X", with_lod(tensor([3, 1, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), &[&[0, 2, 3]]))
            .input("MatchIndices", tensor_of([2, 2], &[1, -1, 0, -1]))
            .attr("mismatch_value", 9)
    }

    #[test]
    fn matched_rows_are_copied() {
        case()
            .output("Out", tensor([2, 2, 2], &[3.0, 4.0, 9.0, 9.0, 5.0, 6.0, 9.0, 9.0]))
            .output("OutWeight", tensor([2, 2, 1], &[1.0, 0.0, 1.0, 0.0]))
            .run();
        case()
            .input("X", with_lod(tensor_of([3, 1, 1], &[7, 8, 9]), &[&[0, 2, 3]]))
            .input("NegIndices", with_lod(tensor_of([1, 1], &[1]), &[&[0, 0, 1]]))
            .output("Out", tensor_of([2, 2, 1], &[8, 9, 9, 9]))
            .output("OutWeight", tensor([2, 2, 1], &[1.0, 0.0, 1.0, 1.0]))
            .run();
    }

    #[test]
    fn indices_out_of_range_are_named() {
        let outs = |case: Check| case.any_output("Out").any_output("OutWeight").error();
        let e = outs(case().input("MatchIndices", tensor_of([2, 2], &[1, -1, 1, -1])));
        assert!(e.contains("input `MatchIndices` = `MatchIndices.0` names row 1 of image 1, which has 1"), "{e}");
        let e = outs(case().input("NegIndices", with_lod(tensor_of([1, 1], &[2]), &[&[0, 0, 1]])));
        assert!(e.contains("names prediction 2, but there are 2"), "{e}");
        let e = outs(case().input("MatchIndices", tensor_of([1, 2], &[1, -1])));
        assert!(e.contains("needs one level with a sequence for each of 1 images"), "{e}");
    }
}
