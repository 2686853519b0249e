//! Made digits with a perceptron: the twin of `examples/recognize_digits.py mlp`, which reaches the same (docs/models.md).
//!
//! `cargo run --release -p oarlock --example recognize_digits`
#![expect(clippy::print_stdout, reason = "an example prints for its user")]

#[path = "twin/mod.rs"]
mod twin;

use oarlock::prelude::*;
use twin::{RandomState, rows, step};

const SIDE: usize = 28;
const PIXELS: usize = SIDE * SIDE;
const BATCH: usize = 64;
const EPOCHS: usize = 6;

fn main() -> Result<()> {
    oarlock::init_logging()?;
    println!("metric: test_accuracy {:.6}", train()?);
    Ok(())
}

/// Trains; returns the share of digits it has not seen that it names rightly.
pub(crate) fn train() -> Result<f64> {
    let mut net = Net::new();
    net.seed(90);
    let image = net.checked_data("img", &[-1, PIXELS as i64], DType::F32, 0)?;
    let label = net.checked_data("label", &[-1, 1], DType::I64, 0)?;
    let mut x = net.fc(&image, Fc::size(200).act("tanh"))?;
    x = net.fc(&x, Fc::size(200).act("tanh"))?;
    let predicted = net.fc(&x, Fc::size(10).act("softmax"))?;
    let cost = net.cross_entropy(&predicted, &label, CrossEntropy::new())?;
    let loss = net.mean(&cost)?;
    let accuracy = net.accuracy(&predicted, &label, 1)?;
    let test = oarlock::ir::clone_for_test(&net.main)?;
    optimizer::adam(0.001).minimize(&mut net, &loss)?;

    let (exe, scope) = (Options::from_env()?.executor(), Scope::new());
    exe.run(&net.startup, &[], &[], &scope)?;
    let mut random = RandomState::new(11);
    let (train, held_out) = (digits(1280, &mut random), digits(640, &mut random));
    for _ in 0..EPOCHS {
        for (images, labels) in train.batches() {
            step(&exe, &net.main, &[("img", &images), ("label", &labels)], &loss, &scope)?;
        }
    }
    let mut right = 0.0;
    for (images, labels) in held_out.batches() {
        right += step(&exe, &test, &[("img", &images), ("label", &labels)], &accuracy, &scope)? * labels.rows() as f64;
    }
    Ok(right / held_out.labels.len() as f64)
}

struct Digits {
    images: Vec<f32>,
    labels: Vec<i64>,
}

impl Digits {
    fn batches(&self) -> impl Iterator<Item = (Tensor, Tensor)> {
        let batches = self.images.chunks(BATCH * PIXELS).zip(self.labels.chunks(BATCH));
        batches.map(|(images, labels)| (rows(PIXELS, images), rows(1, labels)))
    }
}

/// Ten blurred shapes, shifted by up to two pixels and covered with noise.
fn digits(count: usize, random: &mut RandomState) -> Digits {
    let mut rule = RandomState::new(3);
    let blocks: Vec<f64> = (0..10 * 49).map(|_| if rule.rand() > 0.5 { 1.0 } else { -1.0 }).collect();
    let labels: Vec<i64> = (0..count).map(|_| random.randint(0, 10)).collect();
    let shifts: Vec<[i64; 2]> = (0..count).map(|_| [random.randint(-2, 3), random.randint(-2, 3)]).collect();
    let mut images = Vec::with_capacity(count * PIXELS);
    for (label, [down, right]) in labels.iter().zip(shifts) {
        let shape = &blocks[*label as usize * 49..][..49];
        let moved = |at: usize, by: i64| (at as i64 - by).rem_euclid(SIDE as i64) as usize / 4;
        for row in 0..SIDE {
            for column in 0..SIDE {
                let pixel = shape[moved(row, down) * 7 + moved(column, right)] + random.normal(0.0, 1.5);
                images.push(pixel.clamp(-1.0, 1.0) as f32);
            }
        }
    }
    Digits { images, labels }
}
