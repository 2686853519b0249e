//! Damaged files are errors with a place, never a panic.

use oarlock_ir::{Kind, Program, clone_for_test, prune, verify};

use crate::support::committed;

/// Damaged copies that are tried.
const TRIES: usize = 20_000;

const FILES: [&str; 6] = [
    "fit_a_line.main",
    "fit_a_line_decay.pserver",
    "while_sum_arrays.main",
    "ifelse.main",
    "py_reader.main",
    "release_2_6.infer",
];

/// A small generator of numbers (SplitMix64): the same damage in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len());
    match random.below(6) {
        0 => bytes.truncate(at),
        1 => bytes[at] ^= 1 << random.below(8),
        2 => bytes[at] = random.next() as u8,
        3 => bytes.insert(at, random.next() as u8),
        4 => drop(bytes.remove(at)),
        _ => {
            let other = random.below(bytes.len());
            bytes.swap(at, other);
        }
    }
}

#[test]
fn damaged_programs_never_panic() {
    let files: Vec<Vec<u8>> = FILES.iter().map(|name| committed(name)).collect();
    let mut random = Random(7);
    let (mut decoded, mut verified) = (0, 0);
    for i in 0..TRIES {
        let mut bytes = files[i % files.len()].clone();
        for _ in 0..=random.below(3) {
            if !bytes.is_empty() {
                damage(&mut bytes, &mut random);
            }
        }
        match Program::from_bytes(&bytes) {
            Err(e) => assert_eq!(e.kind(), Kind::Format, "{e}"),
            Ok(program) => {
                decoded += 1;
                verified += usize::from(use_it(&program));
            }
        }
    }
    eprintln!("{TRIES} damaged programs: {decoded} can be read, {verified} of them keep the rules");
    // The damage must be of every degree, or the test tests little.
    assert!(decoded > TRIES / 20 && decoded < TRIES * 19 / 20 && verified > 0 && verified < decoded);
}

/// Does with a program what can be done with any; does it keep the rules?
fn use_it(program: &Program) -> bool {
    assert!(!program.to_text().is_empty());
    let again = Program::from_bytes(&program.to_bytes()).expect("what was written can be read");
    assert_eq!(again.to_text(), program.to_text());
    let good = verify(program, None).is_ok();
    assert_eq!(clone_for_test(program).is_ok(), good);
    let targets: Vec<&str> =
        program.global().ops.iter().rev().take(1).flat_map(|op| op.outputs.args()).map(|n| n.as_str()).collect();
    // Whether the target exists does not matter here.
    let _ = prune(program, &[], &targets);
    good
}

#[test]
fn damaged_text_never_panics() {
    let text = Program::from_bytes(&committed("while_sum_arrays.main")).unwrap().to_text();
    let mut random = Random(9);
    for _ in 0..TRIES / 20 {
        let mut bytes = text.clone().into_bytes();
        damage(&mut bytes, &mut random);
        if let Err(e) = Program::from_text(&String::from_utf8_lossy(&bytes)) {
            assert_eq!(e.kind(), Kind::Format, "{e}");
        }
    }
}

#[test]
fn an_error_says_where() {
    let whole = committed("while_sum_arrays.main");
    let error = Program::from_bytes(&whole[..3000]).unwrap_err().to_string();
    assert!(error.starts_with("error[format]: this is not a program: "), "{error}");
}
