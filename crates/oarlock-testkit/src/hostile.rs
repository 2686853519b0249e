//! Attacks on parsers: changed copies of good bytes, for as long as there is time. Whatever comes, a parser returns an error or a
//! value, and takes little memory.

use std::time::{Duration, Instant};

use crate::allocations::most_allocated;

/// No input makes a parser allocate more.
const MOST: usize = 64 << 20;

/// Changed inputs that are changed further.
const CORPUS: usize = 256;

/// Random numbers that are the same in every run (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Changes a few places as a bad disk or a bad mind would.
fn mutate(good: &[u8], r: &mut Random) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for _ in 0..=r.below(4) {
        if bytes.is_empty() {
            return bytes;
        }
        let at = r.below(bytes.len());
        let n = r.below(9).min(bytes.len() - at);
        match r.below(7) {
            0 => bytes[at] ^= 1 << r.below(8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][r.below(5)],
            2 => bytes[at..at + n].fill([0, 0xff, 0x7f][r.below(3)]),
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(at..at + n)),
            5 => {
                let copy = bytes[at..at + n].to_vec();
                let to = r.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            _ => bytes.insert(at, r.next() as u8),
        }
    }
    bytes
}

/// How long each parser is attacked: `cargo xtask fuzz` asks for longer.
#[expect(clippy::disallowed_methods, reason = "how a test tells its child process what to do")]
fn patience() -> Duration {
    let seconds = std::env::var("OARLOCK_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    seconds.map_or(Duration::from_millis(150), Duration::from_secs_f64)
}

/// Attacks a parser with changed copies of good bytes, and with changed copies of those that passed for good. `parse` says whether it
/// took them. To be run in a process of its own: the memory of other tests would count.
#[expect(clippy::disallowed_methods, reason = "looks at the clock to know when to stop")]
pub fn attack(name: &str, good: &[u8], parse: impl Fn(&[u8]) -> bool) {
    assert!(parse(good), "{name}: the seed itself");
    let (start, mut r, mut corpus) = (Instant::now(), Random(name.len() as u64), vec![good.to_vec()]);
    let (mut tried, mut refused, mut most) = (0usize, 0usize, 0);
    while start.elapsed() < patience() {
        let bytes = mutate(&corpus[r.below(corpus.len())], &mut r);
        let (passed, allocated) = most_allocated(|| parse(&bytes));
        assert!(allocated <= MOST, "{name}: {} MB for {} bytes: {bytes:?}", allocated >> 20, bytes.len());
        (tried, most) = (tried + 1, most.max(allocated));
        refused += usize::from(!passed);
        // Of about the same size: what is nearly empty passes often and tries little.
        if passed && corpus.len() < CORPUS && (good.len() / 2..2 * good.len()).contains(&bytes.len()) {
            corpus.push(bytes);
        }
    }
    eprintln!("{name:<12} {tried:>9} inputs, {refused:>9} refused, at most {:>6} kB allocated", most >> 10);
    assert!(refused > tried / 20, "{name}: only {refused} of {tried} were refused");
}

/// Runs the test called `child` of this binary in a process of its own, with the variable `name` set, and shows what it prints.
pub fn in_own_process(child: &str, name: &str) {
    let exe = std::env::current_exe().expect("a test knows its binary");
    let mut command = std::process::Command::new(exe);
    let out = command.args(["--exact", child, "--nocapture"]).env(name, "1").output().expect("it can be started");
    let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{text}");
    eprintln!("{text}");
}
