//! Making, describing and converting data sets.

use oarlock_io::data::{BadLines, CriteoOptions, Source, convert, criteo_slots, describe, guess_slots, write_criteo};

use crate::data::fixture::{Dir, queue, read};

#[test]
fn a_made_up_data_set_can_be_read_and_described() {
    let dir = Dir::new();
    let make = |name: &str, files| {
        let path = dir.path(name);
        let made = write_criteo(path.as_ref(), CriteoOptions { samples: 1000, files, seed: 1 }).unwrap();
        (format!("{path}/part-*"), made)
    };
    let (three, made) = make("three", 3);
    let (one, same) = make("one", 1);
    assert_eq!(made, same);
    assert!(made.best_auc > 0.75 && (200..400).contains(&made.clicks), "{made:?}");
    let batches = |pattern: &str| read(&queue(&[pattern.to_string()], criteo_slots().unwrap(), 300)).unwrap();
    let read_back = batches(&three);
    assert_eq!(read_back, batches(&one));
    assert_eq!(read_back.iter().map(|b| b[0].rows()).collect::<Vec<_>>(), [300, 300, 300, 100]);
    assert_eq!(read_back[0][1].dims()[..], [300, 13]);

    let stat = describe(&Source::files([three]), None, BadLines::Fail).unwrap();
    assert_eq!((stat.samples, stat.slots.len(), stat.slots[1].values), (1000, 28, 13_000));
    assert_eq!(stat.slots[0].label_rate(), Some(made.clicks as f64 / 1000.0));
    assert_eq!(stat.slots[1].distinct(), None);
    let table = stat.to_string();
    assert!(table.starts_with("1000 samples\n\nslot     type     per sample"), "{table}");
    assert!(table.contains("\nslot 1   float32          13       13000           -"), "{table}");
}

#[test]
fn slots_are_guessed_from_all_files() {
    let dir = Dir::new();
    dir.write("a", "1 1 2 3 4\n");
    dir.write("b", "1 0 1 0.5\nnot a line\n");
    let slots = guess_slots(&Source::files([dir.path("*")])).unwrap();
    let types: Vec<String> = slots.iter().map(|s| s.ty().to_string()).collect();
    assert_eq!(types, ["int64", "float32"]);
    let source = Source::files([dir.path("*")]);
    assert!(describe(&source, None, BadLines::Fail).unwrap_err().to_string().contains("b:2:1:"));
    let stat = describe(&source, None, BadLines::Skip).unwrap();
    assert_eq!((stat.samples, stat.skipped, stat.slots[1].per_sample, stat.slots[1].range), (2, 1, (1, 2), (0.5, 4.0)));
    assert!(
        guess_slots(&Source::files([dir.write("c", "x\n")])).unwrap_err().to_string().contains("no line consists of")
    );
}

#[test]
fn slot_value_text_is_converted() {
    let dir = Dir::new();
    let file = dir.write("log.txt", "click:0 dense:0.5 dense:1 1:737395 2:21\ndense:0.25 click:1 dense:2 1:7\n");
    let out = dir.path("out");
    let done = convert(&Source::files([&file]), out.as_ref(), None).unwrap();
    assert_eq!((done.samples, done.slots), (2, ["click", "dense", "1", "2"].map(String::from).to_vec()));
    let text = std::fs::read_to_string(&done.files[0]).unwrap();
    assert_eq!(text, "1 0 2 0.5 1 1 737395 1 21\n1 1 2 0.25 2 1 7 1 0\n");
    let slots = Some(["click", "dense"].map(String::from).to_vec());
    let error = convert(&Source::files([&file]), out.as_ref(), slots).unwrap_err().to_string();
    assert!(error.contains("log.txt:1:27: slot `1` is not one of the 2 slots"), "{error}");
    let here = std::path::Path::new(&file).parent().unwrap();
    assert!(convert(&Source::files([&file]), here, None).unwrap_err().to_string().contains("would be written over"));
}
