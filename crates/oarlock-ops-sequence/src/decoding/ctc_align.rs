//! `ctc_align`: labels out of an alignment: repetitions merged, blanks dropped.

use std::ops::Range;

use oarlock_ir::{Dim, Infer, Io, Kernel, OpDef, Prepare, Result, Traits, VarType, kernel, sig, slots};
use oarlock_ops_support::ints::Ints;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::{DType, Dims, Element, Lod, Tensor};

use crate::decoding::segments::Segments;

pub(crate) const OPS: &[&dyn OpDef] = &[&CtcAlign];

struct CtcAlign;

impl OpDef for CtcAlign {
    sig! {
        "ctc_align": "Output = Input without tokens that repeat the one before (if merge_repeated) and without blanks. \
             If nothing at all is left of sequences with LoD, Output is one -1 that belongs to no sequence";
        in "Input": "i32 or i64 tokens: [rows, 1] with LoD, or [batch, steps] with `InputLength`";
        in? "InputLength": "steps of each sequence";
        out "Output": "what is left, as sequences; padded like `Input`, if that is";
        out? "OutputLength": "[batch, 1], the length of each sequence of a padded `Output`";
        attr "blank" = 0, "the token that says nothing";
        attr "merge_repeated" = true, "drop repetitions";
        attr "padding_value" = 0, "what stands behind the sequences of a padded `Output`";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let input = cx.integer("Input")?;
        if cx.has("InputLength") {
            let rows = input.shape.first().copied().unwrap_or(Dim::Any);
            cx.set("OutputLength", VarType::tensor(input.dtype, vec![rows, Dim::Is(1)]));
            cx.set("Output", input);
            return Ok(());
        }
        cx.set("Output", VarType::tensor(input.dtype, vec![Dim::Any, Dim::Is(1)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let mut align = Align::new(p)?;
        match p.dtype("Input")? {
            DType::I32 => kernel(move |io| align.run::<i32>(io)),
            _ => kernel(move |io| align.run::<i64>(io)),
        }
    }
}

slots! {
    struct Align(p) {
        input: Segments = Segments { input: p.input("Input")?, length: p.maybe_input("InputLength")? },
        output: output "Output",
        length: maybe_output "OutputLength",
        blank: int "blank",
        merge: bool "merge_repeated",
        padding: int "padding_value",
        sequences: Vec<Range<usize>> = Vec::new(),
        /// The tokens left of all sequences, and how many of each.
        kept: Vec<i64> = Vec::new(),
        lengths: Vec<usize> = Vec::new(),
    }
}

impl Align {
    fn run<T: Element>(&mut self, io: &Io<'_>) -> Result<()> {
        let from = io.dense(self.input.input)?;
        self.input.find(io, &from, &mut self.sequences)?;
        let tokens = Ints::of(io, self.input.input, &from)?;
        self.kept.clear();
        self.lengths.clear();
        for rows in &self.sequences {
            let before = self.kept.len();
            let mut last = None;
            for token in rows.clone().map(|row| tokens.at(row)) {
                if token != self.blank && !(self.merge && last == Some(token)) {
                    self.kept.push(token);
                }
                last = Some(token);
            }
            self.lengths.push(self.kept.len() - before);
        }
        if self.input.length.is_some() { self.write_padded::<T>(io, &from) } else { self.write_lod::<T>(io, &from) }
    }

    fn write_lod<T: Element>(&self, io: &Io<'_>, from: &Tensor) -> Result<()> {
        let rows = self.kept.len().max(1);
        let mut to = io.out_sized(self.output, T::DTYPE, Dims::from([rows, 1]))?;
        let lod: Lod = lod_rows::lod_of(from.lod(), self.lengths.iter().copied());
        to.set_lod(lod);
        let to = io.data_mut::<T>(self.output, &mut to)?;
        // Programs of old expect a row even if there is nothing.
        to.fill(T::from_i64(-1));
        to.iter_mut().zip(&self.kept).for_each(|(to, &token)| *to = T::from_i64(token));
        Ok(())
    }

    fn write_padded<T: Element>(&self, io: &Io<'_>, from: &Tensor) -> Result<()> {
        let mut to = io.out_sized(self.output, T::DTYPE, *from.dims())?;
        let to = io.data_mut::<T>(self.output, &mut to)?;
        to.fill(T::from_i64(self.padding));
        let mut kept = self.kept.iter();
        for (rows, &len) in self.sequences.iter().zip(&self.lengths) {
            let to = to[rows.start..][..len].iter_mut();
            to.zip(kept.by_ref()).for_each(|(to, &token)| *to = T::from_i64(token));
        }
        let Some(length) = self.length else { return Ok(()) };
        let mut t = io.out_sized(length, T::DTYPE, Dims::from([self.lengths.len(), 1]))?;
        let lengths = io.data_mut::<T>(length, &mut t)?;
        lengths.iter_mut().zip(&self.lengths).for_each(|(to, &n)| *to = T::from_i64(n as i64));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, tensor_of, with_lod};

    #[test]
    fn repetitions_and_blanks_go() {
        let input = with_lod(tensor_of([7, 1], &[1i64, 1, 0, 1, 0, 2, 2]), &[&[0, 4, 4, 7]]);
        check("ctc_align")
            .input("Input", input.clone())
            .output("Output", with_lod(tensor_of([3, 1], &[1i64, 1, 2]), &[&[0, 2, 2, 3]]))
            .run();
        check("ctc_align")
            .input("Input", input)
            .attr("merge_repeated", false)
            .attr("blank", 2)
            .output("Output", with_lod(tensor_of([5, 1], &[1i64, 1, 0, 1, 0]), &[&[0, 4, 4, 5]]))
            .run();
    }

    #[test]
    fn nothing_left_is_one_row_of_no_sequence() {
        check("ctc_align")
            .input("Input", with_lod(tensor_of([2, 1], &[0i32, 0]), &[&[0, 1, 2]]))
            .output("Output", with_lod(tensor_of([1, 1], &[-1i32]), &[&[0, 0, 0]]))
            .run();
    }

    #[test]
    fn padded() {
        check("ctc_align")
            .input("Input", tensor_of([2, 3], &[0i32, 1, 1, 2, 2, 0]))
            .input("InputLength", tensor_of([2, 1], &[3i32, 1]))
            .attr("padding_value", 7)
            .output("Output", tensor_of([2, 3], &[1i32, 7, 7, 2, 7, 7]))
            .output("OutputLength", tensor_of([2, 1], &[1i32, 1]))
            .run();
    }
}
