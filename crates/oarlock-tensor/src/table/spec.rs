//! The specification of a table, and the first weights of a new row.

use super::{Admission, Retention, SHOWN};
use crate::rng::{BELOW, GOLDEN, mix, normal_quantile};
use crate::{Error, Result};

/// The specification of a table: what it holds and how it grows.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Names the table in errors and, with the seed, the numbers that its rows start from.
    pub name: String,
    /// Weights per row.
    pub width: usize,
    /// The states of an optimizer per row, beside the weights.
    pub state: Vec<State>,
    /// The first weights of a row.
    pub init: RowInit,
    /// The weights of a new row depend on this, on the name and on the row's id, and on nothing else.
    pub seed: u64,
    /// The most rows that the table may hold; `None` for as many as memory holds.
    pub max_rows: Option<u64>,
    /// Which ids get a row.
    pub admission: Admission,
    /// Which rows are kept.
    pub retention: Retention,
    /// How many of its latest changes a shard remembers the ids of (8 bytes each); 0 for none.
    pub history: usize,
}

/// One thing an optimizer keeps per row: a moment as wide as the weights, a power of one element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct State {
    /// Elements per row.
    pub width: usize,
    /// The first value of each element.
    pub initial: f32,
}

/// The first weights of a new row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RowInit {
    /// Every weight the same.
    Constant(f32),
    /// Uniform in `[min, max)`.
    Uniform {
        /// The least value.
        min: f32,
        /// Above all values.
        max: f32,
    },
    /// Normally distributed.
    Gaussian {
        /// The mean.
        mean: f32,
        /// The standard deviation.
        std: f32,
    },
    /// Normally distributed, without what is more than two standard deviations from the mean.
    TruncatedGaussian {
        /// The mean.
        mean: f32,
        /// The standard deviation before the truncation.
        std: f32,
    },
}

impl Spec {
    /// Words at the end of a row that count shows and clicks.
    pub(super) fn tail(&self) -> usize {
        if self.retention.score.is_some() { SHOWN } else { 0 }
    }

    /// Elements of state per row.
    pub fn state_width(&self) -> usize {
        self.state.iter().map(|s| s.width).sum()
    }

    /// Is this a table that can be made?
    pub(super) fn check(&self) -> Result<()> {
        let finite = |values: &[f32]| values.iter().all(|v| v.is_finite());
        let why = match (self.init, self.admission) {
            _ if self.width == 0 => "rows need at least one weight",
            _ if self.state.iter().any(|s| s.width == 0) => "a state needs at least one element per row",
            (RowInit::Uniform { min, max }, _) if !(finite(&[min, max]) && min <= max) => {
                "the bounds of uniform initial weights must be finite numbers, the lower one first"
            }
            (RowInit::Gaussian { mean, std } | RowInit::TruncatedGaussian { mean, std }, _)
                if !(finite(&[mean, std]) && std >= 0.0) =>
            {
                "mean and standard deviation of initial weights must be finite, the latter not negative"
            }
            (_, Admission::Count(0)) => "admission by count needs a count of at least 1",
            (_, Admission::Probability(p)) if !(0.0..=1.0).contains(&p) => {
                "the probability of admission must be between 0 and 1"
            }
            _ => match self.retention.fault() {
                Some(why) => why,
                None => return Ok(()),
            },
        };
        Err(self.error(why))
    }

    /// An error about this table.
    pub(super) fn error(&self, why: impl Into<String>) -> Error {
        Error::Table { table: self.name.clone(), why: why.into() }
    }
}

/// Where new rows come from: a generator that can begin anywhere, so that neither order nor number of rows matters.
pub(super) struct Initial {
    init: RowInit,
    key: u64,
    /// The first state of a row, states side by side.
    pub(super) state: Vec<f32>,
}

impl Initial {
    pub(super) fn new(spec: &Spec) -> Initial {
        let name = spec.name.bytes().fold(0, |key, byte| mix(key ^ u64::from(byte)).wrapping_add(GOLDEN));
        let state = spec.state.iter().flat_map(|s| std::iter::repeat_n(s.initial, s.width)).collect();
        Initial { init: spec.init, key: mix(name ^ mix(spec.seed)), state }
    }

    /// The first weights of row `id`.
    pub(super) fn weights(&self, id: i64, out: &mut [f32]) {
        let mut at = self.bits(id, 0);
        for weight in out {
            at = at.wrapping_add(GOLDEN);
            *weight = self.init.value(mix(at));
        }
    }

    /// Random bits that belong to `id` and a number.
    fn bits(&self, id: i64, number: u64) -> u64 {
        mix(self.key.wrapping_add(number.wrapping_mul(GOLDEN)) ^ mix(id as u64))
    }

    /// Does a coin that shows heads with this probability do so for `id` at the toss of this number?
    pub(super) fn coin(&self, id: i64, toss: u64, probability: f64) -> bool {
        ((mix(self.bits(id, toss)) >> 11) as f64) < probability * 2f64.powi(53)
    }
}

impl RowInit {
    /// The value that 64 random bits stand for.
    fn value(self, bits: u64) -> f32 {
        // In the middle of one of 2^32 equal parts of (-0.5, 0.5): never so near the ends that the quantile is not known.
        let centred = || ((bits >> 32) as f64 + 0.5) / 2f64.powi(32) - 0.5;
        match self {
            RowInit::Constant(value) => value,
            RowInit::Uniform { min, max } => {
                let unit = (bits >> 40) as f32 / 2f32.powi(24);
                // Rounding may reach the upper bound.
                (min + unit * (max - min)).min(max.next_down()).max(min)
            }
            RowInit::Gaussian { mean, std } => (normal_quantile(centred()) * f64::from(std)) as f32 + mean,
            RowInit::TruncatedGaussian { mean, std } => {
                (normal_quantile(centred() * (1.0 - 2.0 * BELOW)) * f64::from(std)) as f32 + mean
            }
        }
    }
}
