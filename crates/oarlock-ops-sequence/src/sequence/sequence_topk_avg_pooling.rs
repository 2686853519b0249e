//! `sequence_topk_avg_pooling`: of each row of a matrix per sequence, the mean of its greatest elements.

use oarlock_ir::{AttrView, Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType, sig};
use oarlock_ir::{by_float, fail, kernel};
use oarlock_ops_support::checks;
use oarlock_ops_support::lod_rows;
use oarlock_ops_support::sliding_window::sizes;
use oarlock_tensor::{DType, Dims, Element, Float, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&TopkAvgPooling, &TOPK_AVG_POOLING_GRAD];

struct TopkAvgPooling;

impl OpDef for TopkAvgPooling {
    sig! {
        "sequence_topk_avg_pooling":
            "X holds, for each sequence, channel_num matrices of a row per row of ROW and a column per row of COLUMN. \
             Out[r, c, i] = the sum of the topks[i] greatest elements of row r in channel c, divided by topks[i]";
        in "X": "all matrices, with a LoD of one sequence each";
        in "ROW": "its LoD says how many rows each sequence has";
        in "COLUMN": "its LoD says how many columns each sequence has";
        out "Out": "a row per row of `ROW`, with its LoD; a column per channel and k";
        out "pos":
            "i32, for the gradient: the columns of the greatest elements of each row and channel, -1 where there are no more";
        attr "topks": "how many elements each mean takes, ascending";
        attr "channel_num": "how many matrices each sequence has";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, topk) = (cx.float("X")?, Topk::read(&cx.attrs())?);
        let rows = cx.input("ROW")?.shape.first().copied().unwrap_or(Dim::Any);
        let columns = Dim::Is(topk.channels * topk.ks.len());
        cx.set("Out", VarType::tensor(x.dtype, vec![rows, columns]).with_lod(cx.input("ROW")?.lod_level));
        cx.set("pos", VarType::tensor(DType::I32, vec![Dim::Any]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let slots = Slots::new(p)?;
        let (topk, out, pos) = (Topk::read(&p.attrs())?, p.output("Out")?, p.output("pos")?);
        by_float!(p.float("X")?, T => {
            let mut order = Vec::<usize>::new();
            kernel(move |io| {
                let (xt, rows) = (io.dense(slots.x)?, io.dense(slots.row)?);
                let columns = topk.channels * topk.ks.len();
                let mut to = io.out_sized(out, <T as Element>::DTYPE, Dims::from([rows.rows(), columns]))?;
                to.set_lod(rows.lod().clone());
                let mut places = io.out_sized(pos, DType::I32, Dims::from([rows.rows() * topk.channels * topk.most()]))?;
                let (x, to) = (io.data::<T>(slots.x, &xt)?, io.data_mut::<T>(out, &mut to)?);
                let places = io.data_mut::<i32>(pos, &mut places)?;
                slots.each(io, &topk, &xt, |cell, line| {
                    let found = &mut places[cell * topk.most()..][..topk.most()];
                    greatest(&x[line.clone()], found, &mut order);
                    let means = to[cell * topk.ks.len()..][..topk.ks.len()].iter_mut();
                    for (mean, &k) in means.zip(&topk.ks) {
                        let sum: T = found[..k].iter().filter(|p| **p >= 0).map(|p| x[line.start + *p as usize]).sum();
                        *mean = sum / T::of(k as f64);
                    }
                })
            })
        })
    }
}

/// The columns of the greatest elements of a line, the greatest first and of equals the first; -1 where there are no more.
fn greatest<T: Float>(line: &[T], found: &mut [i32], order: &mut Vec<usize>) {
    order.clear();
    order.extend(0..line.len());
    let descending =
        |a: &usize, b: &usize| line[*b].partial_cmp(&line[*a]).unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(b));
    order.sort_unstable_by(descending);
    found.fill(-1);
    found.iter_mut().zip(order).for_each(|(to, from)| *to = *from as i32);
}

/// How many elements, of how many matrices.
struct Topk {
    ks: Vec<usize>,
    channels: usize,
}

impl Topk {
    fn read(attrs: &AttrView<'_>) -> Result<Topk> {
        let (ks, channels) = (sizes(attrs, "topks")?, attrs.count("channel_num")?);
        if ks.is_empty() || ks.contains(&0) || channels == 0 {
            fail!(Kind::Argument, "`topks` and `channel_num` of `sequence_topk_avg_pooling` must be above 0");
        }
        Ok(Topk { ks, channels })
    }

    /// The most elements of a mean.
    fn most(&self) -> usize {
        self.ks.iter().copied().max().unwrap_or(0)
    }
}

/// The inputs of both operators.
#[derive(Clone, Copy)]
struct Slots {
    x: In,
    row: In,
    column: In,
}

impl Slots {
    fn new(p: &Prepare<'_>) -> Result<Slots> {
        Ok(Slots { x: p.input("X")?, row: p.input("ROW")?, column: p.input("COLUMN")? })
    }

    /// Visits every row of every channel: its place in the order of `Out`, and its elements in `X`.
    fn each(
        &self,
        io: &Io<'_>,
        topk: &Topk,
        x: &Tensor,
        mut visit: impl FnMut(usize, std::ops::Range<usize>),
    ) -> Result<()> {
        let (row, column) = (io.dense(self.row)?, io.dense(self.column)?);
        let offsets = lod_rows::offsets(io, self.x, x)?;
        let (rows, columns) = (lod_rows::offsets(io, self.row, &row)?, lod_rows::offsets(io, self.column, &column)?);
        let width = x.dims().matrix(1).1;
        if rows.len() != offsets.len() || columns.len() != offsets.len() {
            return Err(io.op_error(Kind::Lod, "needs as many sequences in `X`, `ROW` and `COLUMN`"));
        }
        for ((of, rows), columns) in offsets.windows(2).zip(rows.windows(2)).zip(columns.windows(2)) {
            let (m, n) = (rows[1] - rows[0], columns[1] - columns[0]);
            let expected = topk.channels * m * n;
            if (of[1] - of[0]) * width != expected {
                let what = format_args!(
                    "has a sequence of {} numbers, but {} matrices of {m} x {n} have {expected}",
                    (of[1] - of[0]) * width,
                    topk.channels
                );
                return Err(io.error(Kind::Lod, self.x, what));
            }
            for r in 0..m {
                for c in 0..topk.channels {
                    let start = of[0] * width + (c * m + r) * n;
                    visit((rows[0] + r) * topk.channels + c, start..start + n);
                }
            }
        }
        Ok(())
    }
}

const TOPK_AVG_POOLING_GRAD: GradOp =
    GradOp::of(&TopkAvgPooling, "sequence_topk_avg_pooling_grad(X, ROW, COLUMN, pos, Out@GRAD) -> X@GRAD")
        .doc("X@GRAD gets Out@GRAD / topks[i] at each element that a mean took")
        .traits(Traits::NONE.shape_only(&["X", "ROW", "COLUMN"]))
        .kernel(|p| {
            let slots = Slots::new(p)?;
            let (topk, pos, dout, dx) =
                (Topk::read(&p.attrs())?, p.input("pos")?, p.input("Out@GRAD")?, p.output("X@GRAD")?);
            by_float!(p.float("X")?, T => kernel(move |io| {
                let (x, places, d) = (io.dense(slots.x)?, io.dense(pos)?, io.dense(dout)?);
                let cells = io.dense(slots.row)?.rows() * topk.channels;
                checks::expect_elements(io, pos, places.numel(), cells * topk.most())?;
                checks::expect_elements(io, dout, d.numel(), cells * topk.ks.len())?;
                let mut to = io.out_sized(dx, <T as Element>::DTYPE, *x.dims())?;
                to.set_lod(x.lod().clone());
                let (places, d) = (io.data::<i32>(pos, &places)?, io.data::<T>(dout, &d)?);
                let to = io.data_mut::<T>(dx, &mut to)?;
                to.fill(0.0);
                slots.each(io, &topk, &x, |cell, line| {
                    let (found, d) = (&places[cell * topk.most()..], &d[cell * topk.ks.len()..]);
                    for (&k, d) in topk.ks.iter().zip(d) {
                        // A place that is not in the line is no place: -1.
                        for &place in found[..k].iter().filter(|p| (0..line.len() as i32).contains(*p)) {
                            to[line.start + place as usize] += *d / T::of(k as f64);
                        }
                    }
                })
            }))
        });

#[test]
fn sequence_topk_avg_pooling() {
    use crate::testing::{Check, check, tensor, tensor_of, with_lod};
    let pooling = |x: &[f32]| -> Check {
        check("sequence_topk_avg_pooling")
            .input("X", with_lod(tensor([x.len(), 1], x), &[&[0, 3, x.len()]]))
            .input("ROW", with_lod(tensor([2, 1], &[0.0; 2]), &[&[0, 1, 2]]))
            .input("COLUMN", with_lod(tensor([4, 1], &[0.0; 4]), &[&[0, 3, 4]]))
            .attr("topks", vec![1, 2])
            .attr("channel_num", 1)
    };
    pooling(&[3.0, 1.0, 5.0, 8.0])
        .output("Out", with_lod(tensor([2, 2], &[5.0, 4.0, 8.0, 4.0]), &[&[0, 1, 2]]))
        .output("pos", tensor_of::<i32>([4], &[2, 0, 0, -1]))
        .grad(&["X"])
        .run();
    let e = pooling(&[3.0, 1.0, 5.0, 8.0, 9.0]).any_output("Out").any_output("pos").error();
    assert!(e.contains("has a sequence of 2 numbers, but 1 matrices of 1 x 1 have 1"), "{e}");
}
