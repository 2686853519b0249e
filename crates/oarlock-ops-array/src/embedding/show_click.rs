//! `show_click`: how often each id of a batch was shown and clicked. `with_shows` puts that behind the gradient of its row, which
//! is how a table whose rows count them learns of it.

use std::collections::HashMap;

use oarlock_ir::{Dim, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, VarKind, VarType, kernel, sig};
use oarlock_tensor::table::SHOWN;
use oarlock_tensor::{DType, Dims, SelectedRows, Tensor};

use crate::embedding::row_selection;

pub(crate) const OPS: &[&dyn OpDef] = &[&ShowClick, &WithShows];

struct ShowClick;

impl OpDef for ShowClick {
    sig! {
        "show_click":
            "a row for each id: shows and clicks of the sample that it belongs to; ids of a sequence belong to one sample";
        in* "Ids": "ids as lookups of one table take them, samples first or as sequences";
        in "Show": "a number per sample: how often it was shown";
        in "Click": "a number per sample: how often it was clicked";
        out "Out": "row-sparse: shows and clicks by id";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let shape = vec![Dim::Any, Dim::Is(SHOWN)];
        cx.set("Out", VarType::tensor(DType::F32, shape).with_kind(VarKind::SelectedRows));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let of = Samples { show: p.input("Show")?, click: p.input("Click")? };
        let (ids, out) = (p.inputs("Ids")?, p.output("Out")?);
        kernel(move |io| of.count(io, &ids, out))
    }
}

/// The shows and clicks of the samples of a batch.
#[derive(Clone, Copy)]
struct Samples {
    show: In,
    click: In,
}

impl Samples {
    fn count(&self, io: &Io<'_>, slots: &[In], out: Out) -> Result<()> {
        let (shows, clicks) = (io.dense(self.show)?.to_f64(), io.dense(self.click)?.to_f64());
        if shows.len() != clicks.len() {
            let what = format!("has {} numbers, but {} has {}", clicks.len(), io.describe(self.show), shows.len());
            return Err(io.error(Kind::Shape, self.click, what));
        }
        let (mut listed, mut values) = (Vec::new(), Vec::new());
        for slot in slots {
            let ids = io.dense(*slot)?;
            let samples = samples(&ids);
            if samples.len() != shows.len() + 1 {
                let what = format!("is of {} samples, but there are {} shows", samples.len() - 1, shows.len());
                let error = io.error(Kind::Shape, *slot, what);
                return Err(error.help("ShowClickEntry needs one show and one click per sample"));
            }
            let numbers = integers(io, *slot, &ids)?;
            for (range, (show, click)) in samples.windows(2).zip(shows.iter().zip(&clicks)) {
                for id in &numbers[range[0]..range[1]] {
                    listed.push(*id);
                    values.extend([*show as f32, *click as f32]);
                }
            }
        }
        let mut to = io.write(out)?;
        let to = to.rows_mut();
        to.height = i64::MAX;
        to.value.resize(DType::F32, Dims::from([listed.len(), SHOWN]));
        io.data_mut::<f32>(out, &mut to.value)?.copy_from_slice(&values);
        to.rows = listed;
        Ok(())
    }
}

/// Where the ids of each sample begin, and where the last ones end.
fn samples(ids: &Tensor) -> Vec<usize> {
    let rows = ids.rows();
    let per_row = ids.numel() / rows.max(1);
    let mut starts: Vec<usize> = match ids.lod().levels() {
        [] => (0..=rows).collect(),
        [first, deeper @ ..] => first.iter().map(|at| deeper.iter().fold(*at, |at, level| level[at])).collect(),
    };
    starts.iter_mut().for_each(|start| *start *= per_row);
    starts
}

fn integers(io: &Io<'_>, slot: In, ids: &Tensor) -> Result<Vec<i64>> {
    match ids.dtype() {
        DType::I32 => Ok(io.data::<i32>(slot, ids)?.iter().map(|id| i64::from(*id)).collect()),
        _ => Ok(io.data::<i64>(slot, ids)?.to_vec()),
    }
}

struct WithShows;

impl OpDef for WithShows {
    sig! {
        "with_shows":
            "X with two numbers more per row: the sums of its shows and clicks, behind the first row of each id, and zeros \
             behind others of the same id";
        in "X": "row-sparse gradient of a table";
        in "Shows": "row-sparse: shows and clicks by id";
        out "Out": "row-sparse";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let mut x = cx.float("X")?;
        if let [_, Dim::Is(width)] = &mut x.shape.0[..] {
            *width += SHOWN;
        }
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, shows, out) = (p.input("X")?, p.input("Shows")?, p.output("Out")?);
        let mut sums = HashMap::new();
        kernel(move |io| {
            let (from, shows_of) = (io.rows(x)?, io.rows(shows)?);
            row_selection::check(io, x, &from)?;
            row_selection::check(io, shows, &shows_of)?;
            sums.clear();
            for (id, pair) in shows_of.rows.iter().zip(io.data::<f32>(shows, &shows_of.value)?.chunks_exact(SHOWN)) {
                let sum: &mut [f32; SHOWN] = sums.entry(*id).or_default();
                sum.iter_mut().zip(pair).for_each(|(sum, more)| *sum += more);
            }
            let mut to = io.write(out)?;
            append(&from, io.data::<f32>(x, &from.value)?, &mut sums, to.rows_mut());
            Ok(())
        })
    }
}

/// Each id takes its sums once.
fn append(from: &SelectedRows, values: &[f32], sums: &mut HashMap<i64, [f32; SHOWN]>, to: &mut SelectedRows) {
    let width = from.width();
    to.rows.clone_from(&from.rows);
    to.height = from.height;
    let mut wide = Vec::with_capacity(from.rows.len() * (width + SHOWN));
    for (id, row) in from.rows.iter().zip(values.chunks_exact(width.max(1))) {
        wide.extend_from_slice(row);
        wide.extend(sums.remove(id).unwrap_or_default());
    }
    to.value.resize(DType::F32, Dims::from([from.rows.len(), width + SHOWN]));
    if let Ok(data) = to.value.data_mut::<f32>() {
        data.copy_from_slice(&wide);
    }
}

#[cfg(test)]
mod tests {
    use oarlock_tensor::{SelectedRows, Value};

    use crate::testing::{check, tensor, tensor_of, with_lod};

    #[test]
    fn ids_have_the_shows_of_their_sample() {
        let value = tensor([5, 2], &[3.0, 1.0, 2.0, 0.0, 3.0, 1.0, 3.0, 1.0, 2.0, 0.0]);
        check("show_click")
            .inputs(
                "Ids",
                vec![tensor_of([2, 1], &[7i64, 8]), with_lod(tensor_of([3, 1], &[9i64, 7, 8]), &[&[0, 2, 3]])],
            )
            .input("Show", tensor_of([2, 1], &[3i64, 2]))
            .input("Click", tensor_of([2, 1], &[1i64, 0]))
            .output("Out", Value::Rows(SelectedRows { rows: vec![7, 8, 9, 7, 8], height: i64::MAX, value }))
            .run();
    }

    #[test]
    fn there_is_one_show_per_sample() {
        let error = check("show_click")
            .inputs("Ids", vec![tensor_of([3, 1], &[7i64, 8, 9])])
            .input("Show", tensor_of([2, 1], &[3i64, 2]))
            .input("Click", tensor_of([2, 1], &[1i64, 0]))
            .any_output("Out")
            .error();
        assert!(error.contains("is of 3 samples, but there are 2 shows"), "{error}");
        assert!(error.contains("ShowClickEntry needs one show and one click per sample"), "{error}");
    }

    #[test]
    fn sums_stand_behind_the_first_row_of_an_id() {
        let value = tensor([3, 3], &[0.5, 4.0, 1.0, 0.25, 2.0, 0.0, 0.125, 0.0, 0.0]);
        check("with_shows")
            .rows_input("X", &[7, 8, 7], 9, tensor([3, 1], &[0.5, 0.25, 0.125]))
            .rows_input("Shows", &[7, 8, 7], 9, tensor([3, 2], &[3.0, 1.0, 2.0, 0.0, 1.0, 0.0]))
            .output("Out", Value::Rows(SelectedRows { rows: vec![7, 8, 7], height: 9, value }))
            .run();
    }
}
