//! `crf_decoding`: the tag sequence of the highest score under a conditional random field.

use std::ops::Range;

use oarlock_ir::{Dim, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType, by_float, kernel, sig, slots};
use oarlock_tensor::{DType, Dims, Float};

use crate::decoding::crf_scores::{self, Scores};
use crate::decoding::segments::Segments;

pub(crate) const OPS: &[&dyn OpDef] = &[&CrfDecoding];

struct CrfDecoding;

impl OpDef for CrfDecoding {
    sig! {
        "crf_decoding":
            "ViterbiPath = the tags of the highest score (see `linear_chain_crf`); with Label: 1 where they are the labels, else 0";
        in "Emission": "scores of tags: [rows, tags] with LoD, or [batch, steps, tags] with `Length`";
        in "Transition": "[tags + 2, tags]: scores of starts, of ends, and of each tag (column) after each (row)";
        in? "Label": "i64, the true tags";
        in? "Length": "i64, steps of each sequence; without it the LoD tells";
        out "ViterbiPath": "i64: [rows, 1] with LoD, or [batch, steps] with zeros beyond the lengths";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let emission = crf_scores::infer_emission(cx)?;
        let second = if cx.has("Length") { emission.shape[1] } else { Dim::Is(1) };
        let ty = VarType::tensor(DType::I64, vec![emission.shape[0], second]);
        cx.set("ViterbiPath", ty.with_lod(emission.lod_level));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let decoder = Decoder::new(p)?;
        let mut sequences = Vec::new();
        by_float!(p.float("Emission")?, T => {
            let mut scratch = Scratch::<T>::default();
            kernel(move |io| decoder.run(io, &mut sequences, &mut scratch))
        })
    }
}

slots! {
    struct Decoder(p) {
        emission: Segments = Segments { input: p.input("Emission")?, length: p.maybe_input("Length")? },
        transition: input "Transition",
        label: maybe_input "Label",
        path: output "ViterbiPath",
    }
}

/// Memory that a step leaves to the next.
#[derive(Default)]
struct Scratch<T> {
    /// The best score of a sequence up to a row that has each tag there.
    best: Vec<T>,
    /// The tag before each tag of a row on that sequence.
    before: Vec<usize>,
}

impl Decoder {
    fn run<T: Float>(&self, io: &Io<'_>, sequences: &mut Vec<Range<usize>>, s: &mut Scratch<T>) -> Result<()> {
        let (x, w) = (io.dense(self.emission.input)?, io.dense(self.transition)?);
        let scores = Scores::<T>::new(io, (self.emission.input, &x), (self.transition, &w))?;
        self.emission.find(io, &x, sequences)?;
        let second = if self.emission.length.is_some() { x.dims()[1] } else { 1 };
        let mut path = io.out_sized(self.path, DType::I64, Dims::from([x.dims()[0], second]))?;
        path.set_lod(x.lod().clone());
        let path = io.data_mut::<i64>(self.path, &mut path)?;
        path.fill(0);
        for rows in sequences.iter().filter(|rows| !rows.is_empty()) {
            s.decode(&scores, rows.clone(), path);
        }
        self.compare(io, sequences, path)
    }

    /// Replaces tags of sequences by whether they are those of the labels; what fills up a short sequence stays 0.
    fn compare(&self, io: &Io<'_>, sequences: &[Range<usize>], path: &mut [i64]) -> Result<()> {
        let Some(label) = self.label else { return Ok(()) };
        let labels = io.dense(label)?;
        let labels = io.data::<i64>(label, &labels)?;
        if labels.len() != path.len() {
            let what = format!("has {} labels for {} rows", labels.len(), path.len());
            return Err(io.error(Kind::Shape, label, what));
        }
        for rows in sequences {
            let labels = &labels[rows.clone()];
            path[rows.clone()].iter_mut().zip(labels).for_each(|(p, l)| *p = i64::from(*p == *l));
        }
        Ok(())
    }
}

impl<T: Float> Scratch<T> {
    /// Writes the best tags of one sequence; of equal scores the first tag wins.
    fn decode(&mut self, scores: &Scores<'_, T>, rows: Range<usize>, path: &mut [i64]) {
        let tags = scores.tags;
        self.best.clear();
        self.best.extend(scores.transition[..tags].iter().zip(scores.row(rows.start)).map(|(&w, &x)| w + x));
        self.before.clear();
        for row in rows.start + 1..rows.end {
            let last = self.best.len() - tags;
            for to in 0..tags {
                let (from, score) =
                    first_greatest((0..tags).map(|from| self.best[last + from] + scores.step(from, to)));
                self.before.push(from);
                self.best.push(score + scores.row(row)[to]);
            }
        }
        let last = &self.best[self.best.len() - tags..];
        let ends = last.iter().zip(&scores.transition[tags..]);
        let (mut tag, _) = first_greatest(ends.map(|(&b, &w)| b + w));
        for row in rows.clone().rev() {
            path[row] = tag as i64;
            if row > rows.start {
                tag = self.before[(row - rows.start - 1) * tags + tag];
            }
        }
    }
}

/// The first of the greatest numbers, and where it is.
fn first_greatest<T: Float>(numbers: impl Iterator<Item = T>) -> (usize, T) {
    numbers.enumerate().fold((0, -T::INFINITY), |best, n| if n.1 > best.1 { n } else { best })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor, tensor_of, with_lod};

    /// Tag 1 is favoured, but changing the tag is expensive.
    fn field() -> Check {
        check("crf_decoding").input("Transition", tensor([4, 2], &[0.0, 0.0, 0.0, 0.0, 2.0, -2.0, -2.0, 2.0]))
    }

    #[test]
    fn the_best_path() {
        let emission = tensor([4, 2], &[3.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
        field()
            .input("Emission", with_lod(emission.clone(), &[&[0, 3, 4]]))
            .output("ViterbiPath", with_lod(tensor_of([4, 1], &[0i64, 0, 0, 1]), &[&[0, 3, 4]]))
            .run();
        field()
            .input("Emission", with_lod(emission, &[&[0, 3, 4]]))
            .input("Label", with_lod(tensor_of([4, 1], &[0i64, 1, 0, 1]), &[&[0, 3, 4]]))
            .output("ViterbiPath", with_lod(tensor_of([4, 1], &[1i64, 0, 1, 1]), &[&[0, 3, 4]]))
            .run();
    }

    #[test]
    fn padded_sequences() {
        field()
            .input("Emission", tensor([2, 2, 2], &[0.0, 1.0, 5.0, 0.0, 0.0, 1.0, 0.0, 1.0]))
            .input("Length", tensor_of([2, 1], &[1i64, 2]))
            .output("ViterbiPath", tensor_of([2, 2], &[1i64, 0, 1, 1]))
            .run();
        let e = field()
            .input("Emission", tensor([1, 2, 2], &[0.0; 4]))
            .input("Length", tensor_of([1, 1], &[3i64]))
            .any_output("ViterbiPath")
            .error();
        assert!(e.contains("says that sequence 0 has 3 steps, but there is room for 2"), "{e}");
    }
}
