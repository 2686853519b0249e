//! `positive_negative_pair`: how many pairs of answers to one query are in the right order.

use std::collections::BTreeMap;

use oarlock_ir::{Dim, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType};
use oarlock_ir::{by_float, fail, kernel, sig};
use oarlock_ops_support::checks;
use oarlock_ops_support::equal_sizes;
use oarlock_tensor::Float;

pub(crate) const OPS: &[&dyn OpDef] = &[&PositiveNegativePair];

struct PositiveNegativePair;

impl OpDef for PositiveNegativePair {
    sig! {
        "positive_negative_pair":
            "PositivePair = the pairs of rows with one QueryID and different labels that the scores order as the labels do; \
             NegativePair all others of them; NeutralPair those among them with equal scores. A pair counts the mean of its weights";
        in "Score": "[rows, columns]";
        in "Label": "[rows, 1], like the scores' type";
        in "QueryID": "[rows, 1] i64";
        in? "AccumulatePositivePair": "[1], added to the result; all three or none";
        in? "AccumulateNegativePair": "[1]";
        in? "AccumulateNeutralPair": "[1]";
        in? "Weight": "[rows, 1]";
        out "PositivePair": "[1]";
        out "NegativePair": "[1]";
        out? "NeutralPair": "[1]";
        attr "column" = 0, "the column of `Score`; negative from the end";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let score = cx.float("Score")?;
        cx.float("Label")?;
        cx.integer("QueryID")?;
        for slot in ["PositivePair", "NegativePair", "NeutralPair"] {
            cx.set(slot, VarType::tensor(score.dtype, vec![Dim::Is(1)]));
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let earlier = ["AccumulatePositivePair", "AccumulateNegativePair", "AccumulateNeutralPair"];
        let earlier: Vec<In> =
            earlier.iter().filter_map(|slot| p.maybe_input(slot).transpose()).collect::<Result<_>>()?;
        if !matches!(earlier.len(), 0 | 3) {
            fail!(Kind::Missing, "`positive_negative_pair` takes all three results of before, or none");
        }
        let pairs = Pairs {
            score: p.input("Score")?,
            label: p.input("Label")?,
            query: p.input("QueryID")?,
            weight: p.maybe_input("Weight")?,
            earlier,
            outs: [Some(p.output("PositivePair")?), Some(p.output("NegativePair")?), p.maybe_output("NeutralPair")?],
            column: p.attrs().int("column")?,
        };
        by_float!(p.float("Score")?, T => kernel(move |io| pairs.run::<T>(io)))
    }
}

struct Pairs {
    score: In,
    label: In,
    query: In,
    weight: Option<In>,
    earlier: Vec<In>,
    outs: [Option<Out>; 3],
    column: i64,
}

/// A row: score, label, weight.
type Answer<T> = (T, T, T);

impl Pairs {
    fn run<T: Float>(&self, io: &Io<'_>) -> Result<()> {
        let mut counts = [T::ZERO; 3];
        for (count, &input) in counts.iter_mut().zip(&self.earlier) {
            *count = T::of(io.scalar(input)?);
        }
        for answers in self.queries::<T>(io)?.values() {
            for (i, a) in answers.iter().enumerate() {
                answers[i + 1..].iter().for_each(|b| count(*a, *b, &mut counts));
            }
        }
        for (out, count) in self.outs.into_iter().zip(counts) {
            if let Some(out) = out {
                equal_sizes::number(io, out, count)?;
            }
        }
        Ok(())
    }

    /// The rows of each query.
    fn queries<T: Float>(&self, io: &Io<'_>) -> Result<BTreeMap<i64, Vec<Answer<T>>>> {
        let (score, label, query) = (io.dense(self.score)?, io.dense(self.label)?, io.dense(self.query)?);
        let (rows, columns) = score.dims().matrix(1);
        let column = if self.column < 0 { self.column + columns as i64 } else { self.column };
        let Some(column) = usize::try_from(column).ok().filter(|&c| c < columns) else {
            let what = format!("has {columns} columns, but `column` is {}", self.column);
            return Err(io.error(Kind::Shape, self.score, what));
        };
        let (score, label) = (io.data::<T>(self.score, &score)?, io.data::<T>(self.label, &label)?);
        let query = io.data::<i64>(self.query, &query)?;
        checks::expect_elements(io, self.label, label.len(), rows)?;
        checks::expect_elements(io, self.query, query.len(), rows)?;
        let weight_tensor = self.weight.map(|w| io.dense(w)).transpose()?;
        let mut weights = vec![T::ONE; rows];
        if let (Some(input), Some(t)) = (self.weight, &weight_tensor) {
            let given = io.data::<T>(input, t)?;
            checks::expect_elements(io, input, given.len(), rows)?;
            weights.copy_from_slice(given);
        }
        let mut queries: BTreeMap<i64, Vec<Answer<T>>> = BTreeMap::new();
        for row in 0..rows {
            let answer = (score[row * columns + column], label[row], weights[row]);
            queries.entry(query[row]).or_default().push(answer);
        }
        Ok(queries)
    }
}

/// Adds one pair to the positive, negative and neutral ones. A neutral pair counts as a negative one, too.
fn count<T: Float>(a: Answer<T>, b: Answer<T>, counts: &mut [T; 3]) {
    if a.1 == b.1 {
        return;
    }
    let weight = (a.2 + b.2) * T::of(0.5);
    if a.0 == b.0 {
        counts[2] += weight;
    }
    let right = (a.0 - b.0) * (a.1 - b.1) > T::ZERO;
    counts[if right { 0 } else { 1 }] += weight;
}

#[test]
fn positive_negative_pair() {
    use crate::testing::{Check, check, tensor, tensor_of};
    let pairs = || -> Check {
        check("positive_negative_pair")
            .input("Score", tensor([3, 2], &[1.0, 2.0, 1.0, 3.0, 2.0, 4.0]))
            .input("Label", tensor([3, 1], &[0.0, 1.0, 2.0]))
            .input("QueryID", tensor_of([3, 1], &[1i64, 1, 1]))
    };
    pairs()
        .input("Weight", tensor([3, 1], &[1.0, 2.0, 4.0]))
        .output("PositivePair", tensor([1], &[5.5]))
        .output("NegativePair", tensor([1], &[1.5]))
        .output("NeutralPair", tensor([1], &[1.5]))
        .run();
    pairs()
        .input("AccumulatePositivePair", tensor([1], &[1.0]))
        .input("AccumulateNegativePair", tensor([1], &[2.0]))
        .input("AccumulateNeutralPair", tensor([1], &[3.0]))
        .attr("column", -1)
        .output("PositivePair", tensor([1], &[4.0]))
        .output("NegativePair", tensor([1], &[2.0]))
        .output("NeutralPair", tensor([1], &[3.0]))
        .run();
    let e = pairs().attr("column", 2).any_output("PositivePair").any_output("NegativePair").error();
    assert!(e.contains("has 2 columns, but `column` is 2"), "{e}");
}
