//! Data parallel on threads: replicas learn together what one run on all samples learns.

use oarlock::prelude::*;
use oarlock::replicas::{Feeds, LossScale, Replicas, joined};
use oarlock::tensor::Value;
use oarlock::{Kind, Lod};
use oarlock_testkit::{Npz, Tolerance, assert_close};

use crate::fluid::program_archive;
use crate::programs::{ATTRIBUTES, OPTIMIZERS};
use crate::train::CLOSE;

type Feed = Vec<(String, Tensor)>;

fn by_name(feed: &Feed) -> Vec<(&str, &Tensor)> {
    feed.iter().map(|(n, t)| (n.as_str(), t)).collect()
}

fn executor() -> Executor {
    Options { threads: 2, check_nan_inf: false }.executor()
}

fn floats(dims: &[usize], of: impl Fn(usize) -> f32) -> Tensor {
    let data: Vec<f32> = (0..dims.iter().product()).map(of).collect();
    Tensor::from_slice(oarlock::tensor::Dims::new(dims), &data).expect("as many elements")
}

/// A program with its state.
struct Job {
    net: Net,
    exe: Executor,
    scope: Scope,
    loss: String,
}

impl Job {
    fn new(build: impl FnOnce(&mut Net) -> Result<VarRef>) -> Job {
        let mut net = Net::new();
        net.seed(7);
        let loss = build(&mut net).unwrap_or_else(|e| panic!("{e}")).name().to_string();
        let (exe, scope) = (executor(), Scope::new());
        exe.run(&net.startup, &[], &[], &scope).expect("a start");
        Job { net, exe, scope, loss }
    }

    fn run(&self, how: &Replicas, feed: &Feed, fetches: &[&str]) -> Result<Vec<Vec<Value>>> {
        self.exe.run_replicas(&self.net.main, how, Feeds::Split(&by_name(feed)), fetches, &self.scope)
    }

    /// The losses of all replicas, or of one.
    fn step(&self, replicas: usize, feed: &Feed) -> Vec<f64> {
        let losses = match replicas {
            0 => self.exe.run(&self.net.main, &by_name(feed), &[&self.loss], &self.scope),
            n => self.run(&Replicas::new(n), feed, &[&self.loss]).map(|mut f| f.remove(0)),
        };
        losses.unwrap_or_else(|e| panic!("{e}")).iter().map(|v| v.dense().expect("a tensor").to_f64()[0]).collect()
    }

    fn state(&self) -> Vec<(String, Tensor)> {
        self.scope.names().iter().filter_map(|n| Some((n.to_string(), self.scope.tensor(n)?))).collect()
    }

    fn close_to(&self, other: &Job, tolerance: Tolerance) {
        let (a, b) = (self.state(), other.state());
        assert_eq!(a.len(), b.len());
        for ((name, a), (_, b)) in a.iter().zip(&b) {
            assert_close(name, a, b, tolerance);
        }
    }
}

fn dense(values: &[Value]) -> Vec<Vec<f64>> {
    values.iter().map(|v| v.dense().expect("a tensor").to_f64()).collect()
}

fn regression(net: &mut Net) -> Result<VarRef> {
    let (x, y) = (net.data("x", Data::shape([3]))?, net.data("y", Data::shape([1]))?);
    let hidden = net.fc(&x, Fc::size(4).act("tanh"))?;
    let predicted = net.fc(&hidden, Fc::size(1))?;
    let cost = net.square_error_cost(&predicted, &y)?;
    net.mean(&cost)
}

fn samples(n: usize) -> Feed {
    let x = floats(&[n, 3], |i| (i * 37 % 11) as f32 / 11.0 - 0.4);
    vec![("x".into(), x), ("y".into(), floats(&[n, 1], |i| (i * 13 % 7) as f32 / 7.0))]
}

/// Every optimizer, clipping, decay, parameter rates and averages: against what Fluid computed in one run on all samples.
#[test]
fn replicas_learn_what_fluid_learned_on_all_samples() {
    for (name, build) in OPTIMIZERS.iter().chain(&ATTRIBUTES) {
        let npz = program_archive(name);
        assert!(replay(name, build, 2, &npz), "{name}: pairs of samples");
        replay(name, build, 3, &npz);
        replay(name, build, 4, &npz);
    }
}

/// False if the samples of a step do not come out even.
fn replay(name: &str, build: impl FnOnce(&mut Net) -> Result<()>, replicas: usize, npz: &Npz) -> bool {
    let mut net = Net::new();
    build(&mut net).unwrap_or_else(|e| panic!("{name}: {e}"));
    let (exe, scope) = (executor(), Scope::new());
    exe.run(&net.startup, &[], &[], &scope).unwrap_or_else(|e| panic!("{name}: {e}"));
    let arrays = |prefix: &str| -> Feed {
        let strip = |n: &str| n.strip_prefix(prefix).map(|v| (v.to_string(), npz.array(n).clone()));
        npz.names().filter_map(strip).collect()
    };
    for (var, value) in arrays("init/") {
        scope.set(&var, value);
    }
    let feeds = (0..).take_while(|k| !arrays(&format!("feed{k}/")).is_empty()).count();
    for step in (0..).take_while(|s| npz.get(&format!("step{s}/fetch0")).is_some()) {
        let feed = arrays(&format!("feed{}/", step % feeds.max(1)));
        let even = feed.iter().all(|(_, t)| t.samples() % replicas == 0);
        if !even {
            return false;
        }
        let how = Replicas::new(replicas);
        let found = exe.run_replicas(&net.main, &how, Feeds::Split(&by_name(&feed)), &["mean_0.tmp_0"], &scope);
        let found = found.unwrap_or_else(|e| panic!("{name} {step}: {e}")).remove(0);
        let mean = dense(&found).iter().map(|v| v[0]).sum::<f64>() / replicas as f64;
        let expected = npz.array(&format!("step{step}/fetch0"));
        assert_close(&format!("{name}: step {step}"), &Tensor::scalar(mean as f32), expected, CLOSE);
    }
    for (var, expected) in arrays("final/") {
        let found = scope.tensor(&var).unwrap_or_else(|| panic!("{name}: `{var}` is not in the scope"));
        assert_close(&format!("{name}: {var} on {replicas} replicas"), &found, &expected, CLOSE);
    }
    true
}

#[test]
fn runs_repeat_bit_for_bit() {
    let job = || {
        let job = Job::new(|net| {
            let loss = regression(net)?;
            optimizer::adam(0.05).minimize(net, &loss)?;
            Ok(loss)
        });
        let losses: Vec<Vec<f64>> = (0..8).map(|_| job.step(3, &samples(30))).collect();
        (job.state(), losses)
    };
    assert_eq!(job(), job());
}

fn click_model(net: &mut Net) -> Result<VarRef> {
    let ids = net.checked_data("ids", &[-1, 1], DType::I64, 1)?;
    let label = net.checked_data("label", &[-1, 1], DType::I64, 0)?;
    let rows = net.embedding(&ids, Embedding::size(20, 4).is_sparse(true).param_attr(ParamAttr::name("table")))?;
    let pooled = net.sequence_pool(&rows, "sum", false, 0.0)?;
    let predicted = net.fc(&pooled, Fc::size(2).act("softmax"))?;
    let cost = net.cross_entropy(&predicted, &label, CrossEntropy::new())?;
    net.mean(&cost)
}

fn clicks() -> Feed {
    // Sequences of 3, 1, 2 and 4 ids, some of which repeat within and across replicas.
    let mut ids = Tensor::from_slice([10, 1], &[1i64, 5, 5, 7, 1, 2, 5, 9, 19, 1]).expect("ids");
    ids.set_lod(Lod::from_lengths(&[vec![3, 1, 2, 4]]));
    vec![("ids".into(), ids), ("label".into(), Tensor::from_slice([4, 1], &[1i64, 0, 0, 1]).expect("labels"))]
}

#[test]
fn sequences_are_dealt_out_and_sparse_gradients_join() {
    let build = |by: &'static str| {
        move |net: &mut Net| {
            let loss = click_model(net)?;
            match by {
                "sgd" => optimizer::sgd(0.5).minimize(net, &loss)?,
                "lazy" => optimizer::adam(0.1).lazy_mode(true).minimize(net, &loss)?,
                _ => optimizer::adagrad(0.1).minimize(net, &loss)?,
            };
            Ok(loss)
        }
    };
    for by in ["sgd", "lazy", "adagrad"] {
        let (one, two) = (Job::new(build(by)), Job::new(build(by)));
        for _ in 0..5 {
            let (joined, each) = (one.step(0, &clicks()), two.step(2, &clicks()));
            assert!((joined[0] - each.iter().sum::<f64>() / 2.0).abs() < 1e-5, "{joined:?} {each:?}");
        }
        two.close_to(&one, CLOSE);
    }
}

#[test]
fn what_is_fetched_comes_from_all_replicas() {
    let job = Job::new(|net| {
        let loss = regression(net)?;
        optimizer::sgd(0.1).minimize(net, &loss)?;
        Ok(loss)
    });
    let fetches = ["x", "fc_1.b_0@GRAD", "fc_1.b_0", "learning_rate_0"];
    let before = job.scope.tensor("fc_1.b_0").expect("a parameter").to_f64()[0];
    let found = job.run(&Replicas::new(2), &samples(5), &fetches).expect("a step");
    // The first replica has one sample more. What all have in common comes from each.
    let sizes: Vec<Vec<usize>> =
        found.iter().map(|f| f.iter().map(|v| v.dense().expect("a tensor").rows()).collect()).collect();
    assert_eq!(sizes, [[3, 2], [1, 1], [1, 1], [1, 1]]);
    let [grad, after] = [&dense(&found[1])[0], &dense(&found[2])[0]];
    assert_eq!(dense(&found[1])[1], *grad);
    assert!((after[0] - (before - 0.1 * grad[0])).abs() < 1e-6);
    assert_eq!(job.scope.tensor("fc_1.b_0").expect("a parameter").to_f64(), *after);
    let x = joined("x", found.into_iter().next().expect("x")).expect("rows");
    assert_eq!(*x.dense().expect("a tensor"), samples(5)[0].1);
}

#[test]
fn losses_count_as_wanted() {
    let grad = |scale: LossScale, feed: Feed| {
        let job = Job::new(|net| {
            let loss = regression(net)?;
            optimizer::sgd(0.1).minimize(net, &loss)?;
            Ok(loss)
        });
        let how = Replicas { scale, ..Replicas::new(2) };
        job.run(&how, &feed, &["fc_1.b_0@GRAD"]).map(|found| dense(&found[0])[0][0])
    };
    let with = |grads: [f32; 2]| {
        let mut feed = samples(4);
        feed.push(("mean_0.tmp_0@GRAD".into(), Tensor::from_slice([2], &grads).expect("two")));
        feed
    };
    let mean = grad(LossScale::Mean, samples(4)).expect("a gradient");
    let sum = grad(LossScale::Sum, samples(4)).expect("a gradient");
    assert!((sum - 2.0 * mean).abs() < 1e-6, "{sum} {mean}");
    let fed = |grads| grad(LossScale::Fed, with(grads)).expect("a gradient");
    assert!((fed([0.5, 0.5]) - mean).abs() < 1e-6);
    assert!((fed([1.0, 0.0]) + fed([0.0, 1.0]) - sum).abs() < 1e-6);
    let unfed = grad(LossScale::Fed, samples(4)).expect_err("nothing is fed").to_string();
    assert!(unfed.contains("`mean_grad` needs `mean_0.tmp_0@GRAD`, but it is not fed"), "{unfed}");
}

fn normalized(net: &mut Net) -> Result<VarRef> {
    let (x, y) = (net.data("x", Data::shape([3]))?, net.data("y", Data::shape([1]))?);
    let hidden = net.fc(&x, Fc::size(4))?;
    let hidden = net.batch_norm(&hidden, BatchNorm::new().act("relu"))?;
    let predicted = net.fc(&hidden, Fc::size(1))?;
    let cost = net.square_error_cost(&predicted, &y)?;
    let loss = net.mean(&cost)?;
    optimizer::momentum(0.1, 0.9).minimize(net, &loss)?;
    Ok(loss)
}

#[test]
fn synchronized_batch_norm_is_that_of_all_samples() {
    let (one, three, alone) = (Job::new(normalized), Job::new(normalized), Job::new(normalized));
    let how = Replicas { sync_batch_norm: true, ..Replicas::new(3) };
    for _ in 0..6 {
        one.step(0, &samples(12));
        three.run(&how, &samples(12), &[]).expect("a step");
        alone.run(&Replicas { count: 1, ..how }, &samples(12), &[]).expect("a step");
    }
    three.close_to(&one, CLOSE);
    alone.close_to(&one, Tolerance::new(0.0, 0.0));
}

#[test]
fn statistics_of_the_first_replica_are_kept() {
    let (two, first) = (Job::new(normalized), Job::new(normalized));
    two.step(2, &samples(12));
    let feed: Feed = samples(12)
        .into_iter()
        .map(|(name, t)| {
            let mut part = Tensor::new();
            part.copy_samples(&t, 0..6);
            (name, part)
        })
        .collect();
    first.step(0, &feed);
    for name in ["batch_norm_0.w_1", "batch_norm_0.w_2"] {
        assert_eq!(two.scope.tensor(name), first.scope.tensor(name), "{name}");
    }
}

/// Values that a replica wrote in the first part of a step are still its own after the update.
#[test]
fn replicas_keep_their_own_through_a_step() {
    let mut net = Net::new();
    net.seed(7);
    normalized(&mut net).expect("a network");
    let (mean, bias) = (VarRef::new("batch_norm_0.w_1", 0), VarRef::new("fc_0.b_0", 0));
    let sum = net.elementwise_add(&mean, &bias, Elementwise::new()).expect("a sum");
    let (exe, scope) = (executor(), Scope::new());
    exe.run(&net.startup, &[], &[], &scope).expect("a start");
    let names = [&mean, &bias, &sum].map(|v| v.name().as_str());
    for _ in 0..2 {
        let feed = samples(8);
        let found = exe.run_replicas(&net.main, &Replicas::new(2), Feeds::Split(&by_name(&feed)), &names, &scope);
        let found: Vec<Vec<Vec<f64>>> = found.expect("a step").iter().map(|f| dense(f)).collect();
        let (mean, bias, sum) = (&found[0], &found[1], &found[2]);
        assert_ne!(mean[0], mean[1]);
        assert_eq!(bias[0], bias[1]);
        for r in 0..2 {
            let expected = mean[r].iter().zip(&bias[r]).map(|(m, b)| (*m as f32 + *b as f32) as f64);
            assert_eq!(sum[r], expected.collect::<Vec<_>>());
        }
    }
}

#[test]
fn replicas_drop_different_elements_and_the_same_in_every_run() {
    let build = |seed: Option<i32>| {
        move |net: &mut Net| {
            let x = net.data("x", Data::shape([64]))?;
            net.dropout(&x, Dropout::prob(0.5).seed(seed))
        }
    };
    let masks = |seed: Option<i32>| {
        let mut net = Net::new();
        let out = build(seed)(&mut net).expect("a network");
        let (exe, scope) = (executor(), Scope::new());
        exe.run(&net.startup, &[], &[], &scope).expect("a start");
        exe.runtime().set_seeds(Some(5));
        let feed = vec![("x".to_string(), floats(&[2, 64], |_| 1.0))];
        let run = || {
            let how = Replicas::new(2);
            let found = exe.run_replicas(&net.main, &how, Feeds::Split(&by_name(&feed)), &[out.name()], &scope);
            dense(&found.expect("a run")[0])
        };
        (run(), run())
    };
    let (first, second) = masks(None);
    assert_ne!(first[0], first[1]);
    assert_ne!(first, second);
    assert_eq!(masks(None), (first, second));
    let (first, second) = masks(Some(3));
    assert_ne!(first[0], first[1]);
    assert_eq!(first, second);
}

/// Values that follow from the learning rate, from sums of gradients or from updated parameters, wherever they stand in the program.
#[test]
fn operators_run_where_their_inputs_are() {
    let mut net = Net::new();
    net.seed(7);
    let loss = regression(&mut net).expect("a network");
    let rate = net.exponential_decay(0.1, 1.0, 0.5, false).expect("a schedule");
    let scaled = net.elementwise_mul(&loss, &rate, Elementwise::new()).expect("a product");
    optimizer::sgd(rate.clone()).minimize(&mut net, &loss).expect("gradients");
    let (grad, bias) = (VarRef::new("fc_1.b_0@GRAD", 0), VarRef::new("fc_1.b_0", 0));
    let doubled = net.scale(&grad, Scale::by(2.0)).expect("twice the gradient");
    let shifted = net.elementwise_add(&loss, &bias, Elementwise::new()).expect("a sum");
    let (exe, scope) = (executor(), Scope::new());
    exe.run(&net.startup, &[], &[], &scope).expect("a start");
    let names = [&loss, &rate, &scaled, &grad, &doubled, &bias, &shifted].map(|v| v.name().as_str());
    for turn in 0..2 {
        let how = Replicas::new(2);
        let found = exe.run_replicas(&net.main, &how, Feeds::Split(&by_name(&samples(4))), &names, &scope);
        let found: Vec<Vec<f64>> = found.expect("a step").iter().map(|f| dense(f).concat()).collect();
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b} in {found:?}");
        let [losses, rates, scaled, grads, doubled, biases, shifted] = &found[..] else { panic!("{found:?}") };
        for r in 0..2 {
            close(rates[r], 0.1 * 0.5f64.powi(turn));
            close(scaled[r], losses[r] * rates[r]);
            close(doubled[r], 2.0 * grads[r]);
            close(shifted[r], losses[r] + biases[r]);
        }
        assert_eq!((grads[0], biases[0]), (grads[1], biases[1]));
        assert_ne!(losses[0], losses[1]);
    }
    assert_eq!(scope.tensor("@LR_DECAY_COUNTER@").expect("a counter").to_f64(), [1.0]);
}

/// Programs of other makers may not say which variables are gradients of parameters.
#[test]
fn gradients_are_known_by_where_they_go() {
    let build = |net: &mut Net| {
        let loss = regression(net)?;
        optimizer::momentum(0.1, 0.9).grad_clip(Clip::Norm(0.1)).minimize(net, &loss)?;
        Ok(loss)
    };
    let (mut unmarked, one) = (Job::new(build), Job::new(build));
    for op in &mut unmarked.net.main.global_mut().ops {
        op.attrs.remove("op_role_var");
    }
    for _ in 0..4 {
        unmarked.step(2, &samples(8));
        one.step(0, &samples(8));
    }
    unmarked.close_to(&one, CLOSE);
}

/// Wrappers add counters, branches and slow copies of parameters, some without a role that tells what they are for.
#[test]
fn wrappers_of_optimizers_run_once() {
    let lookahead = |net: &mut Net| {
        let loss = regression(net)?;
        optimizer::Lookahead::new(optimizer::sgd(0.1), 0.5, 3)?.minimize(net, &loss)?;
        Ok(loss)
    };
    let merge = |net: &mut Net| {
        let loss = regression(net)?;
        optimizer::GradientMerge::new(optimizer::momentum(0.1, 0.9), 3)?.minimize(net, &loss)?;
        Ok(loss)
    };
    for build in [&lookahead as &dyn Fn(&mut Net) -> Result<VarRef>, &merge] {
        let (two, one) = (Job::new(build), Job::new(build));
        for _ in 0..7 {
            two.step(2, &samples(8));
            one.step(0, &samples(8));
        }
        two.close_to(&one, CLOSE);
    }
    let job = Job::new(lookahead);
    let program = job.exe.replicated_program(&job.net.main, &Replicas::new(2), &["x", "y"], &[]).expect("a plan");
    let follows = program.global().ops.iter().find(|op| op.outputs.args().any(|n| n == "fc_0.w_0@SLOW"));
    assert_eq!(follows.map(|op| (op.op_type.as_str(), op.role().0)), Some(("conditional_block", 2)));
}

#[test]
fn updates_in_branches_are_refused() {
    let mut net = Net::new();
    let loss = regression(&mut net).expect("a network");
    let zero = net.fill_constant([1], DType::F32, 0.0).expect("a number");
    let good = net.less_than(&zero, &loss, Compare::new()).expect("a comparison");
    let block = CondBlock::when(&net, &good).expect("a branch");
    let bias = VarRef::new("fc_1.b_0", 0);
    let update = |net: &mut Net| {
        let op = oarlock::ir::Op::new("scale").input("X", [&bias]).output("Out", [&bias]).attr("scale", 0.5f32);
        net.append_op(op)
    };
    block.block(&mut net, update).expect("an update");
    net.main.block_mut(1).ops[0].set_role(oarlock::ir::Role::OPTIMIZE);
    let e = executor().replicated_program(&net.main, &Replicas::new(2), &["x", "y"], &[]).expect_err("refused");
    assert_eq!(e.kind(), Kind::Unsupported);
    assert!(e.to_string().contains("`conditional_block` updates parameters where only some replicas may come"), "{e}");
    assert!(e.to_string().contains("call minimize outside of branches and loops"), "{e}");
}

#[test]
fn a_failed_step_changes_nothing() {
    let job = Job::new(|net| {
        let x = net.data("x", Data::shape([3]))?;
        let label = net.data("label", Data::shape([1]).dtype(DType::I64))?;
        let hidden = net.batch_norm(&x, BatchNorm::new())?;
        let predicted = net.fc(&hidden, Fc::size(2).act("softmax"))?;
        let cost = net.cross_entropy(&predicted, &label, CrossEntropy::new())?;
        let loss = net.mean(&cost)?;
        optimizer::sgd(0.1).minimize(net, &loss)?;
        Ok(loss)
    });
    let feed = |last: i64| {
        let labels = Tensor::from_slice([4, 1], &[0, 1, 0, last]).expect("labels");
        vec![("x".to_string(), samples(4).remove(0).1), ("label".to_string(), labels)]
    };
    let before = job.state();
    for sync_batch_norm in [false, true] {
        let how = Replicas { sync_batch_norm, ..Replicas::new(2) };
        let e = job.run(&how, &feed(7), &[]).expect_err("there is no class 7");
        assert_eq!(e.kind(), Kind::Range);
        assert!(e.to_string().contains("in replica 1 of 2"), "{e}");
        assert_eq!(job.state(), before);
        job.run(&how, &feed(1), &[]).expect("a step");
        assert_ne!(job.state(), before);
        for (name, value) in &before {
            job.scope.set(name, value.clone());
        }
    }
}

#[test]
fn a_batch_too_small_to_share_is_an_error_unless_nothing_is_learned() {
    let mut net = Net::new();
    net.seed(7);
    let loss = regression(&mut net).expect("a network");
    let test = oarlock::ir::clone_for_test(&net.main).expect("a test program");
    optimizer::sgd(0.1).minimize(&mut net, &loss).expect("gradients");
    let (exe, scope) = (executor(), Scope::new());
    exe.run(&net.startup, &[], &[], &scope).expect("a start");
    let run = |program: &Program, n: usize| {
        let feed = samples(n);
        exe.run_replicas(program, &Replicas::new(3), Feeds::Split(&by_name(&feed)), &[loss.name()], &scope)
    };
    assert_eq!(
        run(&net.main, 2).unwrap_err().to_string(),
        "error[argument]: the batch has 2 samples of `x`, but 3 replicas share it\n  help: feed at least 3 samples \
         (drop a last batch that is too small), or use fewer replicas: `places`, or the environment variable CPU_NUM"
    );
    assert_eq!(run(&test, 2).expect("a test")[0].len(), 2);
    assert_eq!(run(&test, 7).expect("a test")[0].len(), 3);
}

#[test]
fn memory_of_replicas_is_reported_and_released() {
    let job = Job::new(|net| {
        let loss = regression(net)?;
        optimizer::sgd(0.1).minimize(net, &loss)?;
        Ok(loss)
    });
    job.step(2, &samples(40));
    assert!(job.exe.memory(&job.net.main).expect("it ran").peak_bytes > 0);
    job.exe.drop_temporaries(&job.net.main);
    assert_eq!(job.exe.memory(&job.net.main), None);
    job.step(2, &samples(40));
}

/// The order in which operators stand for replicas: a schedule runs with the updates, whatever stood between.
#[test]
fn what_runs_once_stands_behind_the_gradients() {
    let mut net = Net::new();
    let loss = regression(&mut net).expect("a network");
    let rate = net.exponential_decay(0.1, 1.0, 0.5, false).expect("a schedule");
    optimizer::sgd(rate).minimize(&mut net, &loss).expect("gradients");
    let exe = Options { threads: 1, check_nan_inf: true }.executor();
    let program = exe.replicated_program(&net.main, &Replicas::new(2), &["x", "y"], &[]).expect("a plan");
    let roles: Vec<i32> = program.global().ops.iter().map(|op| op.role().0).collect();
    let first_once = roles.iter().position(|r| r & (2 | 16) != 0).expect("a schedule");
    assert!(roles[..first_once].iter().any(|r| r & 1 != 0) && roles[first_once..].iter().all(|r| r & (2 | 16) != 0));
    let loss_grad = program.global().ops.iter().find(|op| op.role().0 == 257).expect("the start of the gradient");
    assert_eq!(loss_grad.attrs.get("value"), Some(&oarlock::ir::Attr::Float(0.5)));
}
