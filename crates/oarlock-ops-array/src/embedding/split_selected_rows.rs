//! `split_selected_rows`: cuts a row-sparse tensor by ranges of rows, one output per range.

use oarlock_ir::{In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, kernel, sig};
use oarlock_tensor::SelectedRows;

use crate::embedding::row_selection;

pub(crate) const OPS: &[&dyn OpDef] = &[&SplitSelectedRows];

struct SplitSelectedRows;

impl OpDef for SplitSelectedRows {
    sig! {
        "split_selected_rows":
            "Out[i] holds the rows of X in the i-th range of height_sections, counted from the start of that range";
        in "X": "row-sparse";
        out* "Out": "row-sparse, one per range";
        attr "height_sections" = Vec::<i64>::new(), "how many rows each range has";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, sections) = (cx.input("X")?, cx.attrs().ints("height_sections")?);
        for (i, &height) in sections.iter().enumerate() {
            let mut ty = x.clone();
            if let Some(rows) = ty.shape.0.first_mut() {
                *rows = oarlock_ir::Dim::from_i64(height);
            }
            cx.set_nth("Out", i, ty);
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, outs) = (p.input("X")?, p.outputs("Out")?);
        let mut ranges = Vec::new();
        let mut start = 0;
        for (out, height) in outs.into_iter().zip(p.attrs().ints("height_sections")?) {
            ranges.push(Range { out, start, height });
            start += height;
        }
        kernel(move |io| {
            let from = io.rows(x)?;
            row_selection::check(io, x, &from)?;
            check_rows(io, x, &from, start)?;
            ranges.iter().try_for_each(|r| r.cut(io, &from))
        })
    }
}

/// Some rows of the whole.
struct Range {
    out: Option<Out>,
    start: i64,
    height: i64,
}

impl Range {
    fn cut(&self, io: &Io<'_>, from: &SelectedRows) -> Result<()> {
        let Some(out) = self.out else { return Ok(()) };
        let mut to = io.write(out)?;
        let ours = |&row: &i64| (self.start..self.start + self.height).contains(&row);
        row_selection::select(from, to.rows_mut(), ours, |row| row - self.start);
        to.rows_mut().height = self.height;
        Ok(())
    }
}

fn check_rows(io: &Io<'_>, x: In, from: &SelectedRows, height: i64) -> Result<()> {
    match from.rows.iter().position(|r| !(0..height).contains(r)) {
        None => Ok(()),
        Some(at) => {
            let row = from.rows[at];
            let what = format!("lists row {row} (at position {at}), but height_sections covers {height} rows");
            Err(io.error(Kind::Range, x, what))
        }
    }
}

#[cfg(test)]
mod tests {
    use oarlock_ir::Attr;
    use oarlock_tensor::{SelectedRows, Value};

    use crate::testing::{check, tensor};

    #[test]
    fn rows_count_from_the_start_of_their_range() {
        let part = |rows: &[i64], height, values: &[f32]| {
            Value::Rows(SelectedRows { rows: rows.to_vec(), height, value: tensor([rows.len(), 1], values) })
        };
        check("split_selected_rows")
            .rows_input("X", &[9, 4, 0, 5], 10, tensor([4, 1], &[1.0, 2.0, 3.0, 4.0]))
            .attr("height_sections", Attr::Longs(vec![5, 2, 3]))
            .outputs("Out", vec![part(&[4, 0], 5, &[2.0, 3.0]), part(&[0], 2, &[4.0]), part(&[2], 3, &[1.0])])
            .run();
    }

    #[test]
    fn a_row_of_no_range_is_named() {
        let e = check("split_selected_rows")
            .rows_input("X", &[0, 6], 10, tensor([2, 1], &[1.0, 2.0]))
            .attr("height_sections", Attr::Longs(vec![3, 3]))
            .outputs("Out", vec![Value::Empty, Value::Empty])
            .error();
        assert!(e.contains("lists row 6 (at position 1), but height_sections covers 6 rows"), "{e}");
    }
}
