//! Shared by the twins of Python examples: numpy's random numbers, so that both train on the same data, and feeding.

#![allow(dead_code, reason = "each example uses what it needs")]

use oarlock::prelude::*;

const STATE: usize = 624;

/// `numpy.random.RandomState`: the Mersenne Twister, and numpy's ways to draw from it.
pub(crate) struct RandomState {
    state: [u32; STATE],
    used: usize,
    /// Normal numbers come in pairs.
    spare: Option<f64>,
}

impl RandomState {
    /// With a seed.
    pub(crate) fn new(seed: u32) -> RandomState {
        let mut state = [seed; STATE];
        for i in 1..STATE {
            let last = state[i - 1];
            state[i] = (last ^ (last >> 30)).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        RandomState { state, used: STATE, spare: None }
    }

    fn draw(&mut self) -> u32 {
        if self.used == STATE {
            self.twist();
        }
        let mut y = self.state[self.used];
        self.used += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    fn twist(&mut self) {
        for i in 0..STATE {
            let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % STATE] & 0x7fff_ffff);
            let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + 397) % STATE] ^ (y >> 1) ^ odd;
        }
        self.used = 0;
    }

    /// `rand()`: in `[0, 1)`.
    pub(crate) fn rand(&mut self) -> f64 {
        let (high, low) = (self.draw() >> 5, self.draw() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }

    /// `uniform(low, high)`
    pub(crate) fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.rand()
    }

    /// `randint(low, high)`
    pub(crate) fn randint(&mut self, low: i64, high: i64) -> i64 {
        let range = (high - low - 1) as u32;
        let mask = u32::MAX.checked_shr(range.leading_zeros()).unwrap_or(0);
        loop {
            let drawn = self.draw() & mask;
            if drawn <= range {
                return low + i64::from(drawn);
            }
        }
    }

    /// `normal(mean, deviation)`
    pub(crate) fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        let unit = self.spare.take().unwrap_or_else(|| {
            loop {
                let (x, y) = (2.0 * self.rand() - 1.0, 2.0 * self.rand() - 1.0);
                let r = x * x + y * y;
                if r < 1.0 && r != 0.0 {
                    let factor = (-2.0 * r.ln() / r).sqrt();
                    self.spare = Some(factor * x);
                    break factor * y;
                }
            }
        });
        mean + deviation * unit
    }
}

/// A tensor of rows of equal width.
pub(crate) fn rows<T: oarlock_tensor::Element>(width: usize, data: &[T]) -> Tensor {
    Tensor::from_slice([data.len() / width, width], data).expect("whole rows")
}

/// Runs a program once; returns the one number that is fetched.
pub(crate) fn step(
    exe: &Executor,
    program: &Program,
    feeds: &[(&str, &Tensor)],
    fetch: &VarRef,
    scope: &Scope,
) -> Result<f64> {
    Ok(exe.run_tensors(program, feeds, &[fetch.name()], scope)?[0].to_f64()[0])
}
