//! Samplers of classes: what losses over some classes instead of all draw from.

use oarlock_ir::{In, Io, Kind, Result};
use oarlock_ops_support::seed::seed_or_fresh;
use oarlock_tensor::rng::{Mt19937x64, uniform_int};

/// An engine for an attribute `seed`; 0 asks for other samples in every run.
pub(crate) fn engine(io: &Io<'_>, seed: i64) -> Mt19937x64 {
    Mt19937x64::new(seed_or_fresh(io, seed))
}

/// A distribution over the classes `0..=range`.
pub(crate) enum Sampler<'a> {
    /// All alike.
    Uniform { range: u64 },
    /// Class k with a probability proportional to ln((k + 2) / (k + 1)): classes by descending frequency.
    LogUniform { range: u64, log_range: f32 },
    /// As a table says.
    Custom(Custom<'a>),
}

/// A distribution as an alias table: a class drawn uniformly is kept with the probability `keep`, else replaced by its `alias`.
#[derive(Clone, Copy)]
pub(crate) struct Custom<'a> {
    pub(crate) probs: &'a [f32],
    pub(crate) alias: &'a [i32],
    pub(crate) keep: &'a [f32],
}

impl<'a> Custom<'a> {
    /// Checks that there is one entry per class and that every alias is a class or -1, which stands for the class itself.
    pub(crate) fn check(self, io: &Io<'_>, inputs: [In; 3], classes: usize) -> Result<Custom<'a>> {
        let lengths = [self.probs.len(), self.alias.len(), self.keep.len()];
        if let Some((input, n)) = inputs.iter().zip(lengths).find(|(_, n)| *n != classes) {
            return Err(io.error(Kind::Shape, *input, format!("has {n} entries for {classes} classes")));
        }
        match self.alias.iter().find(|a| !(-1..classes as i64).contains(&i64::from(**a))) {
            Some(a) => Err(io.error(Kind::Range, inputs[1], format!("holds {a}, but there are {classes} classes"))),
            None => Ok(self),
        }
    }
}

impl Sampler<'_> {
    /// The log-uniform distribution.
    pub(crate) fn log_uniform(range: u64) -> Sampler<'static> {
        Sampler::LogUniform { range, log_range: ((range + 1) as f64).ln() as f32 }
    }

    /// Draws a class.
    pub(crate) fn draw(&self, engine: &mut Mt19937x64) -> i64 {
        match self {
            Sampler::Uniform { range } => uniform_int(engine, 0, *range) as i64,
            Sampler::LogUniform { range, log_range } => {
                let value = (engine.uniform_f64(0.0, 1.0) * f64::from(*log_range)).exp() as u64;
                (value.saturating_sub(1) % (*range).max(1)) as i64
            }
            Sampler::Custom(c) => {
                let at = uniform_int(engine, 0, c.keep.len() as u64 - 1) as usize;
                let stays = engine.uniform_f64(0.0, 1.0) <= f64::from(c.keep[at]) || c.alias[at] < 0;
                if stays { at as i64 } else { c.alias[at].into() }
            }
        }
    }

    /// The probability of a class; 0 for one it does not know.
    pub(crate) fn probability(&self, class: i64) -> f32 {
        match self {
            Sampler::Uniform { range } => (1.0 / (*range as f64 + 1.0)) as f32,
            Sampler::LogUniform { log_range, .. } => {
                let k = class as f64;
                (((k + 2.0) / (k + 1.0)).ln() / f64::from(*log_range)) as f32
            }
            Sampler::Custom(c) => usize::try_from(class).ok().and_then(|k| c.probs.get(k)).copied().unwrap_or(0.0),
        }
    }
}
