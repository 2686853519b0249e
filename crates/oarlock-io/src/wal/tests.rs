//! Logs that were ended, cut off, damaged or replaced.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("oarlock-wal-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    fn segment(&self, number: u64) -> PathBuf {
        self.0.join(segment_name(number))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const HISTORY: &str = "0123456789abcdef0123456789abcdef";

fn append(wal: &Wal, text: &str) -> u64 {
    let bytes = text.as_bytes();
    let check = (bytes.len().is_multiple_of(2)).then(|| crc32fast::hash(bytes));
    wal.append(&[b"head", b""], Payload { bytes, check }).unwrap()
}

fn read(dir: &Path, from: u64) -> Result<(Vec<String>, Wal, Recovered)> {
    let mut texts = Vec::new();
    let mut take = |_: u64, body: &[u8]| {
        texts.push(String::from_utf8_lossy(&body[4..]).into_owned());
        Ok(())
    };
    let (wal, recovered) = Wal::open(dir, HISTORY, Durability::Process, from, &mut take)?;
    Ok((texts, wal, recovered))
}

fn written(name: &str, texts: &[&str]) -> Folder {
    let folder = Folder::new(name);
    let wal = Wal::create(&folder.0, HISTORY, Durability::Power).unwrap();
    for text in texts {
        let sequence = append(&wal, text);
        wal.commit(sequence).unwrap();
    }
    folder
}

fn error(folder: &Folder) -> String {
    read(&folder.0, 1).err().expect("an error").to_string()
}

#[test]
fn records_are_read_again_in_order_and_new_ones_follow_them() {
    let folder = written("order", &["one", "two", ""]);
    let (texts, wal, recovered) = read(&folder.0, 1).unwrap();
    assert_eq!((texts, recovered.records, recovered.cut), (vec!["one".into(), "two".into(), String::new()], 3, 0));
    assert_eq!(append(&wal, "four"), 4);
    drop(wal);
    assert_eq!(read(&folder.0, 1).unwrap().0, ["one", "two", "", "four"]);
}

#[test]
fn segments_before_a_snapshot_are_removed_and_the_rest_is_read() {
    let folder = written("rotate", &["one"]);
    let (_, wal, _) = read(&folder.0, 1).unwrap();
    append(&wal, "two");
    let number = wal.rotate().unwrap();
    append(&wal, "three");
    let before = wal.bytes();
    wal.remove_before(number).unwrap();
    assert!(wal.bytes() < before);
    let (texts, wal, _) = read(&folder.0, number).unwrap();
    assert_eq!((texts, wal.records()), (vec!["three".to_string()], 3));
    let error = read(&folder.0, 1).err().expect("segment 1 is gone").to_string();
    assert!(error.contains("lacks segment 1"), "{error}");
}

/// A process that is killed in the middle of a write leaves any number of its bytes.
#[test]
fn tail_of_any_length_is_cut_off() {
    let whole = written("whole", &["one", "two"]);
    let bytes = fs::read(whole.segment(1)).unwrap();
    let second = bytes.len() - (RECORD_HEADER + 4 + 3);
    for len in second..bytes.len() {
        let folder = written("tail", &["one", "two"]);
        fs::write(folder.segment(1), &bytes[..len]).unwrap();
        let (texts, wal, recovered) = read(&folder.0, 1).unwrap();
        assert_eq!((texts, recovered.cut), (vec!["one".to_string()], (len - second) as u64), "{len}");
        assert_eq!(append(&wal, "again"), 2);
        drop(wal);
        assert_eq!(read(&folder.0, 1).unwrap().0, ["one", "again"]);
    }
}

#[test]
fn segment_without_a_whole_header_is_made_again() {
    let folder = written("header", &["one"]);
    fs::write(folder.segment(2), b"OARLK").unwrap();
    let (texts, wal, _) = read(&folder.0, 1).unwrap();
    assert_eq!((texts.len(), append(&wal, "two")), (1, 2));
    drop(wal);
    assert_eq!(read(&folder.0, 1).unwrap().0, ["one", "two"]);
}

/// Every byte of a record with another one behind it.
#[test]
fn damaged_middle_is_named_and_stays_as_it_is() {
    let folder = written("middle", &["one", "two", "three"]);
    let good = fs::read(folder.segment(1)).unwrap();
    for at in SEGMENT_HEADER..SEGMENT_HEADER + RECORD_HEADER + 7 {
        let mut bytes = good.clone();
        bytes[at] ^= 0x20;
        fs::write(folder.segment(1), &bytes).unwrap();
        let error = error(&folder);
        assert!(error.contains("is damaged at byte 64, record 1"), "byte {at}: {error}");
        assert_eq!(fs::read(folder.segment(1)).unwrap(), bytes);
    }
}

#[test]
fn damage_before_the_last_segment_is_never_cut_off() {
    let folder = written("early", &["one"]);
    drop(read(&folder.0, 1).unwrap());
    let len = fs::metadata(folder.segment(1)).unwrap().len();
    File::options().write(true).open(folder.segment(1)).unwrap().set_len(len - 1).unwrap();
    assert!(error(&folder).contains("it ends within a record"));
}

#[test]
fn foreign_segments_and_other_releases_are_named() {
    let folder = written("foreign", &["one"]);
    let other = SegmentHeader { lineage: "another".into(), number: 1, before: 0 }.encode();
    fs::write(folder.segment(1), other).unwrap();
    assert!(error(&folder).contains("belongs to another log: history another"), "{}", error(&folder));
    let mut newer = other;
    newer[8] = 9;
    fs::write(folder.segment(1), newer).unwrap();
    assert!(error(&folder).contains("has version 9 of the log"), "{}", error(&folder));
    fs::write(folder.segment(1), [7; 100]).unwrap();
    assert!(error(&folder).contains("is not a segment of a log"), "{}", error(&folder));
}

#[test]
fn new_log_does_not_replace_an_old_one() {
    let folder = written("old", &["one"]);
    let error = Wal::create(&folder.0, HISTORY, Durability::Process).err().expect("refused").to_string();
    assert!(error.contains("is in the way of a new log"), "{error}");
    assert_eq!(read(&folder.0, 1).unwrap().0, ["one"]);
}

#[test]
fn folder_that_cannot_be_written_is_named() {
    let folder = Folder::new("file");
    fs::write(&folder.0, b"no folder").unwrap();
    let error = Wal::create(&folder.0.join("log"), HISTORY, Durability::Process).err().expect("refused").to_string();
    assert!(error.contains("cannot hold a log"), "{error}");
    fs::remove_file(&folder.0).unwrap();
}

#[test]
fn log_that_was_begun_and_has_no_record_is_begun_again() {
    let folder = Folder::new("begun-again");
    drop(Wal::create(&folder.0, "another", Durability::Process).unwrap());
    let wal = Wal::create(&folder.0, HISTORY, Durability::Process).unwrap();
    append(&wal, "one");
    drop(wal);
    assert_eq!(read(&folder.0, 1).unwrap().0, ["one"]);
}
