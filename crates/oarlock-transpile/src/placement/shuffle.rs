//! The order in which whole variables are dealt out.
//!
//! Variables that are not partitioned differ in size, and neighbours (weights and biases) would always fall on the same servers,
//! so they are shuffled first: as `numpy.random.shuffle` does after `numpy.random.seed(program.random_seed)`, because a
//! job may be joined by processes that decide with it.

const WORDS: usize = 624;
const MIDDLE: usize = 397;

/// The indices `0..len`, shuffled.
pub fn shuffle(len: usize, seed: u32) -> Vec<usize> {
    let mut random = Mt19937::new(seed);
    let mut order: Vec<usize> = (0..len).collect();
    for i in (1..len).rev() {
        order.swap(i, random.up_to(i));
    }
    order
}

/// The Mersenne twister, with numpy's first way of seeding.
struct Mt19937 {
    state: [u32; WORDS],
    next: usize,
}

impl Mt19937 {
    fn new(seed: u32) -> Mt19937 {
        let mut state = [seed; WORDS];
        for i in 1..WORDS {
            let last = state[i - 1];
            state[i] = 1_812_433_253u32.wrapping_mul(last ^ (last >> 30)).wrapping_add(i as u32);
        }
        Mt19937 { state, next: WORDS }
    }

    fn refill(&mut self) {
        for i in 0..WORDS {
            let joined = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % WORDS] & 0x7fff_ffff);
            let twist = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + MIDDLE) % WORDS] ^ (joined >> 1) ^ twist;
        }
        self.next = 0;
    }

    fn draw(&mut self) -> u32 {
        if self.next == WORDS {
            self.refill();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// A number from 0 to `max`, all equally likely: draws are truncated to as many bits as `max` has until one fits.
    fn up_to(&mut self, max: usize) -> usize {
        let mask = (max + 1).next_power_of_two() - 1;
        loop {
            let drawn = self.draw() as usize & mask;
            if drawn <= max {
                return drawn;
            }
        }
    }
}

#[test]
fn as_numpy_shuffles() {
    assert_eq!(shuffle(10, 90), [8, 1, 0, 6, 5, 9, 4, 7, 3, 2]);
    assert_eq!(shuffle(5, 0), [2, 0, 1, 3, 4]);
    assert_eq!(shuffle(1, 7), [0]);
    assert_eq!(shuffle(0, 7), [0usize; 0]);
}
