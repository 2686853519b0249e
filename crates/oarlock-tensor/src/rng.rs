//! Random numbers that repeat the C++ standard library's, bit for bit where it matters.
//!
//! Parameters of saved runs were drawn with libstdc++'s engines and distributions, so a seed must give the same
//! numbers here. There is no global generator: who draws owns an engine, made from a seed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::Float;

/// The modulus of both Lehmer engines, the Mersenne prime 2^31 - 1.
const MODULUS: u64 = (1 << 31) - 1;

/// A source of integers, uniform in `MIN..=MAX`.
pub trait Engine {
    /// The least integer drawn.
    const MIN: u64;
    /// The greatest integer drawn.
    const MAX: u64;
    /// The next integer.
    fn draw(&mut self) -> u64;
}

/// `x <- A x mod 2^31 - 1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lehmer<const A: u64>(u64);

/// `std::minstd_rand`, the engine of nearly every random operator.
pub type MinStd = Lehmer<48271>;

/// `std::minstd_rand0`, libstdc++'s `default_random_engine`.
pub type MinStd0 = Lehmer<16807>;

impl<const A: u64> Lehmer<A> {
    /// An engine in the state the standard library gives it for `seed`. Negative seeds of C++ arrive as their two's complement.
    pub fn new(seed: u64) -> Self {
        // State 0 would never leave 0.
        Lehmer((seed % MODULUS).max(1))
    }

    /// Skips `n` draws, in O(log n).
    pub fn jump(&mut self, n: u64) {
        let (mut power, mut n) = (A, n);
        while n > 0 {
            if n & 1 == 1 {
                self.0 = self.0 * power % MODULUS;
            }
            power = power * power % MODULUS;
            n >>= 1;
        }
    }

    /// The next value, in `1..2^31 - 1`.
    #[allow(clippy::should_implement_trait, reason = "an engine never ends, so an iterator would only add noise")]
    #[inline]
    pub fn next(&mut self) -> u32 {
        // 2^31 = 1 modulo 2^31 - 1, so the high bits are simply added to the low ones; the sum is below twice the modulus.
        let product = self.0 * A;
        let folded = (product & MODULUS) + (product >> 31);
        self.0 = if folded >= MODULUS { folded - MODULUS } else { folded };
        self.0 as u32
    }
}

impl<const A: u64> Engine for Lehmer<A> {
    const MIN: u64 = 1;
    const MAX: u64 = MODULUS - 1;
    fn draw(&mut self) -> u64 {
        self.next().into()
    }
}

impl MinStd {
    /// The next f32 in `[min, max)`, as `std::uniform_real_distribution<float>` draws it.
    #[inline]
    pub fn uniform_f32(&mut self, min: f32, max: f32) -> f32 {
        f32::canonical(self) * (max - min) + min
    }

    /// The next f64 in `[min, max)`, as `std::uniform_real_distribution<double>` draws it (two draws of the engine).
    #[inline]
    pub fn uniform_f64(&mut self, min: f64, max: f64) -> f64 {
        f64::canonical(self) * (max - min) + min
    }
}

/// Floats that `MinStd` can produce.
pub trait Uniform: Float {
    /// Draws of the engine that one value costs.
    const DRAWS: u64;
    /// The next value in `[0, 1)`, as `std::generate_canonical` makes it.
    fn canonical(engine: &mut MinStd) -> Self;
}

/// How many values `MinStd` can take. As an f32 this rounds to 2^31.
const VALUES: f64 = (MODULUS - 1) as f64;

impl Uniform for f32 {
    const DRAWS: u64 = 1;
    #[inline]
    fn canonical(engine: &mut MinStd) -> f32 {
        // The largest draws round up to 1, which the standard library pulls back below it.
        ((engine.next() - 1) as f32 / VALUES as f32).min(1.0f32.next_down())
    }
}

impl Uniform for f64 {
    const DRAWS: u64 = 2;
    #[inline]
    fn canonical(engine: &mut MinStd) -> f64 {
        // One draw has 31 bits, a double 53: the second draw is the high digit.
        let low = f64::from(engine.next() - 1);
        let high = f64::from(engine.next() - 1);
        ((low + high * VALUES) / (VALUES * VALUES)).min(1.0f64.next_down())
    }
}

/// Normally distributed numbers: Marsaglia's polar method in the order libstdc++ uses. A clone continues from the same place.
#[derive(Debug, Clone)]
pub struct Gaussian<T> {
    engine: MinStd,
    /// The method makes two values at a time; this one is for the next call.
    saved: Option<T>,
}

impl<T: Uniform> Gaussian<T> {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        Gaussian { engine: MinStd::new(seed), saved: None }
    }

    /// The next value of the standard normal distribution.
    #[inline]
    pub fn next_standard(&mut self) -> T {
        if let Some(saved) = self.saved.take() {
            return saved;
        }
        let two = T::ONE + T::ONE;
        loop {
            let x = two * T::canonical(&mut self.engine) - T::ONE;
            let y = two * T::canonical(&mut self.engine) - T::ONE;
            let r2 = x * x + y * y;
            if r2 <= T::ONE && r2 != T::ZERO {
                let scale = (-two * r2.ln() / r2).sqrt();
                self.saved = Some(x * scale);
                return y * scale;
            }
        }
    }

    /// The next value of the normal distribution with this mean and standard deviation.
    #[inline]
    pub fn next(&mut self, mean: T, std: T) -> T {
        self.next_standard() * std + mean
    }
}

/// Fills `out` with uniform numbers in `[min, max)`: the values that a fill from index 0 puts at `start` and after.
pub fn fill_uniform<T: Uniform>(out: &mut [T], seed: u64, min: T, max: T, start: u64) {
    let mut engine = MinStd::new(seed);
    engine.jump(start * T::DRAWS);
    for v in out {
        *v = T::canonical(&mut engine) * (max - min) + min;
    }
}

/// Fills `out` with normally distributed numbers.
pub fn fill_gaussian<T: Uniform>(out: &mut [T], seed: u64, mean: T, std: T) {
    let mut source = Gaussian::new(seed);
    for v in out {
        *v = source.next(mean, std);
    }
}

/// The normal distribution function at -2; at 2 it is one minus that.
pub(crate) const BELOW: f64 = 0.022750131948179212;

/// Fills `out` with normally distributed numbers truncated at two standard deviations: the values that a fill from
/// index 0 puts at `start` and after.
pub fn fill_truncated_gaussian<T: Uniform>(out: &mut [T], seed: u64, mean: T, std: T, start: u64) {
    let (low, span) = (T::of(BELOW), T::of(1.0 - BELOW) - T::of(BELOW));
    let tiny = T::of(f32::MIN_POSITIVE.into());
    let two = T::ONE + T::ONE;
    let mut engine = MinStd::new(seed);
    engine.jump(start * T::DRAWS);
    for v in out {
        let u = T::canonical(&mut engine) * (T::ONE - tiny) + tiny;
        // The argument is rounded to `T` twice, as the original does; the function itself is exact enough not to matter.
        let centred = two * (low + span * u) - T::ONE;
        *v = T::of(normal_quantile(centred.f64() / 2.0)) * std + mean;
    }
}

/// The `z` at which the normal distribution function is `0.5 + q`, for `|q| < 0.5 - 1e-10`; relative error about 1e-15.
/// Wichura's algorithm AS 241 (Applied Statistics 37, 1988) without its far tail.
#[allow(clippy::excessive_precision, reason = "as published")]
pub(crate) fn normal_quantile(q: f64) -> f64 {
    const CENTRE: [(f64, f64); 8] = [
        (2509.0809287301226727, 5226.4952788528545610),
        (33430.575583588128105, 28729.085735721942674),
        (67265.770927008700853, 39307.895800092710610),
        (45921.953931549871457, 21213.794301586595867),
        (13731.693765509461125, 5394.1960214247511077),
        (1971.5909503065514427, 687.18700749205790830),
        (133.14166789178437745, 42.313330701600911252),
        (3.3871328727963666080, 1.0),
    ];
    const SIDE: [(f64, f64); 8] = [
        (7.74545014278341407640e-4, 1.05075007164441684324e-9),
        (2.27238449892691845833e-2, 5.47593808499534494600e-4),
        (2.41780725177450611770e-1, 1.51986665636164571966e-2),
        (1.27045825245236838258, 1.48103976427480074590e-1),
        (3.64784832476320460504, 6.89767334985100004550e-1),
        (5.76949722146069140550, 1.67638483018380384940),
        (4.63033784615654529590, 2.05319162663775882187),
        (1.42343711074968357734, 1.0),
    ];
    let ratio = |table: &[(f64, f64); 8], r: f64| {
        let (p, q) = table.iter().fold((0.0, 0.0), |(p, q), (a, b)| (p * r + a, q * r + b));
        p / q
    };
    if q.abs() <= 0.425 {
        q * ratio(&CENTRE, 0.180625 - q * q)
    } else {
        let r = (-(0.5 - q.abs()).ln()).sqrt();
        ratio(&SIDE, r - 1.6).copysign(q)
    }
}

/// An integer uniform in `low..=high`, as libstdc++'s `uniform_int_distribution` draws it from engines of this range.
///
/// The span must not exceed the engine's (none of our callers comes near it); larger spans are limited to it.
pub fn uniform_int<E: Engine>(engine: &mut E, low: u64, high: u64) -> u64 {
    let span = high.saturating_sub(low);
    let engine_span = E::MAX - E::MIN;
    if span >= engine_span {
        return low + (engine.draw() - E::MIN);
    }
    let scale = engine_span / (span + 1);
    loop {
        let ticket = (engine.draw() - E::MIN) / scale;
        if ticket <= span {
            return low + ticket;
        }
    }
}

/// `std::shuffle` of the library that Fluid 1.8 was built with: one draw per swap. (Newer ones make one draw serve two.)
pub fn shuffle<T, E: Engine>(items: &mut [T], engine: &mut E) {
    for i in 1..items.len() {
        items.swap(i, uniform_int(engine, 0, i as u64) as usize);
    }
}

/// glibc's `rand` after `srand`, from which permutations are drawn: each number is the sum of two earlier ones.
#[derive(Debug, Clone)]
pub struct GlibcRand {
    state: [u32; 31],
    at: usize,
}

impl GlibcRand {
    /// Starts from a seed; 0 counts as 1.
    pub fn new(seed: u32) -> Self {
        let mut state = [seed.max(1); 31];
        for i in 1..31 {
            // A Lehmer engine over signed numbers: a negative remainder is brought back into range.
            let last = i64::from(state[i - 1] as i32);
            state[i] = (16807 * last % MODULUS as i64).rem_euclid(MODULUS as i64) as u32;
        }
        let mut engine = GlibcRand { state, at: 3 };
        // The first numbers are not mixed enough and are thrown away.
        for _ in 0..310 {
            engine.draw();
        }
        engine
    }

    /// `std::random_shuffle` with this engine.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in 1..items.len() {
            items.swap(i, (self.draw() % (i as u64 + 1)) as usize);
        }
    }
}

impl Engine for GlibcRand {
    const MIN: u64 = 0;
    const MAX: u64 = MODULUS;
    fn draw(&mut self) -> u64 {
        let (old, older) = (self.state[(self.at + 28) % 31], self.state[self.at]);
        let sum = old.wrapping_add(older);
        self.state[self.at] = sum;
        self.at = (self.at + 1) % 31;
        u64::from(sum >> 1)
    }
}

/// `std::mt19937_64`, the engine of the negative samplers.
#[derive(Debug, Clone)]
pub struct Mt19937x64 {
    state: [u64; 312],
    at: usize,
}

impl Mt19937x64 {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        let mut state = [seed; 312];
        for i in 1..312 {
            let last = state[i - 1];
            state[i] = (last ^ (last >> 62)).wrapping_mul(6364136223846793005).wrapping_add(i as u64);
        }
        Mt19937x64 { state, at: 312 }
    }

    /// The next f64 in `[min, max)`, as `std::uniform_real_distribution<double>` draws it from this engine.
    pub fn uniform_f64(&mut self, min: f64, max: f64) -> f64 {
        let canonical = (self.draw() as f64 / 2f64.powi(64)).min(1.0f64.next_down());
        canonical * (max - min) + min
    }

    fn refill(&mut self) {
        for i in 0..312 {
            let mixed = (self.state[i] & !0x7fff_ffff) | (self.state[(i + 1) % 312] & 0x7fff_ffff);
            let twist = if mixed & 1 == 1 { 0xb502_6f5a_a966_19e9 } else { 0 };
            self.state[i] = self.state[(i + 156) % 312] ^ (mixed >> 1) ^ twist;
        }
        self.at = 0;
    }
}

impl Engine for Mt19937x64 {
    const MIN: u64 = 0;
    const MAX: u64 = u64::MAX;
    fn draw(&mut self) -> u64 {
        if self.at == 312 {
            self.refill();
        }
        let mut x = self.state[self.at];
        self.at += 1;
        x ^= (x >> 29) & 0x5555_5555_5555_5555;
        x ^= (x << 17) & 0x71d6_7fff_eda6_0000;
        x ^= (x << 37) & 0xfff7_eee0_0000_0000;
        x ^ (x >> 43)
    }
}

/// A seed for "no seed given": different in each call and each process, never 0.
#[allow(clippy::disallowed_methods, reason = "chance is wanted here; who wants a replay gives a seed")]
pub fn fresh_seed() -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    // A clock before 1970 only costs variety.
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64);
    mix(time ^ (u64::from(std::process::id()) << 40) ^ call.wrapping_mul(GOLDEN)).max(1)
}

/// The next seed of a sequence that can be gone on with later from `state`. Never 0.
pub fn next_seed(state: &mut u64) -> u64 {
    *state = state.wrapping_add(GOLDEN);
    mix(*state).max(1)
}

/// 2^64 divided by the golden ratio: multiples of it are spread evenly. The step of [`mix`]ed counters.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes 64 bits so that each depends on all (the finalizer of SplitMix64). One to one: different numbers stay different.
/// `mix` of a key plus multiples of [`GOLDEN`] is a generator whose n-th number can be had at once.
#[inline]
pub fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|v| v.to_bits()).collect()
    }

    #[test]
    fn engine_repeats_the_standard() {
        // The C++ standard names the 10000th value of each engine started with its default seed.
        let last = |draw: &mut dyn FnMut() -> u64| (0..10000).fold(0, |_, _| draw());
        let (mut a, mut b, mut c) = (MinStd::new(1), MinStd0::new(1), Mt19937x64::new(5489));
        assert_eq!(last(&mut || a.draw()), 399268537);
        assert_eq!(last(&mut || b.draw()), 1043618065);
        assert_eq!(last(&mut || c.draw()), 9981545732273789042);
    }

    #[test]
    fn seeds_are_taken_modulo_and_zero_becomes_one() {
        assert_eq!(MinStd::new(0), MinStd::new(1));
        assert_eq!(MinStd::new(MODULUS), MinStd::new(1));
        assert_eq!(MinStd::new(MODULUS + 7), MinStd::new(7));
    }

    #[test]
    fn jump_equals_draws() {
        for n in [0, 1, 2, 77, 1000] {
            let (mut a, mut b) = (MinStd::new(90), MinStd::new(90));
            a.jump(n);
            (0..n).for_each(|_| {
                b.next();
            });
            assert_eq!(a, b);
        }
    }

    #[test]
    fn uniform_equals_fluid_bit_for_bit() {
        // The first and some middle weights of a 784 x 100 layer with Xavier's bound, seed 90.
        let bound = (6.0f64 / 884.0).sqrt() as f32;
        let mut head = [0.0; 6];
        fill_uniform(&mut head, 90, -bound, bound, 0);
        assert_eq!(bits(&head), [0xbda80ad7, 0x3cce6978, 0xbd7f4a9a, 0xbd2c16e5, 0xbd81938c, 0xbd9066dc]);
        let mut middle = [0.0; 4];
        fill_uniform(&mut middle, 90, -bound, bound, 50000);
        assert_eq!(bits(&middle), [0xbc9d90d0, 0x3d07c390, 0x3d34f6b8, 0x3c8ba1b0]);
        let mut double = [0.0f64; 5];
        fill_uniform(&mut double, 123, -1.0, 1.0, 0);
        let want =
            [-0.08201751120318912, 0.3363741611156097, -0.3363161313140437, 0.9100634942316357, -0.09593692399419707];
        assert_eq!(double, want);
    }

    #[test]
    fn uniform_stays_below_its_upper_end() {
        let mut engine = Lehmer(0);
        // The state whose successor is the largest draw: minus the inverse of the multiplier.
        let before_last =
            (1..MODULUS).find(|s| s * 48271 % MODULUS == MODULUS - 1).expect("the multiplier has an inverse");
        engine.0 = before_last;
        assert_eq!(f32::canonical(&mut engine), 1.0f32.next_down());
    }

    #[test]
    fn gaussian_equals_fluid_to_one_ulp() {
        // The first filter weights of a 5 x 5 convolution with one input channel, seed 90.
        let want: [u32; 8] =
            [0xbdc41c98, 0xbe1176c8, 0x3e991ff0, 0xbe114b43, 0x3e35dea4, 0x3d8d37e6, 0xbce57d5f, 0xbe42c5f1];
        let mut got = [0.0; 8];
        fill_gaussian(&mut got, 90, 0.0, (2.0f64 / 25.0).sqrt() as f32);
        for (g, w) in bits(&got).into_iter().zip(want) {
            assert!(g.abs_diff(w) <= 1, "{g:#x} is not {w:#x}");
        }
        let mut shifted = [0.0; 3];
        fill_gaussian(&mut shifted, 42, 1.0, 0.5);
        for (g, w) in shifted.into_iter().zip([0.8242417f32, 0.18315035, 1.1224691]) {
            assert!((g - w).abs() < 2e-7, "{g} is not {w}");
        }
    }

    #[test]
    fn gaussian_restarts_from_a_clone() {
        let mut a = Gaussian::<f64>::new(3);
        a.next(0.0, 1.0);
        let mut b = a.clone();
        assert_eq!((a.next(0.0, 1.0), a.next(0.0, 1.0)), (b.next(0.0, 1.0), b.next(0.0, 1.0)));
    }

    #[test]
    fn truncated_gaussian_equals_fluid() {
        let want = [
            -1.9980135f32,
            -0.1800227,
            -1.8926023,
            -0.10052229,
            0.93194884,
            1.4613794,
            0.18012328,
            1.8486365,
            -0.45941046,
            0.54657066,
            -0.12536638,
            0.80022854,
        ];
        let mut got = [0.0; 12];
        fill_truncated_gaussian(&mut got, 5, 0.0, 1.0, 0);
        for (g, w) in got.into_iter().zip(want) {
            assert!((g - w).abs() <= 1e-6 + 1e-5 * w.abs(), "{g} is not {w}");
        }
        let mut tail = [0.0; 2];
        fill_truncated_gaussian(&mut tail, 5, 0.0, 1.0, 10);
        assert_eq!(tail, got[10..]);
    }

    #[test]
    fn quantile_inverts_the_distribution() {
        // The distribution function by its series, which converges quickly up to a few standard deviations.
        let distribution = |z: f64| {
            let (mut term, mut sum) = (z, z);
            for n in 1..60 {
                term *= z * z / (2 * n + 1) as f64;
                sum += term;
            }
            sum * (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
        };
        for i in -200..=200 {
            let z = i as f64 / 100.0;
            assert!((normal_quantile(distribution(z)) - z).abs() < 1e-14, "at {z}");
        }
    }

    #[test]
    fn integers_and_shuffles_equal_fluid() {
        let mut engine = MinStd::new(8);
        let drawn: Vec<u64> = (0..20).map(|_| uniform_int(&mut engine, 0, 2)).collect();
        assert_eq!(drawn, [0, 2, 2, 0, 2, 1, 0, 0, 0, 2, 2, 1, 1, 1, 2, 0, 0, 2, 2, 2]);
        let mut engine = MinStd0::new(5);
        let mut order = [0, 1, 2, 3, 4, 5, 6, 7];
        shuffle(&mut order, &mut engine);
        assert_eq!(order, [6, 7, 0, 5, 2, 3, 1, 4]);
    }

    #[test]
    fn permutations_equal_fluid() {
        let mut order: Vec<i32> = (0..8).collect();
        GlibcRand::new(7).shuffle(&mut order);
        assert_eq!(order, [2, 4, 7, 3, 6, 5, 1, 0]);
    }

    #[test]
    fn negative_samples_equal_fluid() {
        // Nine samples of eight classes, uniform and log-uniform.
        let mut engine = Mt19937x64::new(7);
        let uniform: Vec<u64> = (0..9).map(|_| uniform_int(&mut engine, 0, 7)).collect();
        assert_eq!(uniform, [6, 7, 0, 7, 1, 0, 6, 7, 2]);
        let mut engine = Mt19937x64::new(6);
        let skewed: Vec<u64> = (0..9).map(|_| (engine.uniform_f64(0.0, 1.0) * 8f64.ln()).exp() as u64 - 1).collect();
        assert_eq!(skewed, [4, 2, 4, 4, 1, 0, 2, 2, 0]);
    }

    #[test]
    fn fresh_seeds_differ() {
        let seeds: std::collections::HashSet<u64> = (0..1000).map(|_| fresh_seed()).collect();
        assert_eq!(seeds.len(), 1000);
    }
}
