//! Files that mean harm or were damaged: every parser returns an error or a value, and takes little memory.
//!
//! The mutations run in a process of their own, so that the memory they take can be told from that of other tests.

use std::io::Cursor;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use oarlock_io::data::recordio::{Compressor, RecordReader, RecordWriter, decode_sample, encode_sample};
use oarlock_io::data::{BadLines, SlotSpec, SlotType, Source, describe};
use oarlock_io::{
    InferenceModel, Manifest, View, decode_rows, decode_safetensors, decode_tensor, encode_vars, load_vars_from_bytes,
    persistables, read_npz, read_pickle, write_npz, write_safetensors,
};
use oarlock_ir::{Program, Result, Shape};

use super::allocations::most_allocated;
use super::common::{TempDir, Values, golden, read, small_program, small_values};

const CHILD: &str = "OARLOCK_TEST_HOSTILE";

/// No file makes a parser allocate more.
const MOST: usize = 64 << 20;

/// Changed files that are changed further.
const CORPUS: usize = 256;

/// One file in memory.
struct Memory<'a>(&'a [u8]);

impl View for Memory<'_> {
    fn has(&self, _: &str) -> bool {
        true
    }

    fn open(&self, name: &str) -> Result<oarlock_io::Source> {
        Ok(oarlock_io::Source::new(name.into(), self.0.len() as u64, None, Box::new(Cursor::new(self.0.to_vec()))))
    }

    fn files(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn manifest(&self) -> Option<&Manifest> {
        None
    }

    fn describe(&self) -> String {
        "memory".into()
    }
}

/// Random numbers that are the same in every run (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Changes a few places as a bad disk or a bad mind would.
fn mutate(good: &[u8], r: &mut Random) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for _ in 0..=r.below(4) {
        if bytes.is_empty() {
            return bytes;
        }
        let at = r.below(bytes.len());
        let n = r.below(9).min(bytes.len() - at);
        match r.below(7) {
            0 => bytes[at] ^= 1 << r.below(8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][r.below(5)],
            2 => bytes[at..at + n].fill([0, 0xff, 0x7f][r.below(3)]),
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(at..at + n)),
            5 => {
                let copy = bytes[at..at + n].to_vec();
                let to = r.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            _ => bytes.insert(at, r.next() as u8),
        }
    }
    bytes
}

/// How long each parser is attacked: `cargo xtask fuzz` asks for longer.
#[expect(clippy::disallowed_methods, reason = "how a test tells its child process what to do")]
fn patience() -> Duration {
    let seconds = std::env::var("OARLOCK_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    seconds.map_or(Duration::from_millis(150), Duration::from_secs_f64)
}

/// Attacks a parser with changed copies of a good file, and with changed copies of those that passed for one.
#[expect(clippy::disallowed_methods, reason = "looks at the clock to know when to stop")]
fn attack(name: &str, good: &[u8], parse: impl Fn(&[u8]) -> bool) {
    assert!(parse(good), "{name}: the seed itself");
    let (start, mut r, mut corpus) = (Instant::now(), Random(name.len() as u64), vec![good.to_vec()]);
    let (mut tried, mut refused, mut most) = (0usize, 0usize, 0);
    while start.elapsed() < patience() {
        let bytes = mutate(&corpus[r.below(corpus.len())], &mut r);
        let (passed, allocated) = most_allocated(|| parse(&bytes));
        assert!(allocated <= MOST, "{name}: {} MB for {} bytes: {bytes:?}", allocated >> 20, bytes.len());
        (tried, most) = (tried + 1, most.max(allocated));
        refused += usize::from(!passed);
        // Of about the same size: what is nearly empty passes often and tries little.
        if passed && corpus.len() < CORPUS && (good.len() / 2..2 * good.len()).contains(&bytes.len()) {
            corpus.push(bytes);
        }
    }
    eprintln!("{name:<12} {tried:>9} files, {refused:>9} refused, at most {:>6} kB allocated", most >> 10);
    assert!(refused > tried / 20, "{name}: only {refused} of {tried} were refused");
}

/// Attacks a parser that reads from a file.
fn attack_file(name: &str, good: &[u8], path: &Path, parse: impl Fn() -> bool) {
    attack(name, good, |bytes| {
        std::fs::write(path, bytes).unwrap();
        parse()
    });
}

fn attack_formats() {
    let files = golden().join("ops/files");
    attack("tensor", &read(files.join("t_lod1")), |b| decode_tensor(b, "t").is_ok());
    attack("rows", &read(files.join("t_selected_rows")), |b| decode_rows(b, "t").is_ok());
    let program = small_program();
    let combined = encode_vars(&persistables(&program), &small_values(1.0)).unwrap();
    attack("combined", &combined, |b| load_vars_from_bytes(b, &persistables(&program), &Values::default()).is_ok());
    let pickle = read(golden().join("fit_a_line/save/model.pdparams"));
    attack("pickle", &pickle, |b| read_pickle(b, "p").is_ok());
    let (w, b) = (small_values(1.0).tensor("w"), small_values(1.0).tensor("b"));
    let (mut tensors, mut arrays) = (Vec::new(), Vec::new());
    write_safetensors(&[("w".into(), &w), ("b".into(), &b)], &mut tensors).unwrap();
    attack("safetensors", &tensors, |b| decode_safetensors(b, "t").is_ok());
    write_npz(&[("w".into(), &w), ("b".into(), &b)], &mut arrays).unwrap();
    attack("npz", &arrays, |b| read_npz(b, "t").is_ok());
    let model = read(golden().join("fit_a_line/infer_sep/__model__"));
    attack("program", &model, |b| Program::from_bytes(b).is_ok());
    attack("model", &model, |b| InferenceModel::read(&Memory(b), "__model__").is_ok());
    let json = read(golden().join("compat_3.3.1/model.json"));
    attack("json", &json, |b| InferenceModel::read(&Memory(b), "model.json").is_ok());
    let text = Program::from_bytes(&model).unwrap().to_text();
    attack("text", text.as_bytes(), |b| Program::from_text(&String::from_utf8_lossy(b)).is_ok());
    let dir = TempDir::new();
    oarlock_io::save_vars(&dir.store(), None, &persistables(&program), &small_values(1.0)).unwrap();
    let manifest = read(dir.path().join(oarlock_io::MANIFEST));
    attack("manifest", &manifest, |b| Manifest::from_bytes(b, "m").is_ok());
}

fn attack_data() {
    let dir = TempDir::new();
    let path = dir.path().join("part-0");
    let slots = vec![
        SlotSpec::sparse("ids", SlotType::Id),
        SlotSpec::dense("x", SlotType::Float, Shape::from_i64(&[-1, 2])).unwrap(),
    ];
    let source = || Source::files([path.display().to_string()]);
    let text = b"2 11 7 2 0.5 -1e3\n1 9 2 3 4\n3 1 2 3 2 0 1\n";
    attack_file("multislot", text, &path, || describe(&source(), Some(slots.clone()), BadLines::Fail).is_ok());
    let record = encode_sample(&[small_values(1.0).tensor("w")]);
    for (name, compressor) in [("recordio", Compressor::None), ("snappy", Compressor::Snappy)] {
        let mut writer = RecordWriter::new(Vec::new(), compressor, 2);
        (0..5).for_each(|_| writer.write(&record).unwrap());
        attack(name, &writer.finish().unwrap(), |b| read_records(b).is_ok());
    }
}

fn read_records(bytes: &[u8]) -> Result<()> {
    let mut records = RecordReader::new(bytes, "r");
    while let Some(record) = records.next_record()? {
        decode_sample(record, "r")?;
    }
    Ok(())
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how a test tells its child process what to do")]
fn child() {
    if std::env::var_os(CHILD).is_some() {
        attack_formats();
        attack_data();
    }
}

#[test]
fn mutated_files_neither_panic_nor_take_much_memory() {
    let exe = std::env::current_exe().unwrap();
    let out =
        Command::new(exe).args(["--exact", "files::hostile::child", "--nocapture"]).env(CHILD, "1").output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{text}");
    eprintln!("{text}");
}
