//! The networks that clusters train, and their data.

use std::path::Path;

use oarlock::data::{CriteoOptions, Format, SlotSpec, SlotType, criteo_slots, write_criteo};
use oarlock::ir::Shape;
use oarlock::prelude::*;

const SAMPLES: u64 = 200_000;
const FILES: usize = 4;
const VOCABULARY: usize = 100_000;
const WIDTH: usize = 300;
const NEGATIVES: usize = 5;

/// The networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    Ctr,
    Word2vec,
}

/// A network with its optimizer.
pub(crate) struct Built {
    pub(crate) net: Net,
    /// The counts behind the AUC, positive and negative, if there is one.
    pub(crate) counts: Vec<String>,
}

impl Network {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Network::Ctr => "ctr",
            Network::Word2vec => "word2vec",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Network> {
        [Network::Ctr, Network::Word2vec].into_iter().find(|n| n.name() == name)
    }

    /// Samples of a batch.
    pub(crate) fn batch(self) -> usize {
        match self {
            Network::Ctr => 1000,
            Network::Word2vec => 100,
        }
    }

    /// Steps between two exchanges of GEO.
    pub(crate) fn push_nums(self) -> usize {
        match self {
            Network::Ctr => 100,
            Network::Word2vec => 400,
        }
    }

    pub(crate) fn build(self, optimizer: &str, seed: i32) -> Result<Built> {
        let mut net = Net::new();
        net.seed(seed);
        let (loss, counts) = match self {
            Network::Ctr => ctr(&mut net)?,
            Network::Word2vec => (word2vec(&mut net)?, Vec::new()),
        };
        match (optimizer, self) {
            ("adam", _) => optimizer::adam(1e-4).lazy_mode(true).minimize(&mut net, &loss)?,
            (_, Network::Ctr) => optimizer::sgd(0.1).minimize(&mut net, &loss)?,
            (_, Network::Word2vec) => optimizer::sgd(0.025).minimize(&mut net, &loss)?,
        };
        Ok(Built { net, counts })
    }

    pub(crate) fn format(self) -> Result<Format> {
        Ok(Format::strict(match self {
            Network::Ctr => criteo_slots()?,
            Network::Word2vec => [("x", 1), ("y", 1), ("neg", NEGATIVES as i64)]
                .into_iter()
                .map(|(name, count)| SlotSpec::dense(name, SlotType::Id, Shape::from_i64(&[-1, count])))
                .collect::<Result<_>>()?,
        }))
    }

    /// Writes files to train on.
    pub(crate) fn write(self, dir: &Path) -> Result<()> {
        match self {
            Network::Ctr => {
                write_criteo(dir, CriteoOptions { samples: SAMPLES, files: FILES as u64, seed: 1 }).map(drop)
            }
            Network::Word2vec => write_pairs(dir).map_err(|e| oarlock::Error::new(oarlock::Kind::Io, e.to_string())),
        }
    }
}

fn ctr(net: &mut Net) -> Result<(VarRef, Vec<String>)> {
    let label = net.checked_data("label", &[-1, 1], DType::I64, 0)?;
    let mut features = vec![net.checked_data("dense", &[-1, 13], DType::F32, 0)?];
    for i in 1..=26 {
        let ids = net.checked_data(&format!("C{i}"), &[-1, 1], DType::I64, 0)?;
        let first = ParamAttr::name("SparseFeatFactors").initializer(Initializer::uniform(-0.05, 0.05));
        features.push(net.embedding(&ids, Embedding::size(1_000_001, 10).is_sparse(true).param_attr(first))?);
    }
    let mut x = net.concat(&features.iter().collect::<Vec<_>>(), 1)?;
    for width in [273.0f64, 400.0, 400.0] {
        let first = ParamAttr::new().initializer(Initializer::normal(0.0, 1.0 / width.sqrt()));
        x = net.fc(&x, Fc::size(400).act("relu").param_attr(first))?;
    }
    let last = ParamAttr::new().initializer(Initializer::normal(0.0, 0.05));
    let predicted = net.fc(&x, Fc::size(2).act("softmax").param_attr(last))?;
    let cost = net.cross_entropy(&predicted, &label, CrossEntropy::new())?;
    let loss = net.mean(&cost)?;
    net.auc(&predicted, &label, Auc::new().num_thresholds(4096).slide_steps(20))?;
    // The first `auc` of a program counts the batches of a window, the second all of them.
    let all = net.main.global().ops.iter().rev().find(|op| op.op_type == "auc");
    let counts = all
        .map(|op| ["StatPos", "StatNeg"].iter().flat_map(|slot| op.inputs.get(slot)).map(|n| n.to_string()).collect());
    Ok((loss, counts.unwrap_or_default()))
}

/// Skip-gram with negative samples.
fn word2vec(net: &mut Net) -> Result<VarRef> {
    let word = net.checked_data("x", &[-1, 1], DType::I64, 0)?;
    let context = net.checked_data("y", &[-1, 1], DType::I64, 0)?;
    let wrong = net.checked_data("neg", &[-1, NEGATIVES as i64], DType::I64, 0)?;
    let range = 0.5 / WIDTH as f64;
    let of_word = rows(net, &word, "emb", WIDTH, Initializer::uniform(-range, range))?;
    let of_word = net.reshape(&of_word, Reshape::shape([-1, 1, WIDTH as i64]))?;
    let right = cost(net, &of_word, &context, 1, 1.0)?;
    let wrong = cost(net, &of_word, &wrong, NEGATIVES, 0.0)?;
    let both = net.elementwise_add(&right, &wrong, Elementwise::new())?;
    net.mean(&both)
}

fn rows(net: &mut Net, ids: &VarRef, name: &str, width: usize, first: Initializer) -> Result<VarRef> {
    let attr = ParamAttr::name(name).initializer(first);
    net.embedding_v2(ids, Embedding::size(VOCABULARY, width).is_sparse(true).param_attr(attr))
}

fn cost(net: &mut Net, word: &VarRef, ids: &VarRef, count: usize, label: f64) -> Result<VarRef> {
    let zero = || Initializer::constant(0.0);
    let others = rows(net, ids, "emb_w", WIDTH, zero())?;
    let others = net.reshape(&others, Reshape::shape([-1, count as i64, WIDTH as i64]))?;
    let bias = rows(net, ids, "emb_b", 1, zero())?;
    let bias = net.reshape(&bias, Reshape::shape([-1, count as i64]))?;
    let scores = net.matmul(word, &others, MatMul::new().transpose_y(true))?;
    let scores = net.reshape(&scores, Reshape::shape([-1, count as i64]))?;
    let scores = net.elementwise_add(&scores, &bias, Elementwise::new())?;
    let label = net.fill_constant_batch_size_like(&scores, &[-1, count as i32], DType::F32, label, (0, 0))?;
    let cost = net.sigmoid_cross_entropy_with_logits(&scores, &label, None, false)?;
    net.reduce_sum(&cost, Reduce::dims([1]).keep_dim(true))
}

/// Pairs of words of a Zipf distribution, each word with a neighbour of its own number range and with words at random.
fn write_pairs(dir: &Path) -> std::io::Result<()> {
    use std::io::Write;
    const PAIRS: usize = 75_000;
    std::fs::create_dir_all(dir)?;
    let mut state = 1u64;
    let mut uniform = || {
        // A step of splitmix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 11) as f64 / (1u64 << 53) as f64
    };
    // The inverse of the distribution with density 1/x.
    let mut word = || ((VOCABULARY as f64).powf(uniform()) as usize).min(VOCABULARY - 1);
    for file in 0..FILES {
        let mut out = std::io::BufWriter::new(std::fs::File::create(dir.join(format!("part-{file:05}")))?);
        for _ in 0..PAIRS {
            let x = word();
            write!(out, "1 {x} 1 {} {NEGATIVES}", (x + word() % 8) % VOCABULARY)?;
            for _ in 0..NEGATIVES {
                write!(out, " {}", word())?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}
