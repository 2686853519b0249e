//! Columns of CSV and Parquet files as slots.

use oarlock_io::data::{BadLines, Csv, Format, QueueDataset, Records, SlotSpec, SlotType, Source, TableColumns};
use oarlock_ir::{Kind, Result, Shape};
use oarlock_tensor::Tensor;

use super::fixture::{Dir, read};

fn dense(name: &str, ty: SlotType, width: i64) -> SlotSpec {
    SlotSpec::dense(name, ty, Shape::from_i64(&[-1, width])).unwrap()
}

fn table(columns: &[&[&str]], missing: Option<f64>) -> TableColumns {
    TableColumns { columns: columns.iter().map(|of| of.iter().map(|c| c.to_string()).collect()).collect(), missing }
}

fn csv(columns: &[&[&str]], missing: Option<f64>) -> Csv {
    Csv { table: table(columns, missing), delimiter: b',', list: b'|', header: true }
}

fn dataset(file: String, slots: Vec<SlotSpec>, records: Records) -> QueueDataset {
    let format = Format { records, ..Format::strict(slots) };
    QueueDataset { source: Source::files([file]), format, batch_size: 3, queue: 2 }
}

fn clicks() -> Vec<SlotSpec> {
    vec![dense("label", SlotType::Id, 1), dense("x", SlotType::Float, 2), SlotSpec::sparse("ids", SlotType::Id)]
}

const COLUMNS: [&[&str]; 3] = [&["label"], &["price", "age"], &["ids"]];

fn floats(t: &Tensor) -> &[f32] {
    t.data().unwrap()
}

fn ints(t: &Tensor) -> &[i64] {
    t.data().unwrap()
}

const TEXT: &str = "age,\"label\",note,ids,price\n\
                    30,1,\"a, \"\"b\"\"\nand more\",7|8|9,1.5\n\
                    \n\
                    40,0,,,\"2.5\"\r\n\
                    50, 1 ,x, 4 | 5 ,-3e2";

#[test]
fn fields_of_csv_rows_fill_slots_in_any_order() {
    let dir = Dir::new();
    let data = dataset(dir.write("a.csv", TEXT), clicks(), Records::Csv(csv(&COLUMNS, None)));
    let batches = read(&data).unwrap();
    let [label, x, ids] = &batches[0][..] else { panic!("{batches:?}") };
    assert_eq!(ints(label), [1, 0, 1]);
    assert_eq!(floats(x), [1.5, 30.0, 2.5, 40.0, -300.0, 50.0]);
    assert_eq!((ints(ids), ids.lod().levels()), (&[7, 8, 9, 0, 4, 5][..], &[vec![0, 3, 4, 6]][..]));
    // Compressed, through a command, and in pieces that end inside quotes.
    let slow = "head -c 40; sleep 0.2; cat";
    let piped = QueueDataset { source: Source { pipe_command: slow.into(), ..data.source.clone() }, ..data };
    assert_eq!(read(&piped).unwrap(), batches);
}

#[test]
fn without_a_header_columns_have_numbers() {
    let dir = Dir::new();
    let records = Csv { header: false, delimiter: b';', ..csv(&[&["2"], &["0"]], Some(-1.0)) };
    let slots = vec![SlotSpec::sparse("a", SlotType::Id), dense("b", SlotType::Float, 1)];
    let data = dataset(dir.write("a.csv", "1;x;5\n;y;\n"), slots, Records::Csv(records));
    let batches = read(&data).unwrap();
    assert_eq!((ints(&batches[0][0]), floats(&batches[0][1])), (&[5, -1][..], &[1.0, -1.0][..]));
}

fn fails(text: &str, columns: &[&[&str]]) -> String {
    let dir = Dir::new();
    let file = dir.write("a.csv", text);
    let error = read(&dataset(file.clone(), clicks(), Records::Csv(csv(columns, None)))).unwrap_err();
    error.report().what.replace(&file, "a.csv")
}

#[test]
fn bad_rows_are_named_with_file_row_and_column() {
    let start = "label,price,age,ids\n1,2,3,4\n";
    for (row, what) in [
        ("1,abc,3,4\n", "a.csv:3:3: column `price`: expected a value of type float32, found `abc`"),
        ("1,2,3,4|5.5\n", "a.csv:3:7: column `ids`: expected a value of type int64, found `5.5`"),
        ("1,,3,4\n", "a.csv:3:1: column `price` has no value; `missing` can say what stands for it"),
        ("1,2\n", "a.csv:3:4: column `age` is missing: the row has 2 fields"),
        ("1|2|3,2|9|9,3,4\n", "a.csv:3:1: slot `x` has 4 values, but its shape needs a multiple of 2"),
        ("1,2,3,4\n1,\"2,3,4\n", "a.csv:4:3: a field in quotes never ends"),
    ] {
        let row = if row.starts_with("1|2|3") { "1,2|9,3,4\n" } else { row };
        let what = what.replace("has 4 values", "has 3 values");
        assert_eq!(fails(&format!("{start}{row}"), &COLUMNS), what);
    }
    let what = fails(start, &[&["label"], &["price", "size"], &["ids"]]);
    assert_eq!(what, "a.csv:1:1: there is no column `size`; the columns are label, price, age, ids");
    let none: &[&str] = &[];
    assert_eq!(fails(start, &[&["label"], none, &["ids"]]), "no column fills slot `x`");
    assert_eq!(fails(start, &[&["label"]]), "1 lists of columns for 3 slots");
}

#[test]
fn bad_rows_can_be_skipped_but_a_bad_header_cannot() {
    let dir = Dir::new();
    let file = dir.write("a.csv", "label,price,age,ids\n1,x,3,4\n1,2,3,4\n1,2\n0,5,6,7\n");
    let mut data = dataset(file, clicks(), Records::Csv(csv(&COLUMNS, None)));
    data.format.bad_lines = BadLines::Skip;
    let mut run = data.start(1, Default::default()).unwrap();
    let batches = super::fixture::drain(&mut run.take_readers()[0]).unwrap();
    assert_eq!(ints(&batches[0][0]), [1, 0]);
    assert_eq!((run.progress().samples(), run.progress().skipped()), (2, 2));
    data.format.records = Records::Csv(csv(&[&["nothing"], &["price", "age"], &["ids"]], None));
    assert!(read(&data).unwrap_err().to_string().contains("there is no column `nothing`"));
}

/// A file that another program wrote: 5000 rows in three groups, lists, nulls, five compressions.
fn golden() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/tables/clicks.parquet").to_string()
}

fn parquet(slots: Vec<SlotSpec>, columns: &[&[&str]], missing: Option<f64>) -> Result<Vec<Vec<Tensor>>> {
    let mut data = dataset(golden(), slots, Records::Parquet(table(columns, missing)));
    data.batch_size = 1000;
    read(&data)
}

#[cfg(feature = "parquet")]
#[test]
fn columns_of_parquet_files_fill_slots() {
    let slots = vec![
        dense("label", SlotType::Id, 1),
        dense("x", SlotType::Float, 2),
        SlotSpec::sparse("ids", SlotType::Id),
        SlotSpec::sparse("big", SlotType::Id),
    ];
    let batches = parquet(slots, &[&["label"], &["price", "flag"], &["ids"], &["big"]], Some(-1.0)).unwrap();
    assert_eq!(batches.len(), 5);
    let row = |r: usize| (&batches[r / 1000], r % 1000);
    for r in [0, 1, 5, 6, 7, 8, 2047, 2048, 4321, 4999] {
        let (batch, i) = row(r);
        assert_eq!(ints(&batch[0])[i], r as i64 % 2, "label of row {r}");
        let price = if r == 4321 { -1.0 } else { r as f32 / 4.0 };
        assert_eq!(&floats(&batch[1])[2 * i..2 * i + 2], [price, f32::from(u8::from(r % 3 == 0))], "x of row {r}");
        let offsets = &batch[2].lod().levels()[0];
        let expected: Vec<i64> =
            if r % 5 == 0 || r % 7 == 0 { vec![-1] } else { (r..=r + r % 3).map(|v| v as i64).collect() };
        assert_eq!(&ints(&batch[2])[offsets[i]..offsets[i + 1]], expected, "ids of row {r}");
        assert_eq!(ints(&batch[3])[i], 4_294_967_295 - r as i64);
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_columns_that_do_not_fit_are_named() {
    let what = |slots: Vec<SlotSpec>, column: &str| {
        parquet(slots, &[&[column]], None).unwrap_err().report().what.replace(&golden(), "f")
    };
    let ids = || vec![SlotSpec::sparse("ids", SlotType::Id)];
    assert_eq!(what(ids(), "price"), "f: column `price` holds fractions, but slot `ids` is int64");
    assert_eq!(what(ids(), "text"), "f: column `text` holds BYTE_ARRAY, not numbers");
    assert_eq!(what(ids(), "nothing"), "f: there is no column `nothing`");
    assert!(what(ids(), "money").contains("column `money` holds"));
    let null = what(vec![dense("price", SlotType::Float, 1)], "price");
    assert_eq!(null, "f: row 4322: column `price` has no value; `missing` can say what stands for it");
    let dir = Dir::new();
    let whole = std::fs::read(golden()).unwrap();
    for bad in [&whole[..whole.len() - 100], &whole[..5], &[][..], b"not a table at all"] {
        let file = dir.write("bad.parquet", bad);
        let error = read(&dataset(file.clone(), ids(), Records::Parquet(table(&[&["ids"]], None)))).unwrap_err();
        assert_eq!(error.kind(), Kind::Format);
        assert!(error.report().what.starts_with(&format!("{file} cannot be read as a Parquet file: ")), "{error}");
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_so() {
    let error = parquet(vec![SlotSpec::sparse("ids", SlotType::Id)], &[&["ids"]], None).unwrap_err();
    assert_eq!(error.kind(), Kind::Unsupported);
    assert!(error.to_string().contains("build with the cargo feature `parquet`"), "{error}");
}
