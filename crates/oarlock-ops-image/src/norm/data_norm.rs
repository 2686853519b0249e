//! `data_norm`: normalisation by statistics collected over all data, not over the batch.

use oarlock_ir::{
    AttrView, Dim, Grad, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, VarKind, VarType,
};
use oarlock_ir::{by_float, kernel};
use oarlock_ir::{sig, slots};
use oarlock_ops_support::checks;
use oarlock_tensor::{Dims, Float, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&DataNorm, &DataNormGrad];

/// The statistics: how many values, their sum, and the sum of their squared distances from the mean.
const STATISTICS: [&str; 3] = ["BatchSize", "BatchSum", "BatchSquareSum"];

struct DataNorm;

impl OpDef for DataNorm {
    sig! {
        "data_norm":
            "Means = BatchSum / BatchSize; Scales = sqrt(BatchSize / BatchSquareSum); Y = (X - Means) * Scales, then \
             * scale_w + bias if enabled. With slot_dim, columns belong to slots of that many; a slot whose first value is 0 \
             was not shown: it gives zeros and does not count";
        in? "scale_w": "one per column";
        in? "bias": "one per column";
        in "X": "matrix";
        in "BatchSize": "one per column";
        in "BatchSum": "one per column";
        in "BatchSquareSum": "one per column";
        out "Y": "like `X`";
        out "Means": "one per column";
        out "Scales": "one per column";
        attr "epsilon" = 1e-4f32, "added to the squared distance of each value";
        attr "slot_dim" = -1, "columns of a slot; -1 if there are none";
        attr "enable_scale_and_shift" = false, "use `scale_w` and `bias`";
        hints ["data_layout", "summary_decay_rate", "sync_stats"];
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.float("X")?;
        let [_, width] = x.shape[..] else {
            return Err(cx.shape_error(format!("needs a matrix, but has {}", cx.describe("X"))));
        };
        for slot in STATISTICS {
            let of = cx.input(slot)?;
            if !(of.shape.rank() == 1 && of.shape[0].fits(width)) {
                return Err(cx.shape_error(format!(
                    "needs {} as long as a row of {}",
                    cx.describe(slot),
                    cx.describe("X")
                )));
            }
        }
        let column = VarType::tensor(x.dtype, vec![width]);
        cx.set("Means", column.clone());
        cx.set("Scales", column);
        cx.set("Y", x);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let [size, sum, square] = STATISTICS;
        let norm = Norm {
            x: p.input("X")?,
            statistics: [p.input(size)?, p.input(sum)?, p.input(square)?],
            affine: affine(p)?,
            outs: [p.output("Y")?, p.output("Means")?, p.output("Scales")?],
            slot: slot_dim(&p.attrs())?,
        };
        by_float!(p.float("X")?, T => kernel(move |io| norm.run::<T>(io)))
    }

    // The statistics stand among the outputs, too, as in saved programs; nothing is written there.
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut reads = vec!["Means", "Scales", "X", "Y@GRAD"];
        let mut writes = vec!["BatchSize@GRAD", "BatchSquareSum@GRAD", "BatchSum@GRAD", "X@GRAD"];
        if g.has("scale_w") {
            reads.extend(["bias", "scale_w"]);
            writes.extend(["bias@GRAD", "scale_w@GRAD"]);
        }
        let mut op = g.make("data_norm_grad", &reads, &writes);
        for slot in STATISTICS {
            op.outputs.set(slot, g.op().inputs.get(slot).to_vec());
        }
        g.push(op)
    }
}

/// `scale_w` and `bias`, if enabled.
fn affine(p: &Prepare<'_>) -> Result<Option<(In, In)>> {
    Ok(if p.attrs().bool("enable_scale_and_shift")? { Some((p.input("scale_w")?, p.input("bias")?)) } else { None })
}

/// How many columns belong to a slot, if columns belong to slots.
fn slot_dim(attrs: &AttrView<'_>) -> Result<Option<usize>> {
    Ok(usize::try_from(attrs.int("slot_dim")?).ok().filter(|&n| n > 0))
}

/// Was the slot of this column shown in this row? A first value of 0 says that it was not.
fn shown<T: Float>(row: &[T], column: usize, slot: Option<usize>) -> bool {
    slot.is_none_or(|n| row[column / n * n].abs() >= T::of(1e-7))
}

/// One value per column, whose number is checked.
fn columns<'t, T: Float>(io: &Io<'_>, input: In, t: &'t Tensor, width: usize) -> Result<&'t [T]> {
    if t.numel() == width {
        return io.data(input, t);
    }
    Err(io.error(Kind::Shape, input, format!("is {}, but a row of `X` has {width} columns", t.dims())))
}

struct Norm {
    x: In,
    statistics: [In; 3],
    affine: Option<(In, In)>,
    /// Y, Means, Scales.
    outs: [Out; 3],
    slot: Option<usize>,
}

impl Norm {
    fn run<T: Float>(&self, io: &Io<'_>) -> Result<()> {
        let x = io.dense(self.x)?;
        let width = x.dims().matrix(1).1;
        let [size, sum, square] = self.statistics;
        let tensors = [io.dense(size)?, io.dense(sum)?, io.dense(square)?];
        let size = columns::<T>(io, size, &tensors[0], width)?;
        let sum = columns::<T>(io, sum, &tensors[1], width)?;
        let square = columns::<T>(io, square, &tensors[2], width)?;
        let [y, means, scales] = self.outs;
        let mut mean = io.out_sized(means, T::DTYPE, Dims::from([width]))?;
        let mean = io.data_mut::<T>(means, &mut mean)?;
        mean.iter_mut().zip(sum).zip(size).for_each(|((m, s), n)| *m = *s / *n);
        let mut scale = io.out_sized(scales, T::DTYPE, Dims::from([width]))?;
        let scale = io.data_mut::<T>(scales, &mut scale)?;
        scale.iter_mut().zip(size).zip(square).for_each(|((s, n), q)| *s = (*n / *q).sqrt());
        let mut to = io.out_sized(y, T::DTYPE, *x.dims())?;
        to.set_lod(x.lod().clone());
        self.normalise(io, io.data::<T>(self.x, &x)?, (mean, scale), io.data_mut::<T>(y, &mut to)?)
    }

    fn normalise<T: Float>(&self, io: &Io<'_>, x: &[T], (mean, scale): (&[T], &[T]), to: &mut [T]) -> Result<()> {
        let width = mean.len();
        let tensors = self.affine.map(|(w, b)| Ok((io.dense(w)?, io.dense(b)?))).transpose()?;
        let affine = match (self.affine, &tensors) {
            (Some((w, b)), Some((tw, tb))) => Some((columns::<T>(io, w, tw, width)?, columns::<T>(io, b, tb, width)?)),
            _ => None,
        };
        for (row, to) in x.chunks_exact(width.max(1)).zip(to.chunks_exact_mut(width.max(1))) {
            for (j, to) in to.iter_mut().enumerate() {
                let y = (row[j] - mean[j]) * scale[j];
                *to = match affine {
                    _ if !shown(row, j, self.slot) => T::ZERO,
                    Some((w, b)) => y * w[j] + b[j],
                    None => y,
                };
            }
        }
        Ok(())
    }
}

struct DataNormGrad;

impl OpDef for DataNormGrad {
    fn sig(&self) -> Sig {
        Sig::new(
            "data_norm_grad",
            "X@GRAD = Y@GRAD * Scales (* scale_w). The gradients of the statistics are no derivatives but the batch's own: its size, \
             its sum, and its squared distances from Means plus size * epsilon; with slot_dim per value shown",
        )
        .input("Means", "of the forward operator")
        .input("Scales", "of the forward operator")
        .input("X", "of the forward operator")
        .input("Y@GRAD", "gradient of `Y`")
        .optional_input("bias", "of the forward operator")
        .optional_input("scale_w", "of the forward operator")
        .optional_output("BatchSize", "not written")
        .optional_output("BatchSquareSum", "not written")
        .optional_output("BatchSum", "not written")
        .optional_output("BatchSize@GRAD", "how many values the batch has")
        .optional_output("BatchSquareSum@GRAD", "their squared distances from `Means`")
        .optional_output("BatchSum@GRAD", "their sum")
        .optional_output("X@GRAD", "gradient of `X`")
        .optional_output("bias@GRAD", "gradient of `bias`")
        .optional_output("scale_w@GRAD", "gradient of `scale_w`")
        .attrs_of(&DataNorm.sig())
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.input("X")?;
        let column = VarType::tensor(x.dtype, vec![x.shape.get(1).copied().unwrap_or(Dim::Any)]);
        for slot in ["BatchSize@GRAD", "BatchSquareSum@GRAD", "BatchSum@GRAD", "bias@GRAD", "scale_w@GRAD"] {
            cx.set(slot, column.clone());
        }
        cx.set("X@GRAD", x.with_kind(VarKind::Tensor));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let grad = NormGrad::new(p)?;
        by_float!(p.float("X")?, T => kernel(move |io| grad.run::<T>(io)))
    }
}

slots! {
    struct NormGrad(p) {
        x: input "X",
        dy: input "Y@GRAD",
        means: input "Means",
        scales: input "Scales",
        scale_w: Option<In> = affine(p)?.map(|(w, _)| w),
        dx: maybe_output "X@GRAD",
        /// Size, sum, squared distances.
        statistics: [Option<Out>; 3] = [
                p.maybe_output("BatchSize@GRAD")?,
                p.maybe_output("BatchSum@GRAD")?,
                p.maybe_output("BatchSquareSum@GRAD")?,
            ],
        /// scale_w, bias.
        daffine: [Option<Out>; 2] = [p.maybe_output("scale_w@GRAD")?, p.maybe_output("bias@GRAD")?],
        epsilon: f32 "epsilon",
        slot: Option<usize> = slot_dim(&p.attrs())?,
    }
}

/// The inputs of the gradient.
struct Batch<'a, T> {
    x: &'a [T],
    dy: &'a [T],
    mean: &'a [T],
    scale: &'a [T],
    slot: Option<usize>,
}

impl<T: Float> Batch<'_, T> {
    /// The sum over rows of a column, of those that were shown there.
    fn column_sum(&self, column: usize, of: impl Fn(T, T) -> T) -> T {
        let width = self.mean.len();
        let rows = self.x.chunks_exact(width).zip(self.dy.chunks_exact(width));
        rows.filter(|(x, _)| shown(x, column, self.slot)).map(|(x, dy)| of(x[column], dy[column])).sum()
    }
}

impl NormGrad {
    fn run<T: Float>(&self, io: &Io<'_>) -> Result<()> {
        let (x, dy, means, scales) =
            (io.dense(self.x)?, io.dense(self.dy)?, io.dense(self.means)?, io.dense(self.scales)?);
        checks::expect_elements(io, self.dy, dy.numel(), x.numel())?;
        let width = x.dims().matrix(1).1;
        let batch = Batch {
            x: io.data::<T>(self.x, &x)?,
            dy: io.data(self.dy, &dy)?,
            mean: columns(io, self.means, &means, width)?,
            scale: columns(io, self.scales, &scales, width)?,
            slot: self.slot,
        };
        self.statistics(io, &batch)?;
        let [dw, db] = self.daffine;
        let distance = |j: usize, x: T| (x - batch.mean[j]) * batch.scale[j];
        write(io, dw, width, |j| batch.column_sum(j, |x, dy| dy * distance(j, x)))?;
        write(io, db, width, |j| batch.column_sum(j, |_, dy| dy))?;
        self.input_grad(io, &x, &batch)
    }

    fn statistics<T: Float>(&self, io: &Io<'_>, batch: &Batch<'_, T>) -> Result<()> {
        let width = batch.mean.len();
        let epsilon = T::of(self.epsilon as f64);
        let count = |j: usize| batch.column_sum(j, |_, _| T::ONE);
        let square = |j: usize, x: T| (x - batch.mean[j]) * (x - batch.mean[j]);
        // With slots, statistics are those of one value, since each column has seen another number of them.
        let per_value =
            |j: usize, total: T| if self.slot.is_some() && count(j) > T::ZERO { total / count(j) } else { total };
        let [size, sum, squares] = self.statistics;
        write(io, size, width, |j| per_value(j, count(j)))?;
        write(io, sum, width, |j| per_value(j, batch.column_sum(j, |x, _| x)))?;
        write(io, squares, width, |j| per_value(j, batch.column_sum(j, |x, _| square(j, x))) + count(j) * epsilon)
    }

    fn input_grad<T: Float>(&self, io: &Io<'_>, x: &Tensor, batch: &Batch<'_, T>) -> Result<()> {
        let Some(out) = self.dx else { return Ok(()) };
        let width = batch.mean.len();
        let tensor = self.scale_w.map(|w| io.dense(w)).transpose()?;
        let weight = match (self.scale_w, &tensor) {
            (Some(w), Some(t)) => Some(columns::<T>(io, w, t, width)?),
            _ => None,
        };
        let mut to = io.out_sized(out, T::DTYPE, *x.dims())?;
        to.set_lod(x.lod().clone());
        for (i, (to, dy)) in io.data_mut::<T>(out, &mut to)?.iter_mut().zip(batch.dy).enumerate() {
            let j = i % width;
            *to = *dy * batch.scale[j] * weight.map_or(T::ONE, |w| w[j]);
        }
        Ok(())
    }
}

/// Writes one value per column.
fn write<T: Float>(io: &Io<'_>, out: Option<Out>, width: usize, value: impl Fn(usize) -> T) -> Result<()> {
    let Some(out) = out else { return Ok(()) };
    let mut to = io.out_sized(out, T::DTYPE, Dims::from([width]))?;
    io.data_mut::<T>(out, &mut to)?.iter_mut().enumerate().for_each(|(j, to)| *to = value(j));
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor};

    fn norm(x: &[f32]) -> Check {
        check("data_norm")
            .input("X", tensor([2, 2], x))
            .input("BatchSize", tensor([2], &[4.0, 4.0]))
            .input("BatchSum", tensor([2], &[4.0, -4.0]))
            .input("BatchSquareSum", tensor([2], &[1.0, 16.0]))
            .output("Means", tensor([2], &[1.0, -1.0]))
            .output("Scales", tensor([2], &[2.0, 0.5]))
    }

    #[test]
    fn by_collected_statistics() {
        norm(&[1.0, 1.0, 2.0, 3.0]).output("Y", tensor([2, 2], &[0.0, 1.0, 2.0, 2.0])).grad(&["X"]).run();
        norm(&[1.0, 1.0, 2.0, 3.0])
            .input("scale_w", tensor([2], &[3.0, 1.0]))
            .input("bias", tensor([2], &[0.5, -1.0]))
            .attr("enable_scale_and_shift", true)
            .output("Y", tensor([2, 2], &[0.5, 0.0, 6.5, 1.0]))
            .grad(&["X", "scale_w", "bias"])
            .run();
    }

    #[test]
    fn slots_that_were_not_shown_give_zeros() {
        norm(&[0.0, 1.0, 2.0, 3.0]).attr("slot_dim", 2).output("Y", tensor([2, 2], &[0.0, 0.0, 2.0, 2.0])).run();
    }

    #[test]
    fn gradients_of_statistics_are_those_of_the_batch() {
        let case = || {
            check("data_norm_grad")
                .input("X", tensor([2, 1], &[0.0, 3.0]))
                .input("Means", tensor([1], &[1.0]))
                .input("Scales", tensor([1], &[2.0]))
                .input("Y@GRAD", noise([2, 1], 1))
                .attr("epsilon", 0.5f32)
                .any_output("X@GRAD")
        };
        case()
            .output("BatchSize@GRAD", tensor([1], &[2.0]))
            .output("BatchSum@GRAD", tensor([1], &[3.0]))
            .output("BatchSquareSum@GRAD", tensor([1], &[6.0]))
            .run();
        case()
            .attr("slot_dim", 1)
            .output("BatchSize@GRAD", tensor([1], &[1.0]))
            .output("BatchSum@GRAD", tensor([1], &[3.0]))
            .output("BatchSquareSum@GRAD", tensor([1], &[4.5]))
            .run();
    }
}
