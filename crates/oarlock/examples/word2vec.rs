//! Word vectors from an n-gram model: the twin of `examples/word2vec.py`, which reaches the same (docs/models.md).
//!
//! `cargo run --release -p oarlock --example word2vec`
#![expect(clippy::print_stdout, reason = "an example prints for its user")]

#[path = "twin/mod.rs"]
mod twin;

use oarlock::prelude::*;
use twin::{RandomState, rows, step};

const WORDS: i64 = 60;
const EMBED: usize = 32;
const HIDDEN: usize = 128;
const N: usize = 5;
const BATCH: usize = 100;
const EPOCHS: usize = 8;
const NAMES: [&str; N] = ["firstw", "secondw", "thirdw", "fourthw", "nextw"];

fn main() -> Result<()> {
    oarlock::init_logging()?;
    println!("metric: test_cross_entropy {:.6}", train()?);
    Ok(())
}

/// Trains; returns the cross entropy on text it has not seen.
pub(crate) fn train() -> Result<f64> {
    let mut net = Net::new();
    net.seed(90);
    let loss = build(&mut net)?;
    let test = oarlock::ir::clone_for_test(&net.main)?;
    optimizer::adam(0.01).minimize(&mut net, &loss)?;

    let (exe, scope) = (Options::from_env()?.executor(), Scope::new());
    exe.run(&net.startup, &[], &[], &scope)?;
    let mut random = RandomState::new(13);
    let (train, held_out) = (batches(&text(6000, &mut random)), batches(&text(1500, &mut random)));
    for _ in 0..EPOCHS {
        for batch in &train {
            run(&exe, &net.main, batch, &loss, &scope)?;
        }
    }
    let losses = held_out.iter().map(|batch| run(&exe, &test, batch, &loss, &scope)).collect::<Result<Vec<f64>>>()?;
    Ok(losses.iter().sum::<f64>() / losses.len() as f64)
}

fn build(net: &mut Net) -> Result<VarRef> {
    let words = NAMES.iter().map(|name| net.checked_data(name, &[-1, 1], DType::I64, 0)).collect::<Result<Vec<_>>>()?;
    let (next, before) = words.split_last().expect("five words");
    let mut embeds = Vec::new();
    for word in before {
        let ids = net.reshape(word, Reshape::shape(vec![-1i64]))?;
        let table = Embedding::size(WORDS as usize, EMBED).is_sparse(true).param_attr(ParamAttr::name("shared_w"));
        embeds.push(net.embedding_v2(&ids, table)?);
    }
    let joined = net.concat(&embeds.iter().collect::<Vec<_>>(), 1)?;
    let hidden = net.fc(&joined, Fc::size(HIDDEN).act("sigmoid"))?;
    let predicted = net.fc(&hidden, Fc::size(WORDS as usize).act("softmax"))?;
    let cost = net.cross_entropy(&predicted, next, CrossEntropy::new())?;
    net.mean(&cost)
}

/// A made text: four times out of five, the next word follows from the last two.
fn text(count: usize, random: &mut RandomState) -> Vec<i64> {
    let mut rule = RandomState::new(5);
    let follower: Vec<i64> = (0..WORDS * 4).map(|_| rule.randint(0, WORDS)).collect();
    let mut words: Vec<i64> = (0..2).map(|_| random.randint(0, WORDS)).collect();
    while words.len() < count {
        let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
        let follows = random.rand() < 0.8;
        words.push(if follows { follower[(last * 4 + before % 4) as usize] } else { random.randint(0, WORDS) });
    }
    words
}

/// Windows of N words in batches, one tensor per position.
fn batches(words: &[i64]) -> Vec<[Tensor; N]> {
    let windows = words.len() - N + 1;
    let column = |start: usize, at: usize| rows(1, &words[start + at..start + at + BATCH]);
    (0..windows / BATCH).map(|b| std::array::from_fn(|at| column(b * BATCH, at))).collect()
}

fn run(exe: &Executor, program: &Program, batch: &[Tensor; N], loss: &VarRef, scope: &Scope) -> Result<f64> {
    let feeds: Vec<(&str, &Tensor)> = NAMES.into_iter().zip(batch).collect();
    step(exe, program, &feeds, loss, scope)
}
