//! `beam_search_decode`: whole sentences out of the steps of a beam search.

use oarlock_ir::{Dim, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType};
use oarlock_ir::{by_float, kernel, sig, slots};
use oarlock_tensor::{DType, Dims, Float, Lod, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&BeamSearchDecode];

struct BeamSearchDecode;

impl OpDef for BeamSearchDecode {
    sig! {
        "beam_search_decode":
            "For each source the sentences that end in its last step, best first; repeated end_ids at the end are one. \
             The LoD has two levels: sentences of each source, and ids of each sentence";
        in "Ids": "the array of `selected_ids` of all steps of `beam_search`";
        in "Scores": "the array of `selected_scores` of all steps";
        out "SentenceIds": "[ids] i64";
        out "SentenceScores": "[ids], the score of each id's step";
        attr "beam_size": "how many branches a source has";
        attr "end_id": "the id that ends a sentence";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let scores = cx.input("Scores")?.dtype;
        cx.set("SentenceIds", VarType::tensor(DType::I64, vec![Dim::Any]).with_lod(2));
        cx.set("SentenceScores", VarType::tensor(scores, vec![Dim::Any]).with_lod(2));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let decode = Decode::new(p)?;
        by_float!(p.float("Scores")?, T => kernel(move |io| decode.run::<T>(io)))
    }
}

slots! {
    struct Decode(p) {
        ids: input "Ids",
        scores: input "Scores",
        outs: (Out, Out) = (p.output("SentenceIds")?, p.output("SentenceScores")?),
        end_id: int "end_id",
    }
}

/// One step: rows that continue rows of the step before.
struct Step<'a, T> {
    ids: &'a [i64],
    scores: &'a [T],
    /// Which rows of the step before belong to each source.
    sources: &'a [usize],
    /// Which rows continue each row of the step before.
    branches: &'a [usize],
}

/// A sentence while it is traced back, last id first.
struct Sentence<T> {
    words: Vec<(i64, T)>,
    /// Its row in the step that is looked at next.
    row: usize,
}

impl Decode {
    fn run<T: Float>(&self, io: &Io<'_>) -> Result<()> {
        let (ids, scores) = (io.array(self.ids)?, io.array(self.scores)?);
        if ids.items().len() != scores.items().len() || ids.items().is_empty() {
            let what = format!("has {} steps, but there are {} of scores", ids.items().len(), scores.items().len());
            return Err(io.error(Kind::Shape, self.ids, what).help("both arrays need the same steps, at least one"));
        }
        let steps: Vec<Step<'_, T>> =
            ids.items().iter().zip(scores.items()).map(|(i, s)| self.step(io, i, s)).collect::<Result<_>>()?;
        let sources = steps[0].sources.len() - 1;
        for (now, next) in steps.iter().zip(&steps[1..]) {
            if next.branches.len() != now.ids.len() + 1 || next.sources.len() != sources + 1 {
                return Err(io.error(Kind::Lod, self.ids, "has a step whose LoD does not fit the step before"));
            }
        }
        let sentences: Vec<Vec<Sentence<T>>> = (0..sources).map(|source| self.trace(&steps, source)).collect();
        self.write(io, &sentences)
    }

    fn step<'a, T: Float>(&self, io: &Io<'_>, ids: &'a Tensor, scores: &'a Tensor) -> Result<Step<'a, T>> {
        ids.lod().check(ids.rows()).map_err(|e| io.about(self.ids.0, e))?;
        let [sources, branches] = ids.lod().levels() else {
            let what =
                format!("has a step with {} levels of LoD, but sources and branches are needed", ids.lod().len());
            return Err(io.error(Kind::Lod, self.ids, what));
        };
        let (ids, scores) = (io.data::<i64>(self.ids, ids)?, io.data::<T>(self.scores, scores)?);
        if ids.len() != scores.len() {
            let what = format!("has a step of {} scores for {} ids", scores.len(), ids.len());
            return Err(io.error(Kind::Shape, self.scores, what));
        }
        Ok(Step { ids, scores, sources, branches })
    }

    /// The sentences of one source, best first.
    fn trace<T: Float>(&self, steps: &[Step<'_, T>], source: usize) -> Vec<Sentence<T>> {
        let mut sentences: Vec<Sentence<T>> = Vec::new();
        for step in steps.iter().rev() {
            if sentences.is_empty() {
                // The last step in which the source has rows.
                let parents = step.sources[source]..step.sources[source + 1];
                let rows = step.branches[parents.start]..step.branches[parents.end];
                sentences.extend(rows.map(|row| Sentence { words: Vec::new(), row }));
            }
            for s in &mut sentences {
                let id = step.ids[s.row];
                // Steps after the end repeat it.
                if id != self.end_id || s.words.is_empty() {
                    s.words.push((id, step.scores[s.row]));
                }
                s.row = step.branches.partition_point(|&end| end <= s.row) - 1;
            }
        }
        let last = |s: &Sentence<T>| s.words[0].1;
        sentences.sort_by(|a, b| last(b).partial_cmp(&last(a)).unwrap_or(std::cmp::Ordering::Equal));
        sentences
    }

    fn write<T: Float>(&self, io: &Io<'_>, sources: &[Vec<Sentence<T>>]) -> Result<()> {
        let (mut per_source, mut per_sentence) = (vec![0], vec![0]);
        let mut words: Vec<(i64, T)> = Vec::new();
        for sentences in sources {
            for s in sentences {
                words.extend(s.words.iter().rev());
                per_sentence.push(words.len());
            }
            per_source.push(per_sentence.len() - 1);
        }
        let lod = Lod::new(vec![per_source, per_sentence]);
        let (ids, scores) = self.outs;
        let mut t = io.out_sized(ids, DType::I64, Dims::from([words.len()]))?;
        t.set_lod(lod.clone());
        io.data_mut::<i64>(ids, &mut t)?.iter_mut().zip(&words).for_each(|(to, w)| *to = w.0);
        let mut t = io.out_sized(scores, T::DTYPE, Dims::from([words.len()]))?;
        t.set_lod(lod);
        io.data_mut::<T>(scores, &mut t)?.iter_mut().zip(&words).for_each(|(to, w)| *to = w.1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use oarlock_tensor::{Tensor, TensorArray, Value};

    use crate::testing::{check, tensor, tensor_of, with_lod};

    fn arrays(steps: &[(&[i64], &[&[usize]])]) -> (Value, Value) {
        let ids = |(ids, lod): &(&[i64], &[&[usize]])| with_lod(tensor_of([ids.len(), 1], ids), lod);
        let scores = |(ids, lod): &(&[i64], &[&[usize]])| {
            let scores: Vec<f32> = ids.iter().map(|&i| i as f32).collect();
            with_lod(tensor([ids.len(), 1], &scores), lod)
        };
        let array = |tensors: Vec<Tensor>| Value::Array(TensorArray::of(tensors));
        (array(steps.iter().map(ids).collect()), array(steps.iter().map(scores).collect()))
    }

    #[test]
    fn sentences_are_traced_back() {
        // Source 0 ends after the second step; of source 1 both sentences continue the first branch.
        let (ids, scores) = arrays(&[
            (&[1, 1], &[&[0, 1, 2], &[0, 1, 2]]),
            (&[9, 4, 5], &[&[0, 1, 2], &[0, 1, 3]]),
            (&[6, 9], &[&[0, 1, 3], &[0, 0, 2, 2]]),
        ]);
        let lod: &[&[usize]] = &[&[0, 1, 3], &[0, 2, 5, 8]];
        check("beam_search_decode")
            .input("Ids", ids)
            .input("Scores", scores)
            .attr("beam_size", 2)
            .attr("end_id", 9)
            .output("SentenceIds", with_lod(tensor_of([8], &[1i64, 9, 1, 4, 9, 1, 4, 6]), lod))
            .output("SentenceScores", with_lod(tensor([8], &[1.0, 9.0, 1.0, 4.0, 9.0, 1.0, 4.0, 6.0]), lod))
            .run();
    }

    #[test]
    fn steps_must_fit_each_other() {
        let (ids, scores) = arrays(&[(&[1], &[&[0, 1], &[0, 1]]), (&[2], &[&[0, 2], &[0, 1, 1]])]);
        let e = check("beam_search_decode")
            .input("Ids", ids)
            .input("Scores", scores)
            .attr("beam_size", 2)
            .attr("end_id", 9)
            .any_output("SentenceIds")
            .any_output("SentenceScores")
            .error();
        assert!(e.contains("has a step whose LoD does not fit the step before"), "{e}");
    }
}
