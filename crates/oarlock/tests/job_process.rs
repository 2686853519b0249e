//! Jobs of [`JobProcess`]s in one process: real servers and workers, over real sockets.

use std::path::PathBuf;
use std::thread::JoinHandle;

use oarlock::JobOptions;
use oarlock::fleet::{JobProcess, Place, Role, Strategy, predict_with_servers};
use oarlock::io::{InferenceModel, Local, ModelFiles, ModelTables, Position, Store, TableFiles, TableForm};
use oarlock::ir::VarKind;
use oarlock::launch::{Ask, plan};
use oarlock::prelude::*;
use oarlock::ps::client::ClientOptions;
use oarlock::ps::server::ServerOptions;
use oarlock::tensor::table::{Retention, Score};
use oarlock::transpile::Config;
use oarlock::{Executor, Predictor};

const ROWS: usize = 60;
const WIDTH: usize = 3;

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let dir = std::env::temp_dir().join(format!("oarlock-job-process-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Folder(dir)
    }

    fn store(&self) -> Local {
        Local::at(&self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

struct Built {
    net: Net,
    out: VarRef,
}

/// Which ids get a row of a hashed table, and which rows go.
#[derive(Debug, Clone, Default)]
struct Rows {
    entry: Entry,
    evict: Retention,
}

fn every() -> Option<Rows> {
    Some(Rows::default())
}

/// A table without admission rules is partitioned.
fn network(rows: Option<Rows>) -> Built {
    let mut net = Net::new();
    net.seed(7);
    let ids = net.data("ids", Data::shape([1]).dtype(DType::I64)).unwrap();
    let y = net.data("y", Data::shape([1])).unwrap();
    let table = Embedding::size(ROWS, WIDTH).is_sparse(true).param_attr("table").is_distributed(rows.is_some());
    let Rows { entry, evict } = rows.unwrap_or_default();
    let table = table.entry(entry).evict(evict);
    let rows = net.embedding(&ids, table).unwrap();
    let out = net.fc(&rows, Fc::size(1)).unwrap();
    let cost = net.square_error_cost(&out, &y).unwrap();
    let loss = net.mean(&cost).unwrap();
    optimizer::adam(0.1).minimize(&mut net, &loss).unwrap();
    Built { net, out }
}

/// Tables and parameters are partitioned although they are small.
fn config() -> Config {
    Config { min_block_size: 32, ..Config::fluid() }
}

fn executor(tables: TableFiles) -> Executor {
    let server = ServerOptions { ..ServerOptions::default() };
    let client = ClientOptions { tables, ..client() };
    Options { threads: 1, check_nan_inf: false }.executor_in(JobOptions { server, client, ..JobOptions::default() })
}

fn client() -> ClientOptions {
    ClientOptions { ..ClientOptions::default() }
}

/// A job with one worker, whose servers run.
struct Job {
    servers: Vec<String>,
    threads: Vec<JoinHandle<()>>,
    process: JobProcess,
    exe: Executor,
    scope: Scope,
    out: String,
}

impl Job {
    /// `ready` makes a server ready; the worker saves tables as `tables` says.
    fn start(
        rows: Option<Rows>,
        servers: usize,
        tables: TableFiles,
        ready: impl Fn(&JobProcess, &Executor, &Scope),
    ) -> Job {
        let endpoints = plan(&Ask { server_num: Some(servers), worker_num: Some(1), ..Ask::default() }).unwrap();
        let servers = endpoints.ranks[0].servers.clone();
        let place =
            |role, index| Place { role, index, workers: 1, servers: servers.clone(), worker_endpoints: Vec::new() };
        let built = network(rows);
        let process = |place| JobProcess::new(place, &built.net, Strategy::Sync, config()).unwrap();
        let mut threads = Vec::new();
        for index in 0..servers.len() {
            let (process, exe, scope) = (process(place(Role::Server, index)), executor(tables), Scope::new());
            ready(&process, &exe, &scope);
            threads.push(std::thread::spawn(move || process.run_server(&exe, &scope).unwrap()));
        }
        let (process, exe, scope) = (process(place(Role::Worker, 0)), executor(tables), Scope::new());
        process.init_worker(&exe, &scope).unwrap();
        Job { servers, threads, process, exe, scope, out: built.out.name().to_string() }
    }

    fn fresh(rows: Option<Rows>, servers: usize) -> Job {
        let ready =
            |process: &JobProcess, exe: &Executor, scope: &Scope| process.init_server(exe, scope, None).unwrap();
        Job::start(rows, servers, TableFiles::default(), ready)
    }

    fn loaded(servers: usize, tables: TableFiles, from: Option<&dyn Store>) -> Job {
        Job::start(every(), servers, tables, |process, exe, scope| process.init_server(exe, scope, from).unwrap())
    }

    fn train(&self, steps: std::ops::Range<i64>) {
        for step in steps {
            let ids: Vec<i64> = (0..20).map(|i| (step * 7 + i * 3) % 40).collect();
            let y: Vec<f32> = ids.iter().map(|id| (*id % 5) as f32).collect();
            let (ids, y) = (Tensor::from_slice([20, 1], &ids).unwrap(), Tensor::from_slice([20, 1], &y).unwrap());
            self.exe.run_tensors(self.process.program(), &[("ids", &ids), ("y", &y)], &[], &self.scope).unwrap();
        }
    }

    fn save_model(&self, to: &Folder) {
        self.save_model_with(to, ModelTables::Auto).unwrap();
    }

    fn save_model_with(&self, to: &Folder, tables: ModelTables) -> Result<()> {
        let files = ModelFiles { tables, ..ModelFiles::separate() };
        self.process.save_inference_model(&self.exe, &self.scope, (&to.store(), &files), &["ids"], &[&self.out])
    }

    /// The predictions of the trained model, made by a reader.
    fn predicted(&self) -> Vec<f64> {
        let folder = Folder::new(&format!("predicted-{}", self.servers.concat().replace([':', '.'], "")));
        self.save_model(&folder);
        predicted(&mut Predictor::load(&folder.0, &one_thread()).unwrap())
    }

    fn end(self) {
        self.process.stop_worker(&self.exe).unwrap();
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

/// The predictions for the ids that were trained, and for one that never was.
fn predicted(predictor: &mut Predictor) -> Vec<f64> {
    let ids: Vec<i64> = (0..41).collect();
    predictor.predict(&[("ids", &Tensor::from_slice([41, 1], &ids).unwrap())]).unwrap()[0].to_f64()
}

fn one_thread() -> Options {
    Options { threads: 1, check_nan_inf: false }
}

#[test]
fn a_model_predicts_with_the_tables_of_running_servers() {
    for entry in [every(), None] {
        let folder = Folder::new(if entry.is_some() { "remote-hashed" } else { "remote-partitioned" });
        let job = Job::fresh(entry, 2);
        job.train(0..5);
        job.save_model(&folder);
        // Nothing of the table is read from files.
        std::fs::remove_file(folder.0.join("table")).unwrap();
        let reversed: Vec<String> = job.servers.iter().rev().cloned().collect();
        let mut predictor = predict_with_servers(&folder.0, &reversed, client(), &one_thread()).unwrap();
        let before = predicted(&mut predictor);
        assert_eq!(before, predicted(&mut predictor), "looking changes nothing");
        job.train(5..6);
        assert_ne!(before, predicted(&mut predictor), "rows are those of this moment");
        let all = predict_with_servers(&folder.0, &job.servers[..1], client(), &one_thread());
        let what = all.map(drop).unwrap_err().report().what.clone();
        assert_eq!(what, format!("1 servers are named, and the job of server {} has 2", job.servers[0]));
        job.end();
    }
}

/// The files of the table in a folder.
fn table_files(folder: &Folder) -> Vec<String> {
    let names = std::fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|n| *n == "table" || n.starts_with("table.")).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_table_is_saved_in_every_form_and_loaded_by_any_number_of_servers() {
    let mut expected = None;
    for (form, files) in [
        (TableForm::Fitting, &["table"][..]),
        (TableForm::Parts, &["table.part-00000", "table.part-00001", "table.parts"]),
        (TableForm::Text, &["table.part-00000.txt", "table.part-00001.txt", "table.parts"]),
    ] {
        // A part has room for thirty of the forty rows.
        let part_bytes = if form == TableForm::Fitting { 1 << 20 } else { 30 * (8 + 4 * WIDTH) };
        let tables = TableFiles { form, part_bytes };
        let (folder, model) = (Folder::new(&format!("{form:?}")), Folder::new(&format!("{form:?}-model")));
        let job = Job::loaded(2, tables, None);
        job.train(0..5);
        job.process.save_persistables(&job.exe, &job.scope, &folder.store()).unwrap();
        job.save_model(&model);
        assert_eq!((table_files(&folder), table_files(&model)), (to_owned(files), to_owned(&["table"])));
        assert_eq!(declared(&model), VarKind::Tensor);
        let dense = predicted(&mut Predictor::load(&model.0, &one_thread()).unwrap());
        job.save_model_with(&model, ModelTables::Rows).unwrap();
        assert_eq!(declared(&model), VarKind::SelectedRows);
        let local = predicted(&mut Predictor::load(&model.0, &one_thread()).unwrap());
        let mut remote = predict_with_servers(&model.0, &job.servers, client(), &one_thread()).unwrap();
        assert_eq!(local, predicted(&mut remote));
        assert_eq!(local, dense, "rows that were never trained are zeros in both forms");
        assert_eq!(&local, expected.get_or_insert_with(|| local.clone()));
        job.train(5..7);
        let trained = job.predicted();
        assert_ne!(local, trained);
        job.end();
        for servers in [1, 3] {
            let job = Job::loaded(servers, tables, Some(&folder.store()));
            assert_eq!(local, job.predicted());
            // The state of the optimizer came along.
            job.train(5..7);
            assert_eq!(trained, job.predicted());
            job.end();
        }
    }
}

/// How the network of a model declares its table.
fn declared(model: &Folder) -> VarKind {
    let model = InferenceModel::read(&*model.store().view().unwrap(), "__model__").unwrap();
    model.program.global().var("table").unwrap().kind
}

fn to_owned(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

/// Which ids have a row is part of a checkpoint, and so are how often the others were seen and what decides which rows go: a job that
/// was stopped and goes on is one that never stopped, with another number of servers, too.
#[test]
fn a_job_goes_on_from_a_checkpoint_as_if_nothing_had_happened() {
    let entries = [Entry::Every, Entry::Count(4), Entry::Probability(0.1)];
    let entries = entries.map(|entry| Rows { entry, ..Rows::default() });
    let score = Score { period: Some(3), decay: 0.5, below: 0.12, ..Score::default() };
    let evicted = [Retention { unseen: Some(2), score: None }, Retention { unseen: None, score: Some(score) }];
    let evicted = evicted.map(|evict| Rows { evict, ..Rows::default() });
    for rows in entries.into_iter().chain(evicted) {
        let folder = Folder::new("checkpoint");
        let dir = folder.0.to_str().unwrap();
        let job = Job::fresh(Some(rows.clone()), 2);
        job.train(0..4);
        let position = Position { epoch: 2, step: 4, notes: [("file".into(), "part-7".into())].into() };
        job.process.save_checkpoint(&job.exe, &job.scope, dir, 1, &position).unwrap();
        let then = job.predicted();
        job.train(4..9);
        let never_stopped = job.predicted();
        job.end();
        assert_ne!(then, never_stopped);
        for servers in [2, 3] {
            let job = Job::start(Some(rows.clone()), servers, TableFiles::default(), |process, exe, scope| {
                assert!(process.resume_server(exe, scope, dir).unwrap());
            });
            assert_eq!(job.process.resume_worker(&job.exe, &job.scope, dir).unwrap().as_ref(), Some(&position));
            assert_eq!(then, job.predicted(), "{rows:?}");
            job.train(4..9);
            assert_eq!(never_stopped, job.predicted(), "{rows:?} on {servers} servers");
            job.end();
        }
    }
}

/// Flips the last byte of a file.
fn damage(file: PathBuf) {
    let mut bytes = std::fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(file, bytes).unwrap();
}

/// All servers and the trainer choose the same checkpoint, although only one server's part of the newest is damaged.
#[test]
fn a_damaged_newest_checkpoint_falls_back_to_the_older_one() {
    let folder = Folder::new("damaged-checkpoint");
    let dir = folder.0.to_str().unwrap();
    let job = Job::fresh(every(), 2);
    let mut then = None;
    for steps in [0..4, 4..6] {
        let position = Position { epoch: 0, step: steps.end as u64, notes: Default::default() };
        job.train(steps);
        job.process.save_checkpoint(&job.exe, &job.scope, dir, 2, &position).unwrap();
        then.get_or_insert_with(|| job.predicted());
    }
    job.end();
    damage(folder.0.join("checkpoint_1/server_1/fc_0.w_0"));
    let resumed = || {
        Job::start(every(), 2, TableFiles::default(), |process, exe, scope| {
            assert!(process.resume_server(exe, scope, dir).unwrap());
        })
    };
    let job = resumed();
    let position = job.process.resume_worker(&job.exe, &job.scope, dir).unwrap().unwrap();
    assert_eq!((position.step, Some(job.predicted())), (4, then));
    job.end();

    std::fs::remove_file(folder.0.join("checkpoint_0/server_0").join(oarlock::io::MANIFEST)).unwrap();
    let place = Place {
        role: Role::Server,
        index: 0,
        workers: 1,
        servers: vec!["127.0.0.1:1".into(), "127.0.0.1:2".into()],
        worker_endpoints: Vec::new(),
    };
    let process = JobProcess::new(place, &network(every()).net, Strategy::Sync, config()).unwrap();
    let error = process.resume_server(&executor(TableFiles::default()), &Scope::new(), dir).unwrap_err();
    assert!(error.to_string().contains("fc_0.w_0 is not what was saved"), "{error}");
    assert!(error.to_string().contains("is intact: delete them to start anew"), "{error}");
}
