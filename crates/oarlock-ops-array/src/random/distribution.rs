//! Distributions of random numbers, shared by the operators that fill tensors with them.

use oarlock_ir::{AttrView, Io, Kernel, Kind, Prepare, Result, Sig, fail, kernel};
use oarlock_ops_support::seed::seed_or_fresh;
use oarlock_tensor::rng::{self, Uniform};
use oarlock_tensor::table::RowInit;
use oarlock_tensor::{DType, Dims, Pool};

use crate::embedding::hashed_table;

/// Elements that one task fills; every task finds its place in the sequence by itself.
const PIECE: usize = 1 << 16;

/// Adds the attributes every random operator has.
pub(crate) fn attrs(sig: Sig) -> Sig {
    sig.output("Out", "of `dtype` and of the shape")
        .attr("dtype", DType::F32.proto(), "element type of `Out`: f32 or f64")
        .attr("seed", 0, "start of the sequence; 0 for another one in every run")
}

/// Adds the attributes of a normal distribution.
pub(crate) fn gaussian_attrs(sig: Sig) -> Sig {
    attrs(sig).attr("mean", 0.0f32, "middle of the distribution").attr("std", 1.0f32, "its standard deviation")
}

/// Adds the attributes of a uniform distribution.
pub(crate) fn uniform_attrs(sig: Sig) -> Sig {
    attrs(sig)
        .attr("min", -1.0f32, "lower bound")
        .attr("max", 1.0f32, "upper bound, excluded")
        .attr("diag_num", 0, "how many elements of the diagonal are set to `diag_val` afterwards")
        .attr("diag_step", 0, "columns of the matrix whose diagonal it is, so the distance of two elements less one")
        .attr("diag_val", 1.0f32, "value of those elements")
}

/// How numbers are distributed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Distribution {
    /// In an interval, except for a diagonal.
    Uniform { min: f32, max: f32, diagonal: Diagonal },
    /// Around a mean.
    Gaussian { mean: f32, std: f32 },
    /// Around a mean, never further away than two standard deviations.
    Truncated { mean: f32, std: f32 },
}

/// Elements of fixed value: `count` of them, the first at 0, each `step + 1` after the one before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Diagonal {
    count: usize,
    step: usize,
    value: f32,
}

impl Distribution {
    /// That of [`uniform_attrs`].
    pub(crate) fn uniform(attrs: &AttrView<'_>) -> Result<Distribution> {
        let (min, max) = (attrs.f32("min")?, attrs.f32("max")?);
        if min > max {
            fail!(Kind::Argument, "`min` = {min} must not be above `max` = {max}");
        }
        let diagonal = Diagonal {
            count: attrs.count("diag_num")?,
            step: attrs.count("diag_step")?,
            value: attrs.f32("diag_val")?,
        };
        Ok(Distribution::Uniform { min, max, diagonal })
    }

    /// That of [`gaussian_attrs`].
    pub(crate) fn gaussian(attrs: &AttrView<'_>) -> Result<Distribution> {
        Ok(Distribution::Gaussian { mean: attrs.f32("mean")?, std: attrs.f32("std")? })
    }

    /// The initial values of the rows of a table.
    fn of_rows(self) -> RowInit {
        match self {
            Distribution::Uniform { min, max, .. } => RowInit::Uniform { min, max },
            Distribution::Gaussian { mean, std } => RowInit::Gaussian { mean, std },
            Distribution::Truncated { mean, std } => RowInit::TruncatedGaussian { mean, std },
        }
    }

    fn fill<T: Uniform>(self, pool: &Pool, data: &mut [T], seed: u64) {
        let t = |v: f32| T::of(v.into());
        match self {
            Distribution::Uniform { min, max, diagonal } => {
                let fill = |i: usize, part: &mut [T]| {
                    rng::fill_uniform(part, seed, t(min), t(max), (i * PIECE) as u64);
                };
                pool.pieces(data, PIECE, fill);
                let on_diagonal = data.iter_mut().step_by(diagonal.step + 1).take(diagonal.count);
                on_diagonal.for_each(|v| *v = t(diagonal.value));
            }
            Distribution::Gaussian { mean, std } => rng::fill_gaussian(data, seed, t(mean), t(std)),
            Distribution::Truncated { mean, std } => pool.pieces(data, PIECE, |i, part| {
                rng::fill_truncated_gaussian(part, seed, t(mean), t(std), (i * PIECE) as u64);
            }),
        }
    }
}

/// A kernel that fills `Out` of a shape found in every run.
pub(crate) fn random_kernel(
    p: &Prepare<'_>,
    distribution: Distribution,
    dims: impl Fn(&Io<'_>) -> Result<Dims> + Send + 'static,
) -> Result<Box<dyn Kernel>> {
    if let Some(table) = hashed_table::start(p, distribution.of_rows(), p.attrs().int("seed")? as u64)? {
        return Ok(table);
    }
    match p.attrs().dtype("dtype")? {
        DType::F32 => typed_kernel::<f32>(p, distribution, dims),
        DType::F64 => typed_kernel::<f64>(p, distribution, dims),
        other => fail!(Kind::DType, "`{}` makes f32 or f64, not {other}", p.op().op_type),
    }
}

fn typed_kernel<T: Uniform>(
    p: &Prepare<'_>,
    distribution: Distribution,
    dims: impl Fn(&Io<'_>) -> Result<Dims> + Send + 'static,
) -> Result<Box<dyn Kernel>> {
    let (out, seed) = (p.output("Out")?, p.attrs().int("seed")?);
    kernel(move |io| {
        let mut t = io.out_sized(out, T::DTYPE, dims(io)?)?;
        let data = io.data_mut::<T>(out, &mut t)?;
        distribution.fill(io.pool(), data, seed_or_fresh(io, seed));
        Ok(())
    })
}
