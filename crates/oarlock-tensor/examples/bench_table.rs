//! Prints the speed and the memory of row tables: `bench_table [rows...]`, 10^6 and 10^7 rows unless told.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures and prints")]

use std::time::Instant;

use oarlock_tensor::rng::{Engine, Mt19937x64, mix};
use oarlock_tensor::table::{Admission, HashedTable, Missing, Retention, RowInit, Spec, State};

const WIDTH: usize = 10;

/// Ids of a batch: about what two trainers with 1,000 samples of 26 fields ask for.
const BATCH: usize = 26_000;

/// Batches per measurement and thread; the best of several measurements counts.
const BATCHES: usize = 40;
const TURNS: usize = 3;

fn main() {
    let mut sizes: Vec<u64> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![1_000_000, 10_000_000];
    }
    println!("width {WIDTH} with one moment, batches of {BATCH} random ids; million rows per second");
    println!(
        "{:>11} {:>7} {:>7} {:>7} {:>8} {:>8} {:>12} {:>12}",
        "rows", "create", "read", "update", "read 2T", "update 2T", "bytes/row", "resident/row"
    );
    sizes.into_iter().for_each(measure);
}

fn measure(rows: u64) {
    let before = resident();
    let table = table();
    let start = Instant::now();
    for first in (0..rows).step_by(BATCH) {
        let ids: Vec<i64> = (first..rows.min(first + BATCH as u64)).map(id).collect();
        adagrad(&table, &ids);
    }
    let create = rows as f64 / start.elapsed().as_secs_f64() / 1e6;
    let resident = resident().saturating_sub(before) as f64 / rows as f64;
    let read = |ids: &[i64], out: &mut [f32]| drop(table.read(ids, out, Missing::Zero));
    let update = |ids: &[i64], _: &mut [f32]| adagrad(&table, ids);
    let rates = [rate(rows, 1, read), rate(rows, 1, update), rate(rows, 2, read), rate(rows, 2, update)];
    let [read, update, read2, update2] = rates;
    let per_row = table.memory().per_row();
    println!(
        "{rows:>11} {create:>7.1} {read:>7.1} {update:>7.1} {read2:>8.1} {update2:>9.1} {per_row:>12.1} {resident:>12.1}"
    );
    println!("{}", table.memory());
}

fn table() -> HashedTable {
    let spec = Spec {
        name: "bench".into(),
        width: WIDTH,
        state: vec![State { width: WIDTH, initial: 0.0 }],
        init: RowInit::Uniform { min: -0.1, max: 0.1 },
        seed: 1,
        max_rows: None,
        admission: Admission::Always,
        retention: Retention::default(),
        history: 0,
    };
    HashedTable::new(spec).expect("a table that can be made")
}

/// Any 64-bit numbers, the way hashed features are.
fn id(n: u64) -> i64 {
    mix(n ^ 0x5bd1_e995) as i64
}

fn adagrad(table: &HashedTable, ids: &[i64]) {
    let f = |at: usize, weights: &mut [f32], moment: &mut [f32]| {
        let gradient = at as f32 * 1e-6;
        for (w, m) in weights.iter_mut().zip(moment) {
            *m += gradient * gradient;
            *w -= 0.01 * gradient / (m.sqrt() + 1e-6);
        }
    };
    table.update(ids, 1, f).expect("a table without a limit");
}

/// Million rows per second of all threads together.
fn rate(rows: u64, threads: u64, work: impl Fn(&[i64], &mut [f32]) + Sync) -> f64 {
    let batches = |thread: u64| -> Vec<Vec<i64>> {
        let mut engine = Mt19937x64::new(thread);
        (0..BATCHES).map(|_| distinct(&mut engine, rows)).collect()
    };
    let batches: Vec<Vec<Vec<i64>>> = (0..threads).map(batches).collect();
    let ids: usize = batches.iter().flatten().map(Vec::len).sum();
    let turn = |_| {
        let start = Instant::now();
        std::thread::scope(|s| {
            for own in &batches {
                s.spawn(|| {
                    let mut out = vec![0.0; BATCH * WIDTH];
                    own.iter().for_each(|ids| work(ids, &mut out[..ids.len() * WIDTH]));
                });
            }
        });
        ids as f64 / start.elapsed().as_secs_f64() / 1e6
    };
    (0..TURNS).map(turn).fold(0.0, f64::max)
}

/// A batch of random ids, none twice, in random order.
fn distinct(engine: &mut Mt19937x64, rows: u64) -> Vec<i64> {
    let mut numbers: Vec<u64> = (0..BATCH).map(|_| engine.draw() % rows).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut ids: Vec<i64> = numbers.into_iter().map(id).collect();
    oarlock_tensor::rng::shuffle(&mut ids, engine);
    ids
}

/// Bytes of this process in memory, as far as the system says.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}
