//! `edit_distance`: how many tokens must be inserted, deleted or replaced to make one sequence the other.

use std::ops::Range;

use oarlock_ir::{Dim, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType, kernel, sig, slots};
use oarlock_ops_support::ints::Ints;
use oarlock_tensor::{DType, Dims, Tensor};

use crate::decoding::segments::{self, Segments};

pub(crate) const OPS: &[&dyn OpDef] = &[&EditDistance];

struct EditDistance;

impl OpDef for EditDistance {
    sig! {
        "edit_distance":
            "Out = the fewest insertions, deletions and replacements that turn a hypothesis into its reference, \
             divided by the length of the reference if normalized";
        in "Hyps": "i32 or i64 tokens: [rows, 1] with LoD, or [batch, steps] with `HypsLength`";
        in "Refs": "the same for references";
        in? "HypsLength": "steps of each hypothesis";
        in? "RefsLength": "steps of each reference";
        out "SequenceNum": "[1] i64, how many pairs there are";
        out "Out": "[pairs, 1] f32";
        attr "normalized" = false, "divide by the length of the reference";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let hyps = cx.integer("Hyps")?;
        cx.integer("Refs")?;
        if cx.has("HypsLength") != cx.has("RefsLength") {
            return Err(cx.shape_error("needs both HypsLength and RefsLength, or neither"));
        }
        let rows = if cx.has("HypsLength") { hyps.shape.first().copied().unwrap_or(Dim::Any) } else { Dim::Any };
        cx.set("Out", VarType::tensor(DType::F32, vec![rows, Dim::Is(1)]));
        cx.set("SequenceNum", VarType::tensor(DType::I64, vec![Dim::Is(1)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let mut distance = Distance::new(p)?;
        kernel(move |io| distance.run(io))
    }
}

slots! {
    struct Distance(p) {
        hyps: Segments = Segments { input: p.input("Hyps")?, length: p.maybe_input("HypsLength")? },
        refs: Segments = Segments { input: p.input("Refs")?, length: p.maybe_input("RefsLength")? },
        out: output "Out",
        number: maybe_output "SequenceNum",
        normalized: bool "normalized",
        hyp_rows: Vec<Range<usize>> = Vec::new(),
        ref_rows: Vec<Range<usize>> = Vec::new(),
        /// Distances of the part of a hypothesis to the first tokens of its reference.
        row: Vec<usize> = Vec::new(),
    }
}

impl Distance {
    fn run(&mut self, io: &Io<'_>) -> Result<()> {
        let (hyps, refs) = (io.dense(self.hyps.input)?, io.dense(self.refs.input)?);
        self.hyps.find(io, &hyps, &mut self.hyp_rows)?;
        self.refs.find(io, &refs, &mut self.ref_rows)?;
        let pairs = segments::same_number(io, (self.hyps.input, &self.hyp_rows), (self.refs.input, &self.ref_rows))?;
        let (hyps, refs) = (Ints::of(io, self.hyps.input, &hyps)?, Ints::of(io, self.refs.input, &refs)?);
        let mut out = io.out_sized(self.out, DType::F32, Dims::from([pairs, 1]))?;
        for (i, to) in io.data_mut::<f32>(self.out, &mut out)?.iter_mut().enumerate() {
            let (a, b) = (self.hyp_rows[i].clone(), self.ref_rows[i].clone());
            let changes = distance(hyps, a, refs, b.clone(), &mut self.row) as f32;
            if self.normalized && b.is_empty() {
                let what = format!("has an empty sequence {i}, by whose length a distance cannot be divided");
                return Err(io
                    .error(Kind::Lod, self.refs.input, what)
                    .help("drop such pairs, or set normalized=False"));
            }
            *to = if self.normalized { changes / b.len() as f32 } else { changes };
        }
        if let Some(number) = self.number {
            io.out(number)?.copy_from(&Tensor::scalar(pairs as i64));
        }
        Ok(())
    }
}

fn distance(a: Ints<'_>, a_rows: Range<usize>, b: Ints<'_>, b_rows: Range<usize>, row: &mut Vec<usize>) -> usize {
    row.clear();
    row.extend(0..=b_rows.len());
    for (i, token) in a_rows.map(|at| a.at(at)).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b_rows.clone().map(|at| b.at(at)).enumerate() {
            let replaced = diagonal + usize::from(token != other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[row.len() - 1]
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of, with_lod};

    fn words() -> Check {
        // kitten, (nothing); sitting, 2
        check("edit_distance")
            .input("Hyps", with_lod(tensor_of([6, 1], &[11i64, 9, 20, 20, 5, 14]), &[&[0, 6, 6]]))
            .input("Refs", with_lod(tensor_of([8, 1], &[19i64, 9, 20, 20, 9, 14, 7, 2]), &[&[0, 7, 8]]))
            .output("SequenceNum", tensor_of([1], &[2i64]))
    }

    #[test]
    fn insertions_deletions_replacements() {
        words().output("Out", tensor([2, 1], &[3.0, 1.0])).run();
        words().attr("normalized", true).output("Out", tensor([2, 1], &[3.0 / 7.0, 1.0])).run();
    }

    #[test]
    fn padded() {
        check("edit_distance")
            .input("Hyps", tensor_of([2, 2], &[1i64, 2, 3, 0]))
            .input("Refs", tensor_of([2, 1], &[2i64, 4]))
            .input("HypsLength", tensor_of([2], &[2i64, 1]))
            .input("RefsLength", tensor_of([2], &[1i64, 0]))
            .output("Out", tensor([2, 1], &[1.0, 1.0]))
            .output("SequenceNum", tensor_of([1], &[2i64]))
            .run();
    }

    #[test]
    fn a_distance_to_nothing_cannot_be_normalized() {
        let e = check("edit_distance")
            .input("Hyps", with_lod(tensor_of([1, 1], &[1i64]), &[&[0, 1]]))
            .input("Refs", with_lod(tensor_of::<i64>([0, 1], &[]), &[&[0, 0]]))
            .attr("normalized", true)
            .any_output("Out")
            .any_output("SequenceNum")
            .error();
        assert!(e.contains("has an empty sequence 0, by whose length a distance cannot be divided"), "{e}");
    }
}
