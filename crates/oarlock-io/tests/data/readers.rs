//! Programs that read by themselves: readers made by a startup program, and the operator `read`.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use oarlock_exec::{ExecOptions, Executor, Scope};
use oarlock_io::data::recordio::{Compressor, RecordWriter, encode_sample};
use oarlock_io::{ReaderVar, TensorQueue, TensorReader};
use oarlock_ir::{Error, Kind, Op, Program, Registry, Result, Shape, Var, VarKind, VarType};
use oarlock_tensor::{DType, Tensor};

use crate::data::fixture::Dir;

fn executor() -> Executor {
    let registry = Arc::new(Registry::new(oarlock_io::ops(), []));
    Executor::new(ExecOptions { registry, threads: 1, fuse: false, without_fusions: Vec::new(), check_nan_inf: false })
}

/// A startup program of these operators, and a program that reads one i64 variable `x` from the reader `last`.
struct Job {
    exe: Executor,
    scope: Scope,
    main: Program,
}

impl Job {
    fn new(ops: Vec<Op>, readers: &[&str], scope: Scope) -> Result<Job> {
        let item = VarType::tensor(DType::I64, Shape::from_i64(&[-1, 1]));
        let reader = |name: &str| {
            let mut var = Var::new(name, VarType::tensor(DType::F32, Vec::new()).with_kind(VarKind::Reader));
            var.persistable = true;
            var.reads = vec![item.clone()];
            var
        };
        let mut startup = Program::new();
        let mut queue = Var::new("queue", VarType::tensor(DType::F32, Vec::new()).with_kind(VarKind::Raw));
        queue.persistable = true;
        startup.global_mut().set_var(queue);
        for name in readers {
            startup.global_mut().set_var(reader(name));
        }
        startup.global_mut().ops = ops;
        let mut main = Program::new();
        main.global_mut().set_var(reader(readers[readers.len() - 1]));
        main.global_mut().set_var(Var::new("x", item));
        main.global_mut().ops =
            vec![Op::new("read").input("Reader", [readers[readers.len() - 1]]).output("Out", ["x"])];
        let exe = executor();
        exe.run(&startup, &[], &[], &scope)?;
        Ok(Job { exe, scope, main })
    }

    fn read(&self) -> Result<Vec<i64>> {
        let x = self.exe.run_tensors(&self.main, &[], &["x"], &self.scope)?;
        Ok(x[0].data::<i64>().map_err(|e| Error::internal(e.to_string()))?.to_vec())
    }

    /// Everything up to the end of the pass.
    fn pass(&self) -> Vec<Vec<i64>> {
        let mut all = Vec::new();
        loop {
            match self.read() {
                Ok(values) => all.push(values),
                Err(e) if e.kind() == Kind::EndOfData => return all,
                Err(e) => panic!("{e}"),
            }
        }
    }

    fn reset(&self, name: &str) {
        let var = self.scope.find(name).expect("a reader");
        let mut reader = ReaderVar::of(&var.read()).expect("a reader").clone();
        reader.reset().expect("a new pass");
    }
}

fn one(value: i64) -> Tensor {
    Tensor::from_slice([1, 1], &[value]).unwrap()
}

fn write_records(dir: &Dir, name: &str, values: std::ops::Range<i64>) -> String {
    let path = dir.path(name);
    let mut out = RecordWriter::new(File::create(&path).unwrap(), Compressor::Snappy, 3);
    values.for_each(|v| out.write(&encode_sample(&[one(v)])).unwrap());
    out.finish().unwrap();
    path
}

fn over(op_type: &str, from: &str, to: &str) -> Op {
    Op::new(op_type).input("UnderlyingReader", [from]).output("Out", [to])
}

#[test]
fn files_are_read_shuffled_and_batched() {
    let dir = Dir::new();
    let files = vec![write_records(&dir, "a", 0..7), write_records(&dir, "b", 7..10)];
    let open = Op::new("open_files").output("Out", ["files"]).attr("file_names", files).attr("pass_num", 2);
    let ops = vec![
        open,
        over("create_batch_reader", "files", "batches").attr("batch_size", 4),
        over("create_double_buffer_reader", "batches", "ahead"),
    ];
    let job = Job::new(ops.clone(), &["files", "batches", "ahead"], Scope::new()).unwrap();
    let expected: Vec<Vec<i64>> = (0..20).map(|i| i % 10).collect::<Vec<_>>().chunks(4).map(<[i64]>::to_vec).collect();
    for _ in 0..2 {
        assert_eq!(job.pass(), expected);
        assert_eq!(job.pass(), Vec::<Vec<i64>>::new(), "a pass is over until the reader is reset");
        job.reset("ahead");
    }
    let mut ops = ops;
    ops.insert(1, over("create_shuffle_reader", "files", "mixed").attr("buffer_size", 100).attr("seed", 1));
    ops[2] = over("create_batch_reader", "mixed", "batches").attr("batch_size", 3).attr("discard_leftover", false);
    let job = Job::new(ops, &["files", "mixed", "batches", "ahead"], Scope::new()).unwrap();
    let all = job.pass();
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 3, 3, 3, 3, 2]);
    let mut sorted = all.concat();
    assert_ne!(sorted, expected.concat());
    sorted.sort_unstable();
    assert_eq!(sorted, (0..20).map(|i| i / 2).collect::<Vec<i64>>());
}

#[test]
fn mistakes_in_the_use_of_readers_are_named() {
    let dir = Dir::new();
    let open = |files: Vec<String>| vec![Op::new("open_files").output("Out", ["files"]).attr("file_names", files)];
    let job = Job::new(open(vec![dir.path("nothing")]), &["files"], Scope::new()).unwrap();
    let error = job.read().unwrap_err().to_string();
    assert!(error.contains("cannot read") && error.contains("nothing"), "{error}");

    let path = dir.path("floats");
    let mut out = RecordWriter::new(File::create(&path).unwrap(), Compressor::None, 3);
    out.write(&encode_sample(&[Tensor::scalar(1.0f32)])).unwrap();
    out.finish().unwrap();
    let job = Job::new(open(vec![path]), &["files"], Scope::new()).unwrap();
    let error = job.read().unwrap_err().to_string();
    assert!(error.contains("tensor 0 of a record is f32, but i64 is read"), "{error}");
    assert!(Job::new(open(Vec::new()), &["files"], Scope::new()).is_err());
}

#[test]
fn a_queue_is_filled_from_outside() {
    let queue = TensorQueue::new(2);
    let scope = Scope::new();
    scope.set("queue", queue.clone().into_value());
    let make = Op::new("create_py_reader").input("blocking_queue", ["queue"]).output("Out", ["reader"]);
    let job = Job::new(vec![make], &["reader"], scope).unwrap();
    assert!(job.read().unwrap_err().to_string().contains("a reader that is not started"));
    for _ in 0..2 {
        queue.start();
        let filling = queue.clone();
        let filler = std::thread::spawn(move || {
            assert!((0..5).all(|v| filling.push(vec![one(v)])));
            filling.close();
        });
        assert_eq!(job.pass(), (0..5).map(|v| vec![v]).collect::<Vec<_>>());
        filler.join().unwrap();
        queue.reset();
    }
    // No batch is taken: the thread that fills waits for room, and a reset ends the wait.
    queue.start();
    let filling = queue.clone();
    let filler = std::thread::spawn(move || (0..).take_while(|v| filling.push(vec![one(*v)])).count());
    std::thread::sleep(Duration::from_millis(20));
    queue.reset();
    assert!(filler.join().unwrap() <= 2);
}

#[test]
fn a_stop_flag_ends_the_wait_for_a_batch() {
    let queue = TensorQueue::new(1);
    queue.start();
    let scope = Scope::new();
    scope.set("queue", queue.into_value());
    let make = Op::new("create_py_reader").input("blocking_queue", ["queue"]).output("Out", ["reader"]);
    let job = Job::new(vec![make], &["reader"], scope).unwrap();
    let stop = job.exe.runtime().stop_flag();
    let error = std::thread::scope(|s| {
        s.spawn(move || {
            std::thread::sleep(Duration::from_millis(30));
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        job.read().unwrap_err()
    });
    assert_eq!(error.kind(), Kind::Interrupted);
}
