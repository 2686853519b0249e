//! Prints the speed of matrix products at the shapes that training uses: `gemm_rates [threads]`.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures and prints")]

use std::hint::black_box;
use std::time::Instant;

use oarlock_tensor::Pool;
use oarlock_tensor::gemm::{Mat, gemm};

/// The name of a shape, its m, k, n, and which operand is stored transposed.
type Shape = (&'static str, usize, usize, usize, &'static str);

const SHAPES: &[Shape] = &[
    ("layer", 1000, 273, 400, ""),
    ("layer", 1000, 400, 400, ""),
    ("weight gradient", 273, 1000, 400, "a"),
    ("weight gradient", 400, 1000, 400, "a"),
    ("input gradient", 1000, 400, 273, "b"),
    ("input gradient", 1000, 400, 400, "b"),
    ("layer, batch 32", 32, 400, 400, ""),
    ("convolution", 6, 25, 784, ""),
    ("convolution", 16, 150, 100, ""),
    ("cube", 1024, 1024, 1024, ""),
    ("logits", 1000, 400, 2, ""),
    ("weight gradient", 400, 1000, 2, "a"),
    ("input gradient", 1000, 2, 400, "b"),
    ("logits", 1000, 400, 10, ""),
    ("weight gradient", 400, 1000, 10, "a"),
    ("input gradient", 1000, 10, 400, "b"),
    ("one row", 1, 400, 400, ""),
    ("one row", 1, 400, 400, "b"),
    ("four rows", 4, 400, 400, ""),
    ("four rows", 4, 400, 400, "b"),
    ("eight rows", 8, 400, 400, ""),
    ("eight rows", 8, 400, 400, "b"),
    ("one word", 1, 300, 1, "b"),
    ("five words", 1, 300, 5, "b"),
    ("fit a line", 20, 13, 1, ""),
    ("weight gradient", 13, 20, 1, "a"),
    ("input gradient", 20, 1, 13, "b"),
    ("small", 8, 8, 8, ""),
    ("small", 16, 16, 16, ""),
    ("small", 32, 32, 32, ""),
];

fn main() {
    let threads = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1);
    let pool = Pool::new(threads);
    println!("{threads} thread(s)");
    for &(what, m, k, n, transposed) in SHAPES {
        let seconds = time(&pool, (m, k, n), transposed);
        let flop = 2.0 * (m * k * n) as f64;
        let rate = flop / seconds / 1e9;
        println!("{what:16} {m:5} x {k:4} x {n:4} {transposed:2} {rate:7.1} GFLOP/s {:10.2} us", seconds * 1e6);
    }
}

/// The best time of one product.
fn time(pool: &Pool, (m, k, n): (usize, usize, usize), transposed: &str) -> f64 {
    let (a, b, mut c) = (vec![0.5f32; m * k], vec![0.25f32; k * n], vec![0.0f32; m * n]);
    let a = if transposed == "a" { Mat::new(&a, k, m).t() } else { Mat::new(&a, m, k) };
    let b = if transposed == "b" { Mat::new(&b, n, k).t() } else { Mat::new(&b, k, n) };
    let calls = (2_000_000 / (m * k * n)).clamp(1, 1000);
    let rounds = (400_000_000 / (m * k * n * calls)).clamp(10, 200);
    (0..rounds).fold(f64::MAX, |best, _| {
        let start = Instant::now();
        for _ in 0..calls {
            gemm(pool, black_box(&mut c), black_box(a), black_box(b), 1.0, 0.0);
        }
        best.min(start.elapsed().as_secs_f64() / calls as f64)
    })
}
