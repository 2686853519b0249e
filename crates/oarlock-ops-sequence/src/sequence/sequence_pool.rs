//! `sequence_pool`: one row out of each sequence.

use oarlock_ir::sig;
use oarlock_ir::{Attr, AttrView, Dim, Grad, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits};
use oarlock_ir::{by_float, fail, kernel};
use oarlock_ops_support::checks;
use oarlock_ops_support::lod_rows;
use oarlock_tensor::{DType, Float, Tensor, simd};

pub(crate) const OPS: &[&dyn OpDef] = &[&SequencePool, &SEQUENCE_POOL_GRAD];

struct SequencePool;

impl OpDef for SequencePool {
    sig! {
        "sequence_pool":
            "Out[i] = the sum (SUM), mean (AVERAGE), sum over the root of the length (SQRT), maximum (MAX), first (FIRST) or last \
             (LAST) row of the i-th innermost sequence of X; pad_value for an empty sequence";
        in "X": "with LoD";
        out "Out": "a row per sequence; the outer levels of the LoD stay";
        out? "MaxIndex": "MAX: the row that each maximum comes from, -1 for an empty sequence";
        attr "pooltype" = "AVERAGE".to_string(), "AVERAGE, SUM, SQRT, MAX, LAST or FIRST";
        attr "pad_value" = 0.0f32, "what an empty sequence gives";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        pooling(&cx.attrs())?;
        let x = cx.float("X")?;
        let out = x.clone().with_shape(lod_rows::with_rows(x.shape, Dim::Any)).with_lod(x.lod_level.saturating_sub(1));
        cx.set("MaxIndex", out.clone().with_dtype(DType::I32).with_lod(0));
        cx.set("Out", out);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, index) = (p.input("X")?, p.output("Out")?, p.maybe_output("MaxIndex")?);
        let (how, pad) = (pooling(&p.attrs())?, p.attrs().f32("pad_value")?);
        by_float!(p.float("X")?, T => match how {
            Pooling::Max => kernel(move |io| pool_max(io, x, out, index, T::of(pad as f64))),
            _ => kernel(move |io| pool(io, x, out, how, T::of(pad as f64))),
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let reads: &[&str] = match g.attr("pooltype") {
            Some(Attr::String(how)) if how == "MAX" => &["MaxIndex", "Out@GRAD", "X"],
            _ => &["Out@GRAD", "X"],
        };
        g.emit("sequence_pool_grad", reads, &["X@GRAD"])
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Pooling {
    Sum,
    Average,
    Sqrt,
    Max,
    Last,
    First,
}

fn pooling(attrs: &AttrView<'_>) -> Result<Pooling> {
    Ok(match attrs.str("pooltype")? {
        "SUM" => Pooling::Sum,
        "AVERAGE" => Pooling::Average,
        "SQRT" => Pooling::Sqrt,
        "MAX" => Pooling::Max,
        "LAST" => Pooling::Last,
        "FIRST" => Pooling::First,
        other => {
            fail!(
                Kind::Argument,
                "`pooltype` of `sequence_pool` is `{other}`; it can be AVERAGE, SUM, SQRT, MAX, LAST or FIRST"
            )
        }
    })
}

impl Pooling {
    /// The factor of a sum over `len` rows.
    fn scale<T: Float>(self, len: usize) -> T {
        match self {
            Pooling::Average => T::ONE / T::of(len as f64),
            Pooling::Sqrt => T::ONE / T::of(len as f64).sqrt(),
            _ => T::ONE,
        }
    }
}

fn pool<T: Float>(io: &Io<'_>, x: In, out: Out, how: Pooling, pad: T) -> Result<()> {
    let from = io.dense(x)?;
    let offsets = lod_rows::offsets(io, x, &from)?;
    let width = from.dims().matrix(1).1;
    let mut to = io.out_sized(out, T::DTYPE, from.dims().with_rows(offsets.len() - 1))?;
    to.set_lod(from.lod().without_last());
    let data = io.data::<T>(x, &from)?;
    let rows = io.data_mut::<T>(out, &mut to)?.chunks_exact_mut(width.max(1));
    for (to, w) in rows.zip(offsets.windows(2)) {
        let sequence = &data[w[0] * width..w[1] * width];
        match how {
            _ if sequence.is_empty() => to.fill(pad),
            Pooling::Last => to.copy_from_slice(&sequence[sequence.len() - width..]),
            Pooling::First => to.copy_from_slice(&sequence[..width]),
            _ => {
                to.copy_from_slice(&sequence[..width]);
                sequence[width..].chunks_exact(width).for_each(|row| simd::add_assign(to, row));
                if how != Pooling::Sum {
                    simd::scale(to, how.scale(w[1] - w[0]));
                }
            }
        }
    }
    Ok(())
}

fn pool_max<T: Float>(io: &Io<'_>, x: In, out: Out, index: Option<Out>, pad: T) -> Result<()> {
    let from = io.dense(x)?;
    let offsets = lod_rows::offsets(io, x, &from)?;
    let width = from.dims().matrix(1).1;
    let dims = from.dims().with_rows(offsets.len() - 1);
    let mut to = io.out_sized(out, T::DTYPE, dims)?;
    to.set_lod(from.lod().without_last());
    let (data, to) = (io.data::<T>(x, &from)?, io.data_mut::<T>(out, &mut to)?);
    let first = |w: &[usize], i: usize| {
        (w[0]..w[1]).map(|r| (r, data[r * width + i])).reduce(|a, b| if b.1 > a.1 { b } else { a })
    };
    let found = || offsets.windows(2).flat_map(|w| (0..width).map(move |i| first(w, i)));
    to.iter_mut().zip(found()).for_each(|(to, found)| *to = found.map_or(pad, |(_, v)| v));
    let Some(index) = index else { return Ok(()) };
    let mut rows = io.out_sized(index, DType::I32, dims)?;
    let rows = io.data_mut::<i32>(index, &mut rows)?;
    rows.iter_mut().zip(found()).for_each(|(to, found)| *to = found.map_or(-1, |(row, _)| row as i32));
    Ok(())
}

const SEQUENCE_POOL_GRAD: GradOp = GradOp::of(&SequencePool, "sequence_pool_grad(X, Out@GRAD, MaxIndex?) -> X@GRAD")
    .doc("each row of Out@GRAD goes to the rows of X@GRAD that were pooled into it, scaled alike")
    .traits(Traits::NONE.shape_only(&["X"]))
    .kernel(|p| {
        let grad = PoolGrad { x: p.input("X")?, dout: p.input("Out@GRAD")?, dx: p.output("X@GRAD")? };
        let how = pooling(&p.attrs())?;
        by_float!(p.float("X")?, T => match how {
            Pooling::Max => {
                let index = p.input("MaxIndex")?;
                kernel(move |io| grad.max::<T>(io, index))
            }
            _ => kernel(move |io| grad.spread::<T>(io, how)),
        })
    });

struct PoolGrad {
    x: In,
    dout: In,
    dx: Out,
}

impl PoolGrad {
    fn max<T: Float>(&self, io: &Io<'_>, index: In) -> Result<()> {
        let (x, dout, rows) = (io.dense(self.x)?, io.dense(self.dout)?, io.dense(index)?);
        let (dout, rows) = (io.data::<T>(self.dout, &dout)?, io.data::<i32>(index, &rows)?);
        let width = x.dims().matrix(1).1;
        let mut dx = io.out_sized(self.dx, T::DTYPE, *x.dims())?;
        dx.set_lod(x.lod().clone());
        let dx = io.data_mut::<T>(self.dx, &mut dx)?;
        dx.fill(T::ZERO);
        for (i, (&row, &d)) in rows.iter().zip(dout).enumerate().filter(|(_, (row, _))| **row >= 0) {
            match dx.get_mut(row as usize * width + i % width) {
                Some(to) => *to = d,
                None => return Err(io.error(Kind::Range, index, format!("names row {row}, which `X` does not have"))),
            }
        }
        Ok(())
    }

    fn spread<T: Float>(&self, io: &Io<'_>, how: Pooling) -> Result<()> {
        let (x, dout) = (io.dense(self.x)?, io.dense(self.dout)?);
        let offsets = lod_rows::offsets(io, self.x, &x)?;
        let width = x.dims().matrix(1).1;
        checks::expect_elements(io, self.dout, dout.numel(), (offsets.len() - 1) * width)?;
        let mut dx = io.out_sized(self.dx, T::DTYPE, *x.dims())?;
        dx.set_lod(x.lod().clone());
        let dx = io.data_mut::<T>(self.dx, &mut dx)?;
        self.spread_rows(io, &dout, dx, offsets, how)
    }

    fn spread_rows<T: Float>(
        &self,
        io: &Io<'_>,
        dout: &Tensor,
        dx: &mut [T],
        offsets: &[usize],
        how: Pooling,
    ) -> Result<()> {
        let dout = io.data::<T>(self.dout, dout)?;
        let width = dout.len() / (offsets.len() - 1).max(1);
        for (d, w) in dout.chunks_exact(width.max(1)).zip(offsets.windows(2)) {
            let rows = &mut dx[w[0] * width..w[1] * width];
            if rows.is_empty() {
                continue;
            }
            let last = rows.len() - width;
            match how {
                Pooling::First | Pooling::Last => {
                    rows.fill(T::ZERO);
                    let at = if how == Pooling::First { 0 } else { last };
                    rows[at..at + width].copy_from_slice(d);
                }
                _ => {
                    let scale = how.scale(w[1] - w[0]);
                    rows.chunks_exact_mut(width).for_each(|row| simd::scale_bias(row, d, scale, T::ZERO));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, tensor_of, with_lod};

    fn pool(how: &str, expected: &[f32]) -> Check {
        check("sequence_pool")
            .input("X", with_lod(tensor([4, 2], &[1.0, 9.0, 3.0, 4.0, 5.0, -2.0, 7.0, 8.0]), &[&[0, 1, 1, 4]]))
            .attr("pooltype", how)
            .attr("pad_value", 0.5f32)
            .output("Out", tensor([3, 2], expected))
            .grad(&["X"])
    }

    #[test]
    fn each_way_of_pooling() {
        let root = 3.0f32.sqrt();
        pool("SUM", &[1.0, 9.0, 0.5, 0.5, 15.0, 10.0]).run();
        pool("AVERAGE", &[1.0, 9.0, 0.5, 0.5, 5.0, 10.0 / 3.0]).run();
        pool("SQRT", &[1.0, 9.0, 0.5, 0.5, 15.0 / root, 10.0 / root]).run();
        pool("LAST", &[1.0, 9.0, 0.5, 0.5, 7.0, 8.0]).run();
        pool("FIRST", &[1.0, 9.0, 0.5, 0.5, 3.0, 4.0]).run();
        pool("MAX", &[1.0, 9.0, 0.5, 0.5, 7.0, 8.0]).output("MaxIndex", tensor_of([3, 2], &[0, 0, -1, -1, 3, 3])).run();
    }

    #[test]
    fn outer_levels_stay() {
        check("sequence_pool")
            .input("X", with_lod(tensor([3, 1], &[1.0, 2.0, 3.0]), &[&[0, 1, 2], &[0, 2, 3]]))
            .attr("pooltype", "SUM")
            .output("Out", with_lod(tensor([2, 1], &[3.0, 3.0]), &[&[0, 1, 2]]))
            .run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = check("sequence_pool").input("X", noise([3, 1], 1)).any_output("Out").error();
        assert_eq!(
            e,
            "error[lod]: `sequence_pool`: input `X` = `X.0` has no LoD, but its sequences are needed\n  \
             at (`sequence_pool`, block 0, op 0)\n  \
             help: feed it with sequence lengths (lod_level=1)"
        );
        let e = check("sequence_pool").input("X", noise([3, 1], 1)).attr("pooltype", "MIN").any_output("Out").error();
        assert!(e.contains("it can be AVERAGE, SUM, SQRT, MAX, LAST or FIRST"), "{e}");
    }
}
