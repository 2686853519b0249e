//! Data sets against the batches of Fluid 1.8.5 for the same files. The expected values were printed by
//! its `QueueDataset` and `InMemoryDataset`.

use std::io::Write;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use oarlock_io::data::{
    Alone, Batch, BatchSource, Exchange, Format, InMemoryDataset, Leading, MemoryLimit, Merged, SampleParts, ShuffleBy,
    Source,
};
use oarlock_ir::Result;
use oarlock_tensor::Tensor;

use crate::data::fixture::{Dir, drain, first_ids, id_slot, queue, read, slots, tensor};

const FIRST: &str =
    "1 1 3 0.5 -1e-3 .25 2 7 18446744073709551615 1 0.1\n1 0 3 0 0 0 1 0 2 0 1e-7\n1 1 3 1 2 3 3 0 5 0 1 2.5\t\n";
const SECOND: &str = "1 0\t3 inf 1e39 0.1234567890123 1  -5 1 +3\r\n1 1 3 16777217 33554435e-1 4 1 9 1 7";

fn memory(files: Vec<String>, batch_size: usize) -> InMemoryDataset {
    InMemoryDataset::new(Source::files(files), Format::strict(slots()), batch_size, MemoryLimit::Machine)
}

fn load(dataset: &mut InMemoryDataset) {
    dataset.load_into_memory(2, Arc::default()).unwrap();
}

fn all(dataset: &InMemoryDataset) -> Vec<Vec<Tensor>> {
    drain(&mut dataset.readers(1)[0]).unwrap()
}

#[test]
fn a_queue_dataset_gives_the_batches_of_fluid() {
    let dir = Dir::new();
    let files = [dir.write("a", FIRST), dir.write("b", SECOND)];
    let expected = vec![
        vec![
            tensor(&[2, 1], &[1i64, 0], &[0, 1, 2]),
            tensor(&[2, 3], &[0.5f32, -1e-3, 0.25, 0., 0., 0.], &[0, 3, 6]),
            tensor(&[3, 1], &[7i64, -1, 0], &[0, 2, 3]),
            tensor(&[3, 1], &[0.1f32, 0., 1e-7], &[0, 1, 3]),
        ],
        vec![
            tensor(&[2, 1], &[1i64, 0], &[0, 1, 2]),
            tensor(&[2, 3], &[1f32, 2., 3., f32::INFINITY, f32::INFINITY, 0.12345679], &[0, 3, 6]),
            tensor(&[4, 1], &[0i64, 5, 0, -5], &[0, 3, 4]),
            tensor(&[2, 1], &[2.5f32, 3.], &[0, 1, 2]),
        ],
        vec![
            tensor(&[1, 1], &[1i64], &[0, 1]),
            tensor(&[1, 3], &[16777216f32, 3355443.5, 4.], &[0, 3]),
            tensor(&[1, 1], &[9i64], &[0, 1]),
            tensor(&[1, 1], &[7f32], &[0, 1]),
        ],
    ];
    assert_eq!(read(&queue(&files, slots(), 2)).unwrap(), expected);
}

#[test]
fn a_dense_slot_may_have_several_rows_in_a_line() {
    let dir = Dir::new();
    let file = dir.write("a", "1 1 6 1 2 3 4 5 6 1 7 1 0\n1 1 3 1 2 3 1 7 1 0\n");
    let batches = read(&queue(&[file], slots(), 10)).unwrap();
    assert_eq!(batches[0][1], tensor(&[3, 3], &[1f32, 2., 3., 4., 5., 6., 1., 2., 3.], &[0, 6, 9]));
}

#[test]
fn an_in_memory_dataset_drops_zeros_of_sparse_slots_as_fluid_does() {
    let dir = Dir::new();
    let mut dataset = memory(vec![dir.write("a", FIRST), dir.write("b", SECOND)], 2);
    load(&mut dataset);
    let batches = all(&dataset);
    assert_eq!(batches.len(), 3);
    assert_eq!(batches[0][2], tensor(&[3, 1], &[7i64, -1, 0], &[0, 2, 3]));
    assert_eq!(batches[0][3], tensor(&[2, 1], &[0.1f32, 0.], &[0, 1, 2]));
    assert_eq!(batches[1][2], tensor(&[2, 1], &[5i64, -5], &[0, 1, 2]));
    // Dense slots keep their zeros.
    assert_eq!(batches[0][1], tensor(&[2, 3], &[0.5f32, -1e-3, 0.25, 0., 0., 0.], &[0, 3, 6]));
    assert_eq!(batches[2], read(&queue(&[dir.path("a"), dir.path("b")], slots(), 2)).unwrap()[2]);
}

#[test]
fn samples_are_merged_by_line_id_as_in_fluid() {
    let text = "1 dd 1 0 3 0 0 0 1 0 1 1\n1 aa 1 1 3 1 2 3 1 7 1 0\n1 bb 1 1 3 1 2 3 1 7 1 0\n1 aa 1 0 3 0 0 0 1 0 1 2.5\n\
                1 bb 1 1 3 0 0 0 1 8 1 0\n1 cc 1 1 3 1 1 1 1 3 1 1\n1 dd 1 0 3 4 5 6 1 9 1 0\n";
    let dir = Dir::new();
    let mut dataset = memory(vec![dir.write("a", text)], 10);
    let error = dataset.merge_by_line_id(Some(2)).unwrap_err().to_string();
    assert!(error.contains("their lines have no line id"), "{error}");
    dataset.format.leading = vec![Leading::LineId];
    load(&mut dataset);
    // bb fills `ids` twice, cc is alone.
    assert_eq!(dataset.merge_by_line_id(Some(2)).unwrap(), Merged { samples: 2, dropped: 3 });
    let expected = vec![
        tensor(&[2, 1], &[1i64, 0], &[0, 1, 2]),
        tensor(&[2, 3], &[1f32, 2., 3., 4., 5., 6.], &[0, 3, 6]),
        tensor(&[2, 1], &[7i64, 9], &[0, 1, 2]),
        tensor(&[2, 1], &[2.5f32, 1.], &[0, 1, 2]),
    ];
    assert_eq!(all(&dataset), [expected]);
    let mut batch = Batch::new();
    assert!(dataset.readers(1)[0].next(&mut batch).unwrap());
    assert_eq!((batch.texts()[0].get(0), batch.texts()[0].get(1)), (&b"aa"[..], &b"dd"[..]));
}

/// `n` files of `lines` lines; the ids count up.
fn numbered(dir: &Dir, n: usize, lines: usize) -> Vec<String> {
    let text = |i: usize| (0..lines).map(|j| format!("1 {}\n", i * lines + j + 1)).collect::<String>();
    (0..n).map(|i| dir.write(&format!("part-{i}"), text(i))).collect()
}

fn numbers(files: &[String], batch_size: usize) -> InMemoryDataset {
    InMemoryDataset::new(Source::files(files), Format::strict(id_slot()), batch_size, MemoryLimit::Machine)
}

#[test]
fn memory_keeps_the_order_of_files_and_shuffles_by_seed() {
    let dir = Dir::new();
    let files = numbered(&dir, 5, 300);
    let mut dataset = numbers(&files, 64);
    load(&mut dataset);
    let in_order: Vec<i64> = (1..=1500).collect();
    assert_eq!(first_ids(&all(&dataset)), in_order);
    dataset.local_shuffle(7);
    let once = first_ids(&all(&dataset));
    load(&mut dataset);
    dataset.local_shuffle(7);
    assert_eq!(first_ids(&all(&dataset)), once);
    let mut sorted = once.clone();
    sorted.sort();
    assert!(sorted == in_order && once != in_order);
    // Readers of a pass share the batches; a shuffle meanwhile does not disturb them.
    let mut readers = dataset.readers(3);
    dataset.local_shuffle(8);
    let mut shared: Vec<i64> = readers.iter_mut().flat_map(|r| first_ids(&drain(r).unwrap())).collect();
    shared.sort();
    assert_eq!(shared, in_order);
    assert!(dataset.bytes() / (dataset.len() as u64) < 24, "{} bytes", dataset.bytes());
    dataset.release_memory();
    assert!(dataset.is_empty() && all(&dataset).is_empty());
}

#[test]
fn memory_can_be_loaded_in_the_background() {
    let dir = Dir::new();
    let files = numbered(&dir, 2, 10);
    let mut dataset = numbers(&files[..1], 100);
    load(&mut dataset);
    dataset.source = Source::files(&files[1..]);
    dataset.preload_into_memory(1).unwrap();
    assert!(dataset.preload_into_memory(1).unwrap_err().to_string().contains("being loaded already"));
    assert_eq!(first_ids(&all(&dataset)), (1..=10).collect::<Vec<_>>());
    let loaded = dataset.wait_preload_done().unwrap();
    assert_eq!(first_ids(&all(&dataset)), (11..=20).collect::<Vec<_>>());
    assert!(loaded.to_string().starts_with("10 samples in 0."), "{loaded}");
    assert!(dataset.wait_preload_done().unwrap_err().to_string().contains("not being loaded"));
    // Dropped while it loads: must not hang.
    dataset.preload_into_memory(1).unwrap();
}

/// Trainers that are threads of one process.
struct Threads {
    rank: usize,
    to: Vec<mpsc::Sender<(usize, Vec<u8>, bool)>>,
    from: mpsc::Receiver<(usize, Vec<u8>, bool)>,
    barrier: Arc<std::sync::Barrier>,
}

impl Exchange for Threads {
    fn trainers(&self) -> usize {
        self.to.len()
    }

    fn trainer(&self) -> usize {
        self.rank
    }

    fn all_to_all(&mut self, round: SampleParts) -> Result<SampleParts> {
        for (to, part) in self.to.iter().zip(round.parts) {
            to.send((self.rank, part, round.more)).unwrap();
        }
        let mut got = SampleParts { parts: vec![Vec::new(); self.to.len()], more: false };
        for _ in 0..self.to.len() {
            let (from, part, more) = self.from.recv().unwrap();
            got.parts[from] = part;
            got.more |= more;
        }
        // No trainer starts the next exchange before all have received this one.
        self.barrier.wait();
        Ok(got)
    }
}

fn connect(n: usize) -> Vec<Threads> {
    let (to, from): (Vec<_>, Vec<_>) = (0..n).map(|_| mpsc::channel()).unzip();
    let barrier = Arc::new(std::sync::Barrier::new(n));
    from.into_iter()
        .enumerate()
        .map(|(rank, from)| Threads { rank, to: to.clone(), from, barrier: barrier.clone() })
        .collect()
}

#[test]
fn a_global_shuffle_loses_nothing_and_mixes_trainers() {
    let dir = Dir::new();
    let files = numbered(&dir, 3, 200);
    let shares = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (mut peer, file) in connect(3).into_iter().zip(&files) {
            let shares = &shares;
            scope.spawn(move || {
                let mut dataset = numbers(std::slice::from_ref(file), 50);
                load(&mut dataset);
                dataset.global_shuffle(&mut peer, ShuffleBy::Chance, 5).unwrap();
                shares.lock().unwrap().push(first_ids(&all(&dataset)));
            });
        }
    });
    let shares = shares.into_inner().unwrap();
    for share in &shares {
        let of_file = |i: i64| share.iter().filter(|v| (*v - 1) / 200 == i).count();
        assert!((0..3).all(|i| (30..110).contains(&of_file(i))), "{share:?}");
    }
    let mut together = shares.concat();
    together.sort();
    assert_eq!(together, (1..=600).collect::<Vec<_>>());
}

#[test]
fn trainer_alone_keeps_its_samples_and_merges_equal_line_ids() {
    let dir = Dir::new();
    let mut dataset = numbers(&numbered(&dir, 1, 100), 1000);
    load(&mut dataset);
    dataset.global_shuffle(&mut Alone, ShuffleBy::Chance, 3).unwrap();
    let mut ids = first_ids(&all(&dataset));
    assert_ne!(ids, (1..=100).collect::<Vec<_>>());
    ids.sort();
    assert_eq!(ids, (1..=100).collect::<Vec<_>>());

    let file = |i: usize| {
        dir.write(&format!("ids-{i}"), (0..50).map(|j| format!("1 id{j} 1 {}\n", j + 1)).collect::<String>())
    };
    std::thread::scope(|scope| {
        for (i, mut peer) in connect(2).into_iter().enumerate() {
            let name = file(i);
            scope.spawn(move || {
                let mut dataset = numbers(&[name], 1000);
                dataset.format.leading = vec![Leading::LineId];
                load(&mut dataset);
                dataset.global_shuffle(&mut peer, ShuffleBy::LineId, i as u64).unwrap();
                let mut ids = first_ids(&all(&dataset));
                ids.sort();
                assert!(ids.len() > 10 && ids.chunks(2).all(|pair| pair[0] == pair[1]), "{ids:?}");
            });
        }
    });
}

#[test]
fn files_can_be_compressed_piped_and_matched_by_patterns() {
    let dir = Dir::new();
    let text = "1 1\n2 2 3\n1 4\n";
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    let zst = ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    dir.write("a.gz", [&gz[..], &gz[..]].concat());
    dir.write("b.zst", zst);
    dir.write("c", text);
    let ids = |files: &[String], command: &str| {
        let mut dataset = queue(files, id_slot(), 100);
        dataset.source.pipe_command = command.to_string();
        first_ids(&read(&dataset).unwrap())
    };
    assert_eq!(ids(&[dir.path("a.gz")], "cat"), [1, 2, 3, 4, 1, 2, 3, 4]);
    assert_eq!(ids(&[dir.path("b.zst")], ""), [1, 2, 3, 4]);
    assert_eq!(ids(&[dir.path("*")], "").len(), 16);
    for name in ["b.zst", "c"] {
        assert_eq!(ids(&[dir.path(name)], "sed 's/4/9/' | head -n 3"), [1, 2, 3, 9]);
        assert_eq!(ids(&[dir.path(name)], "head -n 1"), [1]);
    }
    // As in Fluid, where there is a bash it is used.
    if std::path::Path::new("/bin/bash").exists() {
        assert_eq!(ids(&[dir.path("c")], "[[ 1 == 1 ]] && cat"), [1, 2, 3, 4]);
    }
}

#[test]
fn several_readers_read_every_file_once() {
    let dir = Dir::new();
    let files = numbered(&dir, 7, 100);
    let mut run = queue(&files, id_slot(), 33).start(3, Arc::default()).unwrap();
    let readers = run.take_readers();
    assert_eq!(readers.len(), 3);
    let mut ids: Vec<i64> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            readers.into_iter().map(|mut r| scope.spawn(move || first_ids(&drain(&mut r).unwrap()))).collect();
        threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    ids.sort();
    assert_eq!(ids, (1..=700).collect::<Vec<_>>());
    assert_eq!(run.progress().samples(), 700);
    assert_eq!(queue(&files[..2], id_slot(), 33).start(3, Arc::default()).unwrap().take_readers().len(), 2);
}

#[test]
fn lines_longer_than_a_block_are_read() {
    let dir = Dir::new();
    let line = format!("400000{}\n", " 123456".repeat(400_000));
    let file = dir.write("a", format!("1 7\n{line}1 8"));
    let batches = read(&queue(&[file], id_slot(), 1)).unwrap();
    assert_eq!(batches.iter().map(|b| b[0].numel()).collect::<Vec<_>>(), [1, 400_000, 1]);
}
