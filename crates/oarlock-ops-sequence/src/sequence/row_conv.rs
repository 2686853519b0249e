//! `row_conv`: each step of a sequence sees a few steps ahead, column by column.

use std::cell::Ref;

use oarlock_ir::{GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, by_float, kernel, sig};
use oarlock_ops_support::checks;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::{Element, Float, Tensor, simd};

pub(crate) const OPS: &[&dyn OpDef] = &[&RowConv, &GRAD];

struct RowConv;

impl OpDef for RowConv {
    sig! {
        "row_conv": "Out[t] = sum over j of Filter[j] X[t + j], as far as t + j is in the sequence of t";
        in "X": "a matrix with LoD, or sequences x steps x columns";
        in "Filter": "a row per step that is seen, itself included";
        out "Out": "like `X`";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, filter) = (cx.float("X")?, cx.float("Filter")?);
        match (&x.shape[..], &filter.shape[..]) {
            ([_, columns] | [_, _, columns], [_, width]) if columns.fits(*width) => {}
            _ => {
                let what = format!("cannot use {} on {}", cx.describe("Filter"), cx.describe("X"));
                return Err(cx.shape_error(what).note("`Filter` must have as many columns as `X`"));
            }
        }
        cx.set("Out", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (conv, out) = (Conv { x: p.input("X")?, filter: p.input("Filter")? }, p.output("Out")?);
        by_float!(p.float("X")?, T => {
            let mut ends = Vec::new();
            kernel(move |io| {
                let (x, filter) = conv.read(io, &mut ends)?;
                let width = filter.dims()[1];
                let mut to = io.out_sized(out, <T as Element>::DTYPE, *x.dims())?;
                to.set_lod(x.lod().clone());
                let (x, filter) = (io.data::<T>(conv.x, &x)?, io.data::<T>(conv.filter, &filter)?);
                let to = io.data_mut::<T>(out, &mut to)?;
                to.fill(0.0);
                each(&ends, filter.len() / width, |t, j| {
                    let (from, weight) = (row(x, t + j, width), row(filter, j, width));
                    simd::mul_add_assign(&mut to[t * width..][..width], from, weight);
                });
                Ok(())
            })
        })
    }
}

/// The inputs of both operators.
#[derive(Clone, Copy)]
struct Conv {
    x: In,
    filter: In,
}

impl Conv {
    /// Both tensors, checked; `ends` holds the end of the sequence that each row is in.
    fn read<'a>(&self, io: &Io<'a>, ends: &mut Vec<usize>) -> Result<(Ref<'a, Tensor>, Ref<'a, Tensor>)> {
        let (x, filter) = (io.dense(self.x)?, io.dense(self.filter)?);
        ends.clear();
        match (&x.dims()[..], &filter.dims()[..]) {
            ([_, columns], [_, width]) if columns == width && *width > 0 => {
                for w in lod_rows::offsets(io, self.x, &x)?.windows(2) {
                    ends.resize(w[1], w[1]);
                }
            }
            ([batch, steps, columns], [_, width]) if columns == width && *width > 0 => {
                (1..=*batch).for_each(|b| ends.resize(b * steps, b * steps));
            }
            _ => {
                let what =
                    format_args!("is {}, which does not fit {} {}", filter.dims(), io.describe(self.x), x.dims());
                return Err(io.error(Kind::Shape, self.filter, what));
            }
        }
        Ok((x, filter))
    }
}

/// Visits every row `t` and every `j` with which it sees row `t + j`.
fn each(ends: &[usize], seen: usize, mut visit: impl FnMut(usize, usize)) {
    for (t, end) in ends.iter().enumerate() {
        (0..seen.min(end - t)).for_each(|j| visit(t, j));
    }
}

fn row<T>(of: &[T], at: usize, width: usize) -> &[T] {
    &of[at * width..][..width]
}

const GRAD: GradOp = GradOp::of(&RowConv, "row_conv_grad(X, Filter, Out@GRAD) -> X@GRAD, Filter@GRAD")
    .doc("X@GRAD[t + j] gets Filter[j] Out@GRAD[t], Filter@GRAD[j] gets X[t + j] Out@GRAD[t], added up over all t and j")
    .kernel(|p| {
        let (conv, dout) = (Conv { x: p.input("X")?, filter: p.input("Filter")? }, p.input("Out@GRAD")?);
        let (dx, dfilter) = (p.maybe_output("X@GRAD")?, p.maybe_output("Filter@GRAD")?);
        by_float!(p.float("X")?, T => {
            let mut ends = Vec::new();
            kernel(move |io| {
                let (xt, ft) = conv.read(io, &mut ends)?;
                let dt = io.dense(dout)?;
                checks::expect_elements(io, dout, dt.numel(), xt.numel())?;
                let (x, filter) = (io.data::<T>(conv.x, &xt)?, io.data::<T>(conv.filter, &ft)?);
                let d = io.data::<T>(dout, &dt)?;
                let width = ft.dims()[1];
                let spread = |to: &mut [T], by: &[T], at: &dyn Fn(usize, usize) -> (usize, usize)| {
                    to.fill(T::ZERO);
                    each(&ends, ft.rows(), |t, j| {
                        let (target, factor) = at(t, j);
                        simd::mul_add_assign(&mut to[target * width..][..width], row(by, factor, width), row(d, t, width));
                    });
                };
                if let Some(out) = dx {
                    let mut to = io.out_sized(out, <T as Element>::DTYPE, *xt.dims())?;
                    spread(io.data_mut::<T>(out, &mut to)?, filter, &|t, j| (t + j, j));
                }
                if let Some(out) = dfilter {
                    let mut to = io.out_sized(out, <T as Element>::DTYPE, *ft.dims())?;
                    spread(io.data_mut::<T>(out, &mut to)?, x, &|t, j| (j, t + j));
                }
                Ok(())
            })
        })
    });

#[test]
fn row_conv() {
    use crate::testing::{check, noise, tensor, with_lod};
    let filter = || tensor([2, 1], &[1.0, 10.0]);
    check("row_conv")
        .input("X", with_lod(tensor([4, 1], &[1.0, 2.0, 3.0, 4.0]), &[&[0, 3, 4]]))
        .input("Filter", filter())
        .output("Out", with_lod(tensor([4, 1], &[21.0, 32.0, 3.0, 4.0]), &[&[0, 3, 4]]))
        .grad(&["X", "Filter"])
        .run();
    check("row_conv")
        .input("X", tensor([2, 2, 1], &[1.0, 2.0, 3.0, 4.0]))
        .input("Filter", filter())
        .output("Out", tensor([2, 2, 1], &[21.0, 2.0, 43.0, 4.0]))
        .grad(&["X", "Filter"])
        .run();
    let wrong = check("row_conv").input("X", with_lod(noise([4, 2], 1), &[&[0, 4]])).input("Filter", filter());
    let e = wrong.any_output("Out").error();
    assert!(e.contains("cannot use `Filter` = Filter.0 f32[2, 1] on `X` = X.0 f32[4, 2]"), "{e}");
}
