//! Files that mean harm or were damaged: every parser returns an error or a value, and takes little memory.
//!
//! The mutations run in a process of their own, so that the memory they take can be told from that of other tests.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use oarlock_io::data::recordio::{Compressor, RecordReader, RecordWriter, decode_sample, encode_sample};
use oarlock_io::data::{
    BadLines, Batch, BatchSource, Csv, Format, QueueDataset, Records, SlotSpec, SlotType, Source, TableColumns,
    describe,
};
use oarlock_io::{
    InferenceModel, Manifest, View, decode_rows, decode_safetensors, decode_tensor, encode_vars, load_vars_from_bytes,
    persistables, read_npz, read_pickle, write_npz, write_safetensors,
};
use oarlock_ir::{Program, Result, Shape};
use oarlock_testkit::{Counting, attack, in_own_process};

use super::common::{TempDir, Values, golden, read, small_program, small_values};

const CHILD: &str = "OARLOCK_TEST_HOSTILE";

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One file in memory.
struct Memory<'a>(&'a [u8]);

impl View for Memory<'_> {
    fn has(&self, _: &str) -> bool {
        true
    }

    fn open(&self, name: &str) -> Result<oarlock_io::StoredFile> {
        Ok(oarlock_io::StoredFile::new(name.into(), self.0.len() as u64, None, Box::new(Cursor::new(self.0.to_vec()))))
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
    let csv = Csv {
        table: TableColumns { columns: vec![vec!["ids".into()], vec!["a".into(), "b".into()]], missing: None },
        delimiter: b',',
        list: b'|',
        header: true,
    };
    let text = b"a,\"note\",ids,b\n1.5,\"x, \"\"y\"\"\nz\",7|8,2\n3,,9,4\n";
    attack_file("csv", text, &path, || read_table(&path, &slots, Records::Csv(csv.clone())).is_ok());
    #[cfg(feature = "parquet")]
    attack_parquet(&path);
    let record = encode_sample(&[small_values(1.0).tensor("w")]);
    for (name, compressor) in [("recordio", Compressor::None), ("snappy", Compressor::Snappy)] {
        let mut writer = RecordWriter::new(Vec::new(), compressor, 2);
        (0..5).for_each(|_| writer.write(&record).unwrap());
        attack(name, &writer.finish().unwrap(), |b| read_records(b).is_ok());
    }
}

fn read_table(path: &Path, slots: &[SlotSpec], records: Records) -> Result<()> {
    let format = Format { records, ..Format::strict(slots.to_vec()) };
    let source = Source::files([path.display().to_string()]);
    let dataset = QueueDataset { source, format, batch_size: 10, queue: 2 };
    let mut reader = dataset.start(1, Arc::default())?.take_readers().remove(0);
    let mut batch = Batch::new();
    while reader.next(&mut batch)? {}
    Ok(())
}

/// A small file that another program wrote.
#[cfg(feature = "parquet")]
fn attack_parquet(path: &Path) {
    let good = read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tables/small.parquet"));
    let slots = [SlotSpec::sparse("ids", SlotType::Id), SlotSpec::sparse("price", SlotType::Float)];
    let table = TableColumns { columns: vec![vec!["ids".into()], vec!["price".into()]], missing: None };
    attack_file("parquet", &good, path, || read_table(path, &slots, Records::Parquet(table.clone())).is_ok());
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
    in_own_process("files::hostile::child", CHILD);
}
