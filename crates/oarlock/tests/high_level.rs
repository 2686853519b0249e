//! Trainers, from building a network to going on after a kill.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use oarlock::high_level::{Batch, CheckpointConfig, Event, Inferencer, Trainer, TrainerSetup};
use oarlock::io::{Checkpoints, Local};
use oarlock::prelude::*;
use oarlock::{Kind, Predictor};

const EPOCHS: u64 = 3;
const STEPS: u64 = 7;

/// Tells the child process where its checkpoints are, and after which step it kills itself.
const CHILD: &str = "OARLOCK_TEST_TRAINER";

struct TempDir(PathBuf);

impl TempDir {
    fn new(name: &str) -> TempDir {
        TempDir(std::env::temp_dir().join(format!("oarlock-high-level-{}-{name}", std::process::id())))
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // Only scratch files; what cannot be deleted is left to the system.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A regression with momentum, which has state, and with dropout, which draws random numbers.
fn build(net: &mut Net) -> Result<Vec<VarRef>> {
    let y = predict(net)?;
    let label = net.data("y", Data::shape([1]))?;
    let cost = net.square_error_cost(&y, &label)?;
    Ok(vec![net.mean(&cost)?])
}

fn predict(net: &mut Net) -> Result<VarRef> {
    let x = net.data("x", Data::shape([4]))?;
    let hidden = net.fc(&x, Fc::size(8).act("relu"))?;
    let kept = net.dropout(&hidden, Dropout::prob(0.3))?;
    net.fc(&kept, Fc::size(1))
}

fn trainer(checkpoints: Option<&Path>) -> Result<Trainer> {
    let checkpoints = checkpoints.map(|dir| CheckpointConfig {
        max_num: 2,
        step_interval: 2,
        ..CheckpointConfig::new(dir.to_string_lossy())
    });
    let setup = TrainerSetup { options: Options { threads: 1, check_nan_inf: false }, params: None, checkpoints };
    Trainer::new(build, optimizer::momentum(0.01, 0.9), setup)
}

/// The batches of an epoch: numbers that depend on epoch and step alone.
fn reader(epoch: u64) -> impl Iterator<Item = Result<Batch>> {
    (0..STEPS).map(move |step| {
        let at = |i: u64| ((epoch * 131 + step * 17 + i) % 23) as f32 / 23.0 - 0.5;
        let x: Vec<f32> = (0..20).map(at).collect();
        let y: Vec<f32> = x.chunks(4).map(|r| r[0] - 2.0 * r[3]).collect();
        let tensor = |sizes: [usize; 2], data: &[f32]| Tensor::from_slice(sizes, data).expect("sizes that fit");
        Ok(vec![("x".to_string(), tensor([5, 4], &x)), ("y".to_string(), tensor([5, 1], &y))])
    })
}

/// All variables, bit by bit.
fn state(trainer: &Trainer) -> Vec<(String, Vec<u8>)> {
    let names = trainer.scope().names();
    let bits = |n: &oarlock::ir::Name| Some((n.to_string(), trainer.scope().tensor(n)?.bytes().to_vec()));
    names.iter().filter_map(bits).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how a test tells its child process what to do")]
fn child() {
    let Ok(order) = std::env::var(CHILD) else { return };
    let [dir, epoch, step] = order.split('|').collect::<Vec<_>>()[..] else { panic!("{order}") };
    let last: (u64, u64) = (epoch.parse().unwrap(), step.parse().unwrap());
    let mut trainer = trainer(Some(Path::new(dir))).unwrap();
    let kill = |event: Event<'_>| {
        if matches!(event, Event::EndStep { epoch, step, .. } if (epoch, step) == last) {
            Command::new("kill").args(["-9", &std::process::id().to_string()]).status().unwrap();
        }
        ControlFlow::Continue(())
    };
    trainer.train(EPOCHS, reader, kill).unwrap();
}

/// Trains in another process, which is killed after a step.
fn killed_after(dir: &Path, epoch: u64, step: u64) {
    let order = format!("{}|{epoch}|{step}", dir.display());
    let mut command = Command::new(std::env::current_exe().unwrap());
    let out = command.args(["--exact", "high_level::child", "--nocapture"]).env(CHILD, order).output().unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&out.status);
    assert_eq!(signal, Some(9), "{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-r").args([from, to]).status().unwrap().success());
}

#[test]
fn a_killed_run_goes_on_as_if_it_had_not_been() {
    let (dir, straight) = (TempDir::new("killed"), TempDir::new("straight"));
    killed_after(&dir.0, 0, 3);
    copy(&dir.0, &straight.0);
    killed_after(&dir.0, 1, 1);
    killed_after(&dir.0, 1, 6);
    let finish = |dir: &Path| {
        let mut steps = Vec::new();
        let mut trainer = trainer(Some(dir)).unwrap();
        let note = |event: Event<'_>| {
            if let Event::EndStep { epoch, step, metrics } = event {
                steps.push((epoch, step, metrics[0].bytes().to_vec()));
            }
            ControlFlow::Continue(())
        };
        trainer.train(EPOCHS, reader, note).unwrap();
        (state(&trainer), steps)
    };
    let ((killed, last), (uninterrupted, all)) = (finish(&dir.0), finish(&straight.0));
    // Saved after steps 0, 2, 4 and 6 of each epoch: what was killed after the event of step 6 goes on after step 4.
    assert_eq!(last.first().map(|s| (s.0, s.1)), Some((1, 5)));
    assert_eq!(all.first().map(|s| (s.0, s.1)), Some((0, 3)));
    assert_eq!(all[all.len() - last.len()..], last);
    assert_eq!(killed, uninterrupted);
    // A run that is over leaves no checkpoints.
    assert!(Checkpoints::new(Box::new(Local::at(&dir.0))).list().unwrap().is_empty());
}

#[test]
fn what_was_trained_is_saved_tested_and_predicted() {
    let dir = TempDir::new("saved");
    let (params, model) = (Local::at(dir.0.join("params")), dir.0.join("model"));
    let mut trainer = trainer(None).unwrap();
    let before = trainer.test(reader(0)).unwrap();
    let mut events = Vec::new();
    trainer
        .train(EPOCHS, reader, |event| {
            if let Event::BeginStep { step, fetch_metrics, .. } = &mut { event } {
                **fetch_metrics = *step == 0;
            } else {
                events.push(());
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(events.len() as u64, EPOCHS * (STEPS + 2));
    assert!(trainer.test(reader(0)).unwrap()[0] < before[0]);
    trainer.save_params(&params).unwrap();
    let inferencer = Inferencer::new(predict, &params, &Options { threads: 1, check_nan_inf: false }).unwrap();
    let batch = reader(0).next().unwrap().unwrap();
    let predicted = inferencer.infer(&batch[..1].to_vec()).unwrap();
    assert_eq!(predicted.dims()[..], [5, 1]);
    trainer.save_inference_model(&Local::at(&model), &["x", "y"], &[0]).unwrap();
    let mut predictor = Predictor::load(&model, &Options { threads: 1, check_nan_inf: false }).unwrap();
    let loss = predictor.predict(&[("x", &batch[0].1), ("y", &batch[1].1)]).unwrap();
    assert!(loss[0].to_f64()[0] > 0.0);
    // From the saved parameters another training starts.
    let setup = || TrainerSetup {
        options: Options { threads: 1, check_nan_inf: false },
        params: Some(&params),
        checkpoints: None,
    };
    let again = Trainer::new(build, optimizer::momentum(0.01, 0.9), setup()).unwrap();
    assert_eq!(state(&again), state(&trainer));
    let other = Trainer::new(build, optimizer::adam(0.01), setup()).err().unwrap();
    assert_eq!(other.kind(), Kind::Missing, "{other}");
}

#[test]
fn checkpoints_of_another_network_are_refused() {
    let dir = TempDir::new("other");
    killed_after(&dir.0, 0, 1);
    let other = |net: &mut Net| {
        let mut outputs = build(net)?;
        let x = net.find("x")?;
        outputs.push(net.fc(&x, Fc::size(1))?);
        Ok(outputs)
    };
    let setup = TrainerSetup {
        options: Options { threads: 1, check_nan_inf: false },
        params: None,
        checkpoints: Some(CheckpointConfig::new(dir.0.to_string_lossy())),
    };
    let e = Trainer::new(other, optimizer::momentum(0.01, 0.9), setup).err().unwrap();
    assert!(e.report().what.contains("holds the variables of another program"), "{e}");
    assert!(e.to_string().contains("the program has, but the file has not: `fc_2.b_0`, `fc_2.w_0`"), "{e}");
}
