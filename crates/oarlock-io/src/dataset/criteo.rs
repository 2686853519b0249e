//! A made-up click log in the shape of Criteo's: a label, 13 numbers, 26 ids. For demonstrations and measurements.
//!
//! Ids are drawn by a power law, as in real logs: few are frequent, most are rare. Every id and every number has an effect
//! on the chance of a click, so there is something to learn, and since the chance is known, so is the best AUC that any model
//! can reach. Data sets of different seeds share these effects: one can be trained on and another tested on.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use oarlock_ir::{Error, Kind, Result, Shape};

use super::random::{Random, mix};
use super::slots::{SlotSpec, SlotType};

const NUMBERS: usize = 13;
const IDS: usize = 26;
/// Ids are hashed to less than this, as in Fluid's CTR examples.
const ID_SPACE: u64 = 1_000_001;
/// Everything that data sets have in common comes from this seed.
const MODEL_SEED: u64 = 0x0a71_0cc5;

/// How a data set is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CriteoOptions {
    /// Samples in all.
    pub samples: u64,
    /// Files to write them to, `part-00000` and so on. The samples do not depend on it.
    pub files: u64,
    /// Which samples to draw.
    pub seed: u64,
}

/// A summary of the generated data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CriteoSummary {
    /// Samples with label 1.
    pub clicks: u64,
    /// The AUC of a model that knows the true chance of every click.
    pub best_auc: f64,
    /// Bytes written.
    pub bytes: u64,
}

/// The slots of the files: `label`, `dense`, `C1` to `C26`.
pub fn criteo_slots() -> Result<Vec<SlotSpec>> {
    let rows_of = |n: i64| Shape::from_i64(&[-1, n]);
    let mut slots = vec![
        SlotSpec::dense("label", SlotType::Id, rows_of(1))?,
        SlotSpec::dense("dense", SlotType::Float, rows_of(NUMBERS as i64))?,
    ];
    for i in 1..=IDS {
        slots.push(SlotSpec::dense(format!("C{i}"), SlotType::Id, rows_of(1))?);
    }
    Ok(slots)
}

/// Writes a data set into `dir`, which is created if needed.
pub fn write_criteo(dir: &Path, options: CriteoOptions) -> Result<CriteoSummary> {
    if options.files == 0 || options.samples == 0 {
        return Err(Error::new(Kind::Argument, "a data set needs at least one sample and one file"));
    }
    let cannot = |path: &Path, e: io::Error| Error::new(Kind::Io, format!("cannot write {}: {e}", path.display()));
    fs::create_dir_all(dir).map_err(|e| cannot(dir, e))?;
    let model = Model::new();
    let mut auc = AucHistogram::new();
    let mut summary = CriteoSummary { clicks: 0, best_auc: 0.0, bytes: 0 };
    let mut text = String::new();
    for file in 0..options.files {
        let path = dir.join(format!("part-{file:05}"));
        let mut out = BufWriter::new(fs::File::create(&path).map_err(|e| cannot(&path, e))?);
        let share = |i: u64| (u128::from(options.samples) * u128::from(i) / u128::from(options.files)) as u64;
        for i in share(file)..share(file + 1) {
            let sample = model.sample(options.seed, i);
            text.clear();
            sample.print(&mut text);
            out.write_all(text.as_bytes()).map_err(|e| cannot(&path, e))?;
            auc.add(sample.logit, sample.click);
            summary.clicks += u64::from(sample.click);
            summary.bytes += text.len() as u64;
        }
        out.flush().map_err(|e| cannot(&path, e))?;
    }
    summary.best_auc = auc.area();
    Ok(summary)
}

/// The model that decides whether there is a click.
struct Model {
    /// Different ids of each slot.
    sizes: [f64; IDS],
    /// How much each slot matters.
    id_weights: [f64; IDS],
    number_weights: [f64; NUMBERS],
}

/// Chosen so that about a quarter of the samples are clicks, as in the real data.
const BIAS: f64 = -1.2;

impl Model {
    fn new() -> Model {
        let mut random = Random::new(MODEL_SEED);
        // From 10 to a million different ids, in equal steps of the logarithm.
        let mut sizes: [f64; IDS] = std::array::from_fn(|i| 10f64.powf(1.0 + 5.0 * i as f64 / (IDS - 1) as f64));
        random.shuffle(&mut sizes);
        Model {
            sizes,
            id_weights: std::array::from_fn(|_| 0.15 + 0.3 * random.unit()),
            number_weights: std::array::from_fn(|_| 0.45 * random.normal()),
        }
    }

    /// Sample `index` of the data set of a seed; it depends on nothing else.
    fn sample(&self, seed: u64, index: u64) -> Sample {
        let mut random = Random::new(mix(seed).wrapping_add(index));
        let mut logit = BIAS;
        let numbers = self.number_weights.map(|weight| {
            let value = random.normal().exp().ln_1p();
            logit += weight * (value - 0.8);
            value
        });
        let ids = std::array::from_fn(|slot| {
            // The chance of rank r is in proportion to 1 / r.
            let rank = self.sizes[slot].powf(random.unit()) as u64;
            let hash = mix(rank.wrapping_add(mix(slot as u64 + 1)));
            logit += self.id_weights[slot] * effect(hash);
            hash % ID_SPACE
        });
        let click = random.unit() < 1.0 / (1.0 + (-logit).exp());
        Sample { click, numbers, ids, logit }
    }
}

/// The effect of an id on the logit: nearly normal, with mean 0 and variance 1.
fn effect(hash: u64) -> f64 {
    let bits = mix(hash ^ MODEL_SEED);
    let sum: f64 = (0..4).map(|i| (bits >> (16 * i) & 0xffff) as f64 / 65536.0).sum();
    (sum - 2.0) * 3f64.sqrt()
}

struct Sample {
    click: bool,
    numbers: [f64; NUMBERS],
    ids: [u64; IDS],
    logit: f64,
}

impl Sample {
    fn print(&self, out: &mut String) {
        use std::fmt::Write;
        let mut print = |args: std::fmt::Arguments<'_>| out.write_fmt(args).unwrap_or_default();
        print(format_args!("1 {} {NUMBERS}", u8::from(self.click)));
        for v in self.numbers {
            print(format_args!(" {v:.4}"));
        }
        for id in self.ids {
            print(format_args!(" 1 {id}"));
        }
        out.push('\n');
    }
}

/// The area under the ROC curve of scores, from two histograms: memory does not grow with the number of samples.
struct AucHistogram {
    /// (no clicks, clicks) by score.
    bins: Vec<(u64, u64)>,
}

/// Scores beyond this on either side share a bin.
const WIDEST: f64 = 16.0;
/// Scores that share a bin count as equal; with this many the area is right to about five digits.
const BINS: usize = 1 << 17;

impl AucHistogram {
    fn new() -> AucHistogram {
        AucHistogram { bins: vec![(0, 0); BINS] }
    }

    fn add(&mut self, score: f64, positive: bool) {
        let place = (score + WIDEST) / (2.0 * WIDEST) * BINS as f64;
        let bin = &mut self.bins[(place.max(0.0) as usize).min(BINS - 1)];
        if positive {
            bin.1 += 1;
        } else {
            bin.0 += 1;
        }
    }

    /// The chance that a click has a higher score than another sample; 0.5 if there are none of a kind.
    fn area(&self) -> f64 {
        let (mut negatives, mut positives, mut won) = (0u64, 0u64, 0.0);
        for &(n, p) in &self.bins {
            won += p as f64 * (negatives as f64 + n as f64 / 2.0);
            negatives += n;
            positives += p;
        }
        if negatives == 0 || positives == 0 { 0.5 } else { won / (negatives as f64 * positives as f64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_depend_on_seed_and_index_alone() {
        let model = Model::new();
        let text = |seed, i| {
            let mut out = String::new();
            model.sample(seed, i).print(&mut out);
            out
        };
        assert_eq!(text(1, 5), text(1, 5));
        assert_ne!(text(1, 5), text(1, 6));
        assert_ne!(text(1, 5), text(2, 5));
        // Not the neighbouring samples of another seed either.
        assert!((0..100).all(|i| text(2, i) != text(1, 5)));
    }

    #[test]
    fn labels_can_be_learnt_and_ids_follow_a_power_law() {
        let model = Model::new();
        let mut auc = AucHistogram::new();
        let mut counts = std::collections::HashMap::<u64, u32>::new();
        let largest = (0..IDS).max_by(|a, b| model.sizes[*a].total_cmp(&model.sizes[*b])).unwrap();
        let samples: Vec<Sample> = (0..20_000).map(|i| model.sample(1, i)).collect();
        for s in &samples {
            auc.add(s.logit, s.click);
            *counts.entry(s.ids[largest]).or_default() += 1;
        }
        let clicks = samples.iter().filter(|s| s.click).count();
        assert!((4_000..8_000).contains(&clicks), "{clicks}");
        assert!((0.78..0.9).contains(&auc.area()), "{}", auc.area());
        // Rank 1 of 10^6 by 1/rank: ln(2)/ln(10^6) = 5 %.
        let most = *counts.values().max().unwrap();
        assert!((800..1200).contains(&most), "{most}");
        assert!(counts.len() > 5_000, "{}", counts.len());
    }

    #[test]
    fn auc_equals_the_share_of_ordered_pairs() {
        let mut auc = AucHistogram::new();
        for (score, positive) in [(0.1, false), (0.4, false), (0.35, true), (0.8, true), (99.0, true), (-99.0, false)] {
            auc.add(score, positive);
        }
        assert!((auc.area() - 8.0 / 9.0).abs() < 1e-9, "{}", auc.area());
        assert_eq!(AucHistogram::new().area(), 0.5);
    }
}
