//! Single operators and a training step of ResNet-18 on one thread, against Fluid 1.8 in the same run.
//! Peer: `OARLOCK_PEER_FLUID` names a Python interpreter that has Fluid 1.8.
//!
//! Of every case two programs are timed: the operator followed by a mean ("forward"), and the same with gradients and an
//! update ("training"). Arguments name the cases to run; without any, all of them.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and looks at the clock")]

#[path = "bench/mod.rs"]
mod bench;

use std::time::Instant;

use bench::Peer;
use oarlock::prelude::*;

type Build = fn(&mut Net, &VarRef) -> Result<VarRef>;

/// A case: its name, which `benches/peers/ops_fluid.py` knows too, the sizes of what it works on, and the layer.
struct Case(&'static str, &'static [usize], Build);

const IMAGES: &[usize] = &[8, 64, 32, 32];

const CASES: &[Case] = &[
    Case("conv2d 3x3", IMAGES, |net, x| net.conv2d(x, Conv::new(64, 3).padding(1).bias_attr(false))),
    Case("conv2d 1x1", IMAGES, |net, x| net.conv2d(x, Conv::new(64, 1).bias_attr(false))),
    Case("conv2d 3x3 stride 2", IMAGES, |net, x| {
        net.conv2d(x, Conv::new(128, 3).stride(2).padding(1).bias_attr(false))
    }),
    Case("conv2d 3x3 small", &[8, 256, 8, 8], |net, x| net.conv2d(x, Conv::new(256, 3).padding(1).bias_attr(false))),
    Case("conv2d 7x7 stride 2", &[2, 3, 224, 224], |net, x| {
        net.conv2d(x, Conv::new(64, 7).stride(2).padding(3).bias_attr(false))
    }),
    Case("depthwise_conv2d", IMAGES, |net, x| {
        net.conv2d(x, Conv::new(64, 3).padding(1).groups(Some(64)).use_cudnn(false).bias_attr(false))
    }),
    Case("pool2d max", IMAGES, |net, x| net.pool2d(x, Pool::size(3).pool_stride(2).pool_padding(1))),
    Case("pool2d avg", IMAGES, |net, x| net.pool2d(x, Pool::size(2).avg().pool_stride(2))),
    Case("batch_norm", IMAGES, |net, x| net.batch_norm(x, BatchNorm::new())),
    Case("layer_norm", &[1024, 512], |net, x| net.layer_norm(x, LayerNorm::new())),
    Case("softmax", &[1024, 512], |net, x| net.softmax(x, -1)),
    Case("reduce_sum", &[1024, 512], |net, x| net.reduce_sum(x, Reduce::dims([1]))),
    Case("reduce_mean", &[1024, 512], |net, x| net.reduce_mean(x, Reduce::dims([0]))),
    Case("transpose2", &[64, 128, 64], |net, x| net.transpose(x, &[0, 2, 1])),
    Case("top_k", &[1024, 512], |net, x| Ok(net.topk(x, 5)?.0)),
    Case("sequence_pool", &[4096, 128], |net, x| {
        let x = net.lod_reset(x, &(0..=64).map(|i| i * 64).collect::<Vec<i32>>())?;
        net.sequence_pool(&x, "sum", false, 0.0)
    }),
    Case("lstm", &[2048, 512], |net, x| {
        let x = net.lod_reset(x, &(0..=32).map(|i| i * 64).collect::<Vec<i32>>())?;
        Ok(net.dynamic_lstm(&x, Lstm::size(512))?.0)
    }),
    Case("gru", &[2048, 384], |net, x| {
        let x = net.lod_reset(x, &(0..=32).map(|i| i * 64).collect::<Vec<i32>>())?;
        net.dynamic_gru(&x, Gru::size(128))
    }),
    Case("lookup_table", &[1000, 64], |net, x| {
        let ids = net.data("ids", Data::shape([1]).dtype(DType::I64))?;
        let found = net.embedding(&ids, Embedding::size(100_000, 64).is_sparse(true))?;
        net.elementwise_add(&found, x, Elementwise::new())
    }),
    Case("adam", &[1_000_000], |net, x| net.scale(x, Scale::by(2.0))),
    Case("resnet18 on cifar", &[32, 3, 32, 32], resnet18),
];

fn resnet18(net: &mut Net, x: &VarRef) -> Result<VarRef> {
    let mut x = conv_bn(net, x, 64, 3, 1, "relu")?;
    for (stage, channels) in [64, 128, 256, 512].into_iter().enumerate() {
        for block in 0..2 {
            let stride = if stage > 0 && block == 0 { 2 } else { 1 };
            let short = if stride == 2 { conv_bn(net, &x, channels, 1, 2, "")? } else { x.clone() };
            let inner = conv_bn(net, &x, channels, 3, stride, "relu")?;
            let inner = conv_bn(net, &inner, channels, 3, 1, "")?;
            x = net.elementwise_add(&inner, &short, Elementwise::new().act("relu"))?;
        }
    }
    let pooled = net.pool2d(&x, Pool::global().avg())?;
    net.fc(&pooled, Fc::size(10))
}

fn conv_bn(net: &mut Net, x: &VarRef, channels: usize, size: i32, stride: i32, act: &str) -> Result<VarRef> {
    let conv = Conv::new(channels, size).stride(stride).padding((size - 1) / 2).bias_attr(false);
    let x = net.conv2d(x, conv)?;
    let norm = if act.is_empty() { BatchNorm::new() } else { BatchNorm::new().act(act) };
    net.batch_norm(&x, norm)
}

fn main() -> Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let cases: Vec<&Case> = CASES.iter().filter(|c| wanted.is_empty() || wanted.iter().any(|w| w == c.0)).collect();
    let names: Vec<&str> = cases.iter().map(|c| c.0).collect();
    let peer = Peer::find("fluid 1.8", "OARLOCK_PEER_FLUID", "ops_fluid.py").and_then(|p| p.run(&names));
    let theirs = peer.map(|(rates, _)| rates.all().to_vec()).unwrap_or_default();
    println!(
        "milliseconds on one thread: oarlock, fluid 1.8, and how many times as long oarlock takes (goal: at most 1.2)"
    );
    println!("{:<22} {:>28} {:>28}", "", "forward", "training");
    for (i, case) in cases.into_iter().enumerate() {
        let mut line = format!("{:<22}", case.0);
        for (part, train) in [false, true].into_iter().enumerate() {
            let own = time(case, train)? * 1e3;
            let fluid = theirs.get(2 * i + part).map_or(f64::NAN, |rate| 1e3 / rate);
            line += &format!(" {own:>10.3} {fluid:>10.3} {:>5.2}x", own / fluid);
        }
        println!("{line}");
    }
    Ok(())
}

/// Seconds of a run: the shortest of several windows, for what else the machine does only lengthens them.
fn time(case: &Case, train: bool) -> Result<f64> {
    let mut net = Net::new();
    net.seed(1);
    let x = net.create_parameter(case.1, DType::F32, &ParamAttr::new())?;
    let out = case.2(&mut net, &x)?;
    let loss = net.mean(&out)?;
    if train && case.0 == "adam" {
        optimizer::adam(1e-3).minimize(&mut net, &loss)?;
    } else if train {
        optimizer::sgd(1e-3).minimize(&mut net, &loss)?;
    }
    let exe = Options { threads: 1, check_nan_inf: false }.executor();
    let scope = Scope::new();
    exe.run(&net.startup, &[], &[], &scope)?;
    let ids: Vec<i64> = (0..1000).map(|i| i * 7919 % 100_000).collect();
    let ids = Tensor::from_slice([1000, 1], &ids).expect("as many ids");
    let feeds = [("ids", &ids)];
    let feeds = if case.0 == "lookup_table" { &feeds[..] } else { &[] };
    let mut fetched = Vec::new();
    let mut window = |runs: usize| -> Result<f64> {
        let start = Instant::now();
        for _ in 0..runs {
            exe.run_into(&net.main, feeds, &[loss.name()], &scope, &mut fetched)?;
        }
        Ok(start.elapsed().as_secs_f64() / runs as f64)
    };
    let once = window(1)?.min(window(1)?);
    let runs = (0.05 / once).ceil().clamp(1.0, 1000.0) as usize;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        best = best.min(window(runs)?);
    }
    Ok(best)
}
