//! Files that mean harm or were damaged: every parser returns an error or a value, and takes little memory.
//!
//! The mutations run in a process of their own, so that the memory they take can be told from that of other tests.

use std::io::Cursor;
use std::process::Command;

use oarlock_io::{
    InferenceModel, Manifest, Source, View, decode_rows, decode_safetensors, decode_tensor, encode_vars,
    load_vars_from_bytes, persistables, read_pickle, write_safetensors,
};
use oarlock_ir::Result;

use super::common::{TempDir, Values, golden, read, small_program, small_values};

const CHILD: &str = "OARLOCK_TEST_HOSTILE";
const ROUNDS: usize = 20_000;

/// One file in memory.
struct Memory<'a>(&'a [u8]);

impl View for Memory<'_> {
    fn has(&self, _: &str) -> bool {
        true
    }

    fn open(&self, name: &str) -> Result<Source> {
        Ok(Source::new(name.into(), self.0.len() as u64, None, Box::new(Cursor::new(self.0.to_vec()))))
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

/// The most memory this process ever had mapped, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmPeak:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

fn attack(name: &str, good: &[u8], parse: impl Fn(&[u8]) -> bool) {
    assert!(parse(good), "{name}: the seed itself");
    let before = peak();
    let mut r = Random(name.len() as u64);
    let refused = (0..ROUNDS).filter(|_| !parse(&mutate(good, &mut r))).count();
    let grown = peak() - before;
    assert!(refused > ROUNDS / 20, "{name}: only {refused} of {ROUNDS} were refused");
    assert!(grown <= 64 << 20, "{name}: {} MB for {} bytes", grown >> 20, good.len());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how a test tells its child process what to do")]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let files = golden().join("ops/files");
    let lod = read(files.join("t_lod1"));
    attack("tensor", &lod, |b| decode_tensor(b, "t").is_ok());
    attack("rows", &read(files.join("t_selected_rows")), |b| decode_rows(b, "t").is_ok());
    let program = small_program();
    let combined = encode_vars(&persistables(&program), &small_values(1.0)).unwrap();
    attack("combined", &combined, |b| load_vars_from_bytes(b, &persistables(&program), &Values::default()).is_ok());
    let pickle = read(golden().join("fit_a_line/save/model.pdparams"));
    attack("pickle", &pickle, |b| read_pickle(b, "p").is_ok());
    let (w, b) = (small_values(1.0).tensor("w"), small_values(1.0).tensor("b"));
    let mut tensors = Vec::new();
    write_safetensors(&[("w".into(), &w), ("b".into(), &b)], &mut tensors).unwrap();
    attack("safetensors", &tensors, |b| decode_safetensors(b, "t").is_ok());
    let model = read(golden().join("fit_a_line/infer_sep/__model__"));
    attack("model", &model, |b| InferenceModel::read(&Memory(b), "__model__").is_ok());
    let json = read(golden().join("compat_3.3.1/model.json"));
    attack("json", &json, |b| InferenceModel::read(&Memory(b), "model.json").is_ok());
    let dir = TempDir::new();
    oarlock_io::save_vars(&dir.store(), None, &persistables(&program), &small_values(1.0)).unwrap();
    let path = dir.path().join(oarlock_io::MANIFEST);
    attack("manifest", &read(&path), |b| {
        std::fs::write(&path, b).unwrap();
        oarlock_io::Store::view(&dir.store()).is_ok()
    });
}

#[test]
fn mutated_files_neither_panic_nor_take_much_memory() {
    let exe = std::env::current_exe().unwrap();
    let out =
        Command::new(exe).args(["--exact", "files::hostile::child", "--nocapture"]).env(CHILD, "1").output().unwrap();
    assert!(out.status.success(), "{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
}
