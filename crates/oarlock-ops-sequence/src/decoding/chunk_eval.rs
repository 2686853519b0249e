//! `chunk_eval`: precision, recall and F1 of chunks (names, phrases) found by tags.

use std::ops::Range;

use oarlock_ir::{AttrView, Dim, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType, sig};
use oarlock_ir::{fail, kernel};
use oarlock_ops_support::ints::Ints;
use oarlock_tensor::{DType, Tensor};

use crate::decoding::segments::{self, Segments};

pub(crate) const OPS: &[&dyn OpDef] = &[&ChunkEval];

const SHARES: [&str; 3] = ["Precision", "Recall", "F1-Score"];
const COUNTS: [&str; 3] = ["NumInferChunks", "NumLabelChunks", "NumCorrectChunks"];

struct ChunkEval;

impl OpDef for ChunkEval {
    sig! {
        "chunk_eval":
            "Precision = NumCorrectChunks / NumInferChunks, Recall = NumCorrectChunks / NumLabelChunks, F1 their harmonic mean. \
             A tag is type * (tags of the scheme) + position; the greatest one says: no chunk";
        in "Inference": "i64 tags that were predicted: rows with LoD, or [batch, steps] with `SeqLength`";
        in "Label": "i64, the true tags";
        in? "SeqLength": "i64, steps of each sequence";
        out "Precision": "[1] f32";
        out "Recall": "[1] f32";
        out "F1-Score": "[1] f32";
        out "NumInferChunks": "[1] i64";
        out "NumLabelChunks": "[1] i64";
        out "NumCorrectChunks": "[1] i64, chunks of the same rows and type";
        attr "num_chunk_types": "how many types of chunks there are";
        attr "chunk_scheme" = "IOB", "how positions are marked: IOB, IOE, IOBES or plain";
        attr "excluded_chunk_types" = Vec::<i32>::new(), "types that do not count";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.integer("Inference")?;
        cx.integer("Label")?;
        Scheme::new(&cx.attrs())?;
        for slot in SHARES {
            cx.set(slot, VarType::tensor(DType::F32, vec![Dim::Is(1)]));
        }
        for slot in COUNTS {
            cx.set(slot, VarType::tensor(DType::I64, vec![Dim::Is(1)]));
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let length = p.maybe_input("SeqLength")?;
        let outs = |slots: [&str; 3]| -> Result<Vec<Option<Out>>> { slots.iter().map(|s| p.maybe_output(s)).collect() };
        let mut eval = Eval {
            inference: Segments { input: p.input("Inference")?, length },
            label: Segments { input: p.input("Label")?, length },
            scheme: Scheme::new(&p.attrs())?,
            shares: outs(SHARES)?,
            counts: outs(COUNTS)?,
            rows: Default::default(),
            chunks: Default::default(),
        };
        kernel(move |io| eval.run(io))
    }
}

/// Where a row is in its chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Begin,
    Inside,
    End,
    Single,
}

/// The meaning of tags.
struct Scheme {
    positions: &'static [Option<Position>],
    types: i64,
    excluded: Vec<i64>,
}

impl Scheme {
    fn new(attrs: &AttrView<'_>) -> Result<Scheme> {
        use Position::*;
        let positions: &[Option<Position>] = match attrs.str("chunk_scheme")? {
            "IOB" => &[Some(Begin), Some(Inside)],
            "IOE" => &[Some(Inside), Some(End)],
            "IOBES" => &[Some(Begin), Some(Inside), Some(End), Some(Single)],
            "plain" => &[None],
            other => fail!(Kind::Argument, "`chunk_eval` knows the schemes IOB, IOE, IOBES and plain, not `{other}`"),
        };
        let types = attrs.int("num_chunk_types")?;
        if types < 0 {
            fail!(Kind::Argument, "`chunk_eval` needs at least one type of chunks, not {types}");
        }
        Ok(Scheme { positions, types, excluded: attrs.ints("excluded_chunk_types")? })
    }

    /// The greatest tag, which says that a row is in no chunk.
    fn outside(&self) -> i64 {
        self.types * self.positions.len() as i64
    }

    /// The chunk that a tag names; `None` for no chunk.
    fn mark(&self, tag: i64) -> Option<Mark> {
        let n = self.positions.len() as i64;
        (tag != self.outside()).then(|| Mark { position: self.positions[(tag % n) as usize], kind: tag / n })
    }

    /// Appends the chunks of one sequence; rows count from its start.
    fn chunks(&self, tags: impl Iterator<Item = i64>, chunks: &mut Vec<Chunk>) {
        chunks.clear();
        let mut last: Option<Mark> = None;
        let mut open: Option<Chunk> = None;
        for (row, tag) in tags.enumerate() {
            let mark = self.mark(tag);
            if ends(last, mark) {
                chunks.extend(open.take());
            }
            if let (true, Some(m)) = (begins(last, mark), mark) {
                open = Some(Chunk { start: row, end: row, kind: m.kind });
            } else if let Some(chunk) = &mut open {
                chunk.end = row;
            }
            last = mark;
        }
        chunks.extend(open);
        chunks.retain(|c| !self.excluded.contains(&c.kind));
    }
}

/// The meaning of the tag of a row: its type of chunk, and the row's position where the scheme has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    position: Option<Position>,
    kind: i64,
}

/// Does a chunk end between two rows?
fn ends(last: Option<Mark>, mark: Option<Mark>) -> bool {
    use Position::{Begin, End, Single};
    match (last, mark) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(last), Some(mark)) => {
            last.kind != mark.kind
                || matches!(last.position, Some(End | Single))
                || last.position.is_some() && matches!(mark.position, Some(Begin | Single))
        }
    }
}

/// Does a chunk begin between two rows?
fn begins(last: Option<Mark>, mark: Option<Mark>) -> bool {
    use Position::{Begin, End, Single};
    match (last, mark) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(last), Some(mark)) => {
            last.kind != mark.kind
                || matches!(mark.position, Some(Begin | Single))
                || mark.position.is_some() && matches!(last.position, Some(End | Single))
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chunk {
    start: usize,
    end: usize,
    kind: i64,
}

struct Eval {
    inference: Segments,
    label: Segments,
    scheme: Scheme,
    shares: Vec<Option<Out>>,
    counts: Vec<Option<Out>>,
    /// Of the inference and of the label.
    rows: [Vec<Range<usize>>; 2],
    chunks: [Vec<Chunk>; 2],
}

impl Eval {
    fn run(&mut self, io: &Io<'_>) -> Result<()> {
        let (inference, label) = (io.dense(self.inference.input)?, io.dense(self.label.input)?);
        let [found_rows, true_rows] = &mut self.rows;
        self.inference.find(io, &inference, found_rows)?;
        self.label.find(io, &label, true_rows)?;
        segments::same_number(io, (self.inference.input, found_rows), (self.label.input, true_rows))?;
        let found = self.tags(io, self.inference, &self.rows[0], &inference)?;
        let truth = self.tags(io, self.label, &self.rows[1], &label)?;
        let mut counts = [0i64; 3];
        for (a, b) in self.rows[0].iter().zip(&self.rows[1]) {
            if a.len() != b.len() {
                let what = format!("has a sequence of {} rows, where the inference has {}", b.len(), a.len());
                return Err(io.error(Kind::Lod, self.label.input, what));
            }
            let [found_chunks, true_chunks] = &mut self.chunks;
            self.scheme.chunks(a.clone().map(|row| found.at(row)), found_chunks);
            self.scheme.chunks(b.clone().map(|row| truth.at(row)), true_chunks);
            counts[0] += found_chunks.len() as i64;
            counts[1] += true_chunks.len() as i64;
            // Chunks of one sequence are in order and apart, so a search by start is enough.
            let correct = |c: &&Chunk| {
                true_chunks.binary_search_by_key(&c.start, |t| t.start).is_ok_and(|i| true_chunks[i] == **c)
            };
            counts[2] += found_chunks.iter().filter(correct).count() as i64;
        }
        self.write(io, counts)
    }

    /// The tags of an input, checked but for those that fill up short sequences.
    fn tags<'t>(&self, io: &Io<'_>, of: Segments, rows: &[Range<usize>], t: &'t Tensor) -> Result<Ints<'t>> {
        let tags = Ints::of(io, of.input, t)?;
        if tags.len() != t.rows() && of.length.is_none() {
            return Err(io.error(Kind::Shape, of.input, format!("is {}, but one tag per row is needed", t.dims())));
        }
        let mut used = rows.iter().flat_map(|rows| rows.clone()).map(|row| tags.at(row));
        match used.find(|tag| !(0..=self.scheme.outside()).contains(tag)) {
            Some(tag) => {
                let what = format!(
                    "holds tag {tag}, but {} types have tags up to {}",
                    self.scheme.types,
                    self.scheme.outside()
                );
                Err(io.error(Kind::Range, of.input, what))
            }
            None => Ok(tags),
        }
    }

    fn write(&self, io: &Io<'_>, counts: [i64; 3]) -> Result<()> {
        let share = |part: i64, whole: i64| if whole == 0 { 0.0 } else { part as f32 / whole as f32 };
        let (precision, recall) = (share(counts[2], counts[0]), share(counts[2], counts[1]));
        let f1 = if counts[2] == 0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) };
        for (out, value) in self.shares.iter().zip([precision, recall, f1]) {
            if let Some(out) = *out {
                io.out(out)?.copy_from(&Tensor::scalar(value));
            }
        }
        for (out, value) in self.counts.iter().zip(counts) {
            if let Some(out) = *out {
                io.out(out)?.copy_from(&Tensor::scalar(value));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use oarlock_ir::Attr;
    use oarlock_tensor::Tensor;

    use crate::testing::{Check, check, tensor, tensor_of, with_lod};

    fn eval(inference: &[i64], label: &[i64]) -> Check {
        let tags = |t: &[i64]| -> Tensor { with_lod(tensor_of([t.len(), 1], t), &[&[0, t.len()]]) };
        check("chunk_eval").input("Inference", tags(inference)).input("Label", tags(label))
    }

    fn expect(check: Check, shares: [f32; 3], counts: [i64; 3]) {
        check
            .output("Precision", tensor([1], &[shares[0]]))
            .output("Recall", tensor([1], &[shares[1]]))
            .output("F1-Score", tensor([1], &[shares[2]]))
            .output("NumInferChunks", tensor_of([1], &[counts[0]]))
            .output("NumLabelChunks", tensor_of([1], &[counts[1]]))
            .output("NumCorrectChunks", tensor_of([1], &[counts[2]]))
            .run();
    }

    #[test]
    fn begin_and_inside() {
        // Tags of two types: B0 I0 B1 I1, outside.
        let iob = eval(&[0, 1, 4, 2, 3, 0], &[0, 1, 4, 2, 2, 0]).attr("num_chunk_types", 2);
        expect(iob, [2.0 / 3.0, 0.5, 4.0 / 7.0], [3, 4, 2]);
        let one = eval(&[0, 1, 4, 2, 3, 0], &[0, 1, 4, 2, 2, 0])
            .attr("num_chunk_types", 2)
            .attr("excluded_chunk_types", Attr::Ints(vec![1]));
        expect(one, [1.0, 1.0, 1.0], [2, 2, 2]);
    }

    #[test]
    fn other_schemes() {
        let ioe = eval(&[0, 1, 0, 1], &[0, 1, 1, 2]).attr("num_chunk_types", 1).attr("chunk_scheme", "IOE");
        expect(ioe, [0.5, 0.5, 0.5], [2, 2, 1]);
        let iobes = eval(&[3, 0, 1, 2], &[3, 0, 2, 4]).attr("num_chunk_types", 1).attr("chunk_scheme", "IOBES");
        expect(iobes, [0.5, 0.5, 0.5], [2, 2, 1]);
        let plain = eval(&[0, 0, 1, 2], &[0, 0, 2, 1]).attr("num_chunk_types", 2).attr("chunk_scheme", "plain");
        expect(plain, [0.5, 0.5, 0.5], [2, 2, 1]);
    }

    #[test]
    fn nothing_found() {
        expect(eval(&[2, 2], &[0, 1]).attr("num_chunk_types", 1), [0.0; 3], [0, 1, 0]);
    }

    #[test]
    fn tags_must_be_in_range() {
        let e = eval(&[5], &[0]).attr("num_chunk_types", 2).any_output("Precision").error();
        assert!(e.contains("holds tag 5, but 2 types have tags up to 4"), "{e}");
        let e = eval(&[0], &[0]).attr("num_chunk_types", 2).attr("chunk_scheme", "BIO").any_output("Recall").error();
        assert!(e.contains("knows the schemes IOB, IOE, IOBES and plain, not `BIO`"), "{e}");
    }
}
