//! Failures: the error says where and why, and nothing hangs or is left behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oarlock_io::data::{
    BadLines, Batch, BatchSource, Extra, Format, InMemoryDataset, MemoryLimit, QueueDataset, Source,
};
use oarlock_ir::Kind;

use crate::data::fixture::{Dir, first_ids, id_slot, queue, read};

fn piped(file: String, command: &str) -> QueueDataset {
    let mut dataset = queue(&[file], id_slot(), 10);
    dataset.source.pipe_command = command.to_string();
    dataset
}

/// Processes whose command line has `mark` in it.
fn processes(mark: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter(|p| std::fs::read(p.path().join("cmdline")).is_ok_and(|c| String::from_utf8_lossy(&c).contains(mark)))
        .count()
}

/// Waits until no process has `mark` in its command line.
fn assert_gone(mark: &str) {
    for _ in 0..100 {
        if processes(mark) == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("a process with `{mark}` is left");
}

#[test]
fn a_bad_line_is_reported_with_its_place_after_the_batches_before_it() {
    let dir = Dir::new();
    let file = dir.write("a", "1 1\n1 2\n1 3\n2 4 x5\n1 6\n");
    let mut readers = queue(std::slice::from_ref(&file), id_slot(), 2).start(1, Arc::default()).unwrap().take_readers();
    let mut batch = Batch::new();
    assert!(readers[0].next(&mut batch).unwrap());
    let error = readers[0].next(&mut batch).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "error[format]: {file}:4:5: expected value 2 of 2 of slot `ids`, of type int64, found `x5`\n  help: correct \
             the line, or what writes it; or skip and count bad lines: set_bad_lines(\"skip\"), --skip-bad-lines"
        )
    );
    // Asked again, it says the same.
    assert_eq!(readers[0].next(&mut batch).unwrap_err().to_string(), error.to_string());
}

#[test]
fn bad_lines_can_be_skipped_and_counted() {
    let dir = Dir::new();
    let file = dir.write("a", "1 1\n\n1 2\n0\n1 3 4\n\u{0}\u{ff}\n1 5");
    let mut dataset = queue(std::slice::from_ref(&file), id_slot(), 2);
    dataset.format.bad_lines = BadLines::Skip;
    let mut run = dataset.start(1, Arc::default()).unwrap();
    let mut readers = run.take_readers();
    assert_eq!(first_ids(&crate::data::fixture::drain(&mut readers[0]).unwrap()), [1, 2, 5]);
    let progress = run.progress();
    assert_eq!((progress.samples(), progress.skipped()), (3, 4));
    assert!(progress.first_skipped().unwrap().to_string().contains(&format!("{file}:2:1: expected the number")));
    dataset.format.extra = Extra::Ignore;
    assert_eq!(first_ids(&read(&dataset).unwrap()), [1, 2, 3, 5]);
}

#[test]
fn a_failure_of_one_reader_ends_the_others() {
    let dir = Dir::new();
    let good = dir.write("good", "1 1\n");
    let bad = dir.write("bad", "1 x\n");
    let mut dataset = queue(&[good, bad], id_slot(), 10);
    // The first file never ends, the second is bad.
    dataset.source.pipe_command = "read line; echo $line; if [ \"$line\" = '1 1' ]; then sleep 4711; fi".to_string();
    let mut readers = dataset.start(2, Arc::default()).unwrap().take_readers();
    let mut batch = Batch::new();
    for reader in &mut readers {
        let error = reader.next(&mut batch).unwrap_err().to_string();
        assert!(error.contains("bad:1:3: expected value 1 of 1"), "{error}");
    }
    drop(readers);
    assert_gone("sleep\u{0}4711");
}

#[test]
fn a_command_that_fails_is_named_with_the_file() {
    let dir = Dir::new();
    let file = dir.write("a", "1 1\n");
    let error = read(&piped(file.clone(), "cat; exit 3")).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "error[io]: {file}: the pipe command `cat; exit 3` failed: exit status: 3\n  help: try it by hand: `( cat; \
             exit 3 ) < {file}`; what it printed to standard error is shown above"
        )
    );
    let error = read(&piped(file.clone(), "kill -9 $$")).unwrap_err().to_string();
    assert!(error.contains("failed: signal: 9"), "{error}");
    let mut memory = InMemoryDataset::new(Source::files([file]), Format::strict(id_slot()), 10, MemoryLimit::Machine);
    memory.source.pipe_command = "exit 4".to_string();
    let error = memory.load_into_memory(1, Arc::default()).unwrap_err().to_string();
    assert!(error.contains("exit status: 4"), "{error}");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let dir = Dir::new();
    let fails = |file: String| read(&queue(&[file], id_slot(), 10)).unwrap_err().to_string();
    assert!(fails(dir.path("none")).contains("none: No such file"));
    assert!(fails(dir.path("")).contains("is a directory"));
    assert!(fails(dir.path("none-*")).contains("matches no file"));
    assert!(fails(dir.write("a.gz", "no gzip")).contains("cannot read"));
    assert!(fails(dir.write("a.zst", "no zstd at all")).contains("cannot read"));
    assert_eq!(
        fails("s3:/bucket/path".into()),
        "error[unsupported]: s3:/bucket/path: files of `s3` cannot be read directly\n  help: mount it and use the directory, \
         or write two slashes as in s3://bucket/file"
    );
    assert!(read(&queue(&[], id_slot(), 10)).unwrap_err().to_string().contains("has no files"));
    assert!(read(&queue(&[dir.path("x")], Vec::new(), 10)).unwrap_err().to_string().contains("has no slots"));
    assert!(read(&queue(&[dir.path("x")], id_slot(), 0)).unwrap_err().to_string().contains("0 samples"));
    let twice = [id_slot(), id_slot()].concat();
    assert!(read(&queue(&[dir.path("x")], twice, 1)).unwrap_err().to_string().contains("listed twice"));
}

#[test]
fn dropping_a_reader_early_ends_its_thread_and_its_command() {
    let dir = Dir::new();
    let file = dir.write("a", "1 1\n");
    for command in ["yes '1 4712'", "cat; sleep 4712 | cat", "sleep 4712"] {
        let mut readers = piped(file.clone(), command).start(1, Arc::default()).unwrap().take_readers();
        if command.starts_with("yes") {
            assert!(readers[0].next(&mut Batch::new()).unwrap());
        }
        std::thread::sleep(Duration::from_millis(50));
        // Joins the thread: a hang here is a failure.
        drop(readers);
        assert_gone("4712");
    }
    // The readers are never taken.
    drop(piped(file, "sleep 4712").start(1, Arc::default()).unwrap());
    assert_gone("4712");
}

#[test]
fn the_stop_flag_ends_a_run_soon() {
    let dir = Dir::new();
    let file = dir.write("a", "1 1\n");
    let later = |stop: &Arc<AtomicBool>| {
        let stop = stop.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            stop.store(true, Ordering::Relaxed);
        })
    };
    // While waiting for a command that says nothing, and while there is always something to read.
    for command in ["sleep 4713", "yes '1 4713'"] {
        let stop = Arc::new(AtomicBool::new(false));
        let mut readers = piped(file.clone(), command).start(1, stop.clone()).unwrap().take_readers();
        let timer = later(&stop);
        let mut batch = Batch::new();
        let error = loop {
            if let Err(e) = readers[0].next(&mut batch) {
                break e;
            }
        };
        assert_eq!(error.kind(), Kind::Interrupted);
        timer.join().unwrap();
    }
    let stop = Arc::new(AtomicBool::new(false));
    let mut memory = InMemoryDataset::new(Source::files([file]), Format::strict(id_slot()), 10, MemoryLimit::Machine);
    memory.source.pipe_command = "sleep 4713".to_string();
    let timer = later(&stop);
    assert_eq!(memory.load_into_memory(1, stop).unwrap_err().kind(), Kind::Interrupted);
    timer.join().unwrap();
    assert_gone("4713");
}

#[test]
fn a_data_set_beyond_the_limit_is_refused() {
    let dir = Dir::new();
    let file = dir.write("a", "1 123456789\n".repeat(300_000));
    let slots = id_slot();
    let mut memory =
        InMemoryDataset::new(Source::files([file]), Format::strict(slots), 10, MemoryLimit::Bytes(2 << 20));
    let error = memory.load_into_memory(1, Arc::default()).unwrap_err().to_string();
    assert!(error.contains("does not fit into memory: it takes 2.0 MiB so far, and the limit is 2.0 MiB"), "{error}");
    assert!(memory.is_empty());
    memory.limit = MemoryLimit::Machine;
    let loaded = memory.load_into_memory(1, Arc::default()).unwrap();
    assert_eq!(loaded.samples, 300_000);
    assert!(loaded.bytes_per_sample() < 20.0, "{loaded}");
}
