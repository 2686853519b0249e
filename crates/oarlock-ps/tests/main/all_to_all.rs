//! Trainers exchange samples through real servers, over real sockets.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use oarlock_io::data::{
    Batch, BatchSource, Format, InMemoryDataset, MemoryLimit, ShuffleBy, SlotSpec, SlotType, Source,
};
use oarlock_ir::Result;
use oarlock_ps::client::{ClientOptions, TrainerGroup};
use oarlock_ps::server::{Policy, ServerOptions};

use crate::cluster::{Job, Trainer, quiet, small, trainer_options, wait_all};

/// Lines of each trainer; with a padding that makes the exchange take two rounds.
const SAMPLES: i64 = 400;
const PADDING: usize = 15_000;

/// A directory that is removed with the value.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let path = std::env::temp_dir().join(format!("oarlock-all-to-all-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Dir(path)
    }

    /// A file of numbered samples.
    fn file(&self, trainer: usize) -> String {
        let path = self.0.join(format!("part-{trainer}"));
        let padding = vec!["9"; PADDING].join(" ");
        let first = trainer as i64 * SAMPLES;
        let line = |i: i64| format!("1 {} {PADDING} {padding}\n", first + i);
        std::fs::write(&path, (1..=SAMPLES).map(line).collect::<String>()).unwrap();
        path.to_str().unwrap().to_string()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn load(file: String) -> InMemoryDataset {
    let slots = vec![SlotSpec::sparse("number", SlotType::Id), SlotSpec::sparse("padding", SlotType::Id)];
    let mut dataset = InMemoryDataset::new(Source::files([file]), Format::strict(slots), 64, MemoryLimit::Machine);
    dataset.load_into_memory(1, Arc::default()).unwrap();
    dataset
}

fn numbers(dataset: &InMemoryDataset) -> Vec<i64> {
    let (mut batch, mut all) = (Batch::new(), Vec::new());
    let mut reader = dataset.readers(1).remove(0);
    while reader.next(&mut batch).unwrap() {
        all.extend_from_slice(batch.tensors()[0].data::<i64>().unwrap());
    }
    all
}

fn group(job: &Job, trainer: &Trainer, index: usize, trainers: usize) -> TrainerGroup {
    TrainerGroup::new(trainer.client(), job.endpoints().map(str::to_string).collect(), index, trainers).unwrap()
}

/// The samples of each of three trainers after a shuffle.
fn shuffled(dir: &Dir, seed: u64) -> Vec<Vec<i64>> {
    let job = Job::new("fit_a_line_decay", small(4), 3, 2);
    // A busy machine must not make a trainer seem lost.
    let servers = job.serve(&ServerOptions { silence: Duration::from_secs(20), ..quiet() });
    let shares = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .map(|t| {
                let job = &job;
                scope.spawn(move || {
                    let (trainer, mut dataset) = (job.join(t, trainer_options()).unwrap(), load(dir.file(t)));
                    let mut group = group(job, &trainer, t, 3);
                    dataset.global_shuffle(&mut group, ShuffleBy::Chance, seed).unwrap();
                    let sizes = group.all_gather(&dataset.len().to_le_bytes()).unwrap();
                    let total: usize = sizes.iter().map(|s| usize::from_le_bytes(s[..].try_into().unwrap())).sum();
                    assert_eq!(total, 3 * SAMPLES as usize);
                    trainer.leave();
                    numbers(&dataset)
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    wait_all(servers);
    shares
}

#[test]
fn global_shuffle_moves_samples_between_trainers() {
    let dir = Dir::new("shuffle");
    let shares = shuffled(&dir, 5);
    for share in &shares {
        let of = |t: i64| share.iter().filter(|v| (*v - 1) / SAMPLES == t).count();
        assert!((0..3).all(|t| (80..200).contains(&of(t))), "{:?}", (of(0), of(1), of(2)));
        assert!(share.windows(2).any(|w| w[0] > w[1]), "not shuffled");
    }
    let mut together = shares.concat();
    together.sort_unstable();
    assert_eq!(together, (1..=3 * SAMPLES).collect::<Vec<_>>());
    // The same seed deals the same samples in the same order, another one does not.
    assert_eq!(shuffled(&dir, 5), shares);
    assert_ne!(shuffled(&dir, 6), shares);
}

/// Trainer 0 exchanges while trainer 1 does `other`.
fn with_other(options: ServerOptions, other: impl FnOnce(Trainer) + Send) -> Result<()> {
    let job = Job::new("fit_a_line_decay", small(4), 2, 1);
    let servers = job.serve(&options);
    let patience = ClientOptions { deadline: Duration::from_secs(20), ..trainer_options() };
    let (first, second) = (job.join(0, patience.clone())?, job.join(1, patience)?);
    let mut group = group(&job, &first, 0, 2);
    let got = std::thread::scope(|scope| {
        scope.spawn(|| other(second));
        group.all_gather(b"here").map(drop)
    });
    // Once it has failed the rounds of the trainers may differ.
    let again = group.all_gather(b"here").unwrap_err();
    assert!(again.report().what.contains("failed before"), "{again}");
    first.client().abandon();
    drop(servers);
    got
}

#[test]
fn trainer_missing_in_an_exchange_is_named() {
    let error = with_other(quiet(), |other| other.leave()).unwrap_err();
    assert!(
        error.report().what.contains("trainer 1 is gone, and round 1 of an exchange needs every trainer"),
        "{error}"
    );
    let shrink = ServerOptions { policy: Policy::Shrink, ..quiet() };
    let error = with_other(shrink, |other| other.client().abandon()).unwrap_err();
    assert!(error.report().what.contains("trainer 1 is gone"), "{error}");
    let error = with_other(quiet(), |other| other.client().abandon()).unwrap_err();
    assert!(error.report().what.contains("trainer 1 was lost"), "{error}");
    let impatient = ServerOptions { deadline: Duration::from_secs(2), ..quiet() };
    let error = with_other(impatient, |other| {
        std::thread::sleep(Duration::from_secs(4));
        other.leave();
    });
    // However long it takes: it may have more data, and shows that it is alive.
    assert!(error.unwrap_err().report().what.contains("trainer 1 is gone"));
}

#[test]
fn exchange_without_servers_is_an_error() {
    let client = Arc::new(oarlock_ps::client::Client::new(trainer_options()));
    let error = TrainerGroup::new(client, Vec::new(), 0, 2).err().unwrap().to_string();
    assert!(error.contains("2 trainers have no server to exchange through"), "{error}");
}
