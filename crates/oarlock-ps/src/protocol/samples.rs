//! Samples of all messages: changed in every way they neither panic nor take much memory, unchanged they have the recorded bytes.

use std::fmt::Write;

use expect_test::expect_file;
use oarlock_ir::{Error, Kind, Result};
use oarlock_net::codec::{Reader, Writer};
use oarlock_net::testing::{decoded, encoded};
use oarlock_net::{Floats, Incoming, Outgoing};
use oarlock_tensor::{Dims, SelectedRows, Tensor, Value};
use oarlock_testkit::attack;

use super::error::{decode_error, encode_error};
use super::{Message, Named, Rounded, ValueReader, ValueWriter, reply};

/// A good message, and its decoder.
pub(crate) struct Sample {
    name: &'static str,
    kind: u16,
    meta: Vec<u8>,
    sections: Vec<Vec<u8>>,
    decode: Decode,
}

enum Decode {
    Meta(fn(&mut Reader<'_>) -> Result<()>),
    Frame(fn(&Incoming) -> Result<()>),
}

fn decode_as<M: Message>(meta: &mut Reader<'_>) -> Result<()> {
    M::decode(meta).map(drop)
}

impl Sample {
    /// A message that is nothing but its meta.
    pub(crate) fn of<M: Message>(name: &'static str, kind: u16, message: &M) -> Sample {
        let meta = message.to_meta().into_bytes();
        Sample { name, kind, meta, sections: Vec::new(), decode: Decode::Meta(decode_as::<M>) }
    }

    /// A message with sections.
    pub(crate) fn with_sections(
        name: &'static str,
        kind: u16,
        meta: Writer,
        sections: &[&[u8]],
        decode: fn(&Incoming) -> Result<()>,
    ) -> Sample {
        let sections = sections.iter().map(|section| section.to_vec()).collect();
        Sample { name, kind, meta: meta.into_bytes(), sections, decode: Decode::Frame(decode) }
    }

    /// The message as it is received.
    pub(crate) fn frame(&self) -> Incoming {
        self.unpacked(&self.packed()).expect("a whole frame")
    }

    fn attack(&self) {
        match self.decode {
            Decode::Meta(decode) => {
                attack(self.name, &self.meta, |bytes| decode(&mut Reader::new(bytes, "a message")).is_ok());
            }
            Decode::Frame(decode) => attack(self.name, &self.packed(), |bytes| {
                self.unpacked(bytes).is_some_and(|frame| decode(&frame).is_ok())
            }),
        }
    }

    /// The message as bytes that can be changed: the lengths of its parts, then the parts.
    fn packed(&self) -> Vec<u8> {
        let mut bytes = vec![self.sections.len() as u8];
        for part in [&self.meta].into_iter().chain(&self.sections) {
            bytes.extend((part.len() as u16).to_le_bytes());
        }
        [bytes, self.meta.clone(), self.sections.concat()].concat()
    }

    /// The message of such bytes, in a frame that is in order. Lengths beyond the end mean the bytes that are left.
    fn unpacked(&self, bytes: &[u8]) -> Option<Incoming> {
        let (&count, mut rest) = bytes.split_first()?;
        let mut lengths = Vec::new();
        for _ in 0..=count.min(8) {
            let (length, after) = rest.split_first_chunk::<2>()?;
            lengths.push(u16::from_le_bytes(*length) as usize);
            rest = after;
        }
        let mut parts = Vec::new();
        for length in lengths {
            let (part, after) = rest.split_at(length.min(rest.len()));
            parts.push(part);
            rest = after;
        }
        decoded(&encoded(&Outgoing { kind: self.kind, id: 1, meta: parts[0], sections: &parts[1..] }))
    }
}

pub(crate) fn names() -> Vec<String> {
    vec!["fc_0.w_0".into(), "emb".into()]
}

pub(crate) fn dense() -> Value {
    Value::Dense(Tensor::from_slice(Dims::from([2, 3]), &[1.0f32; 6]).unwrap())
}

pub(crate) fn rows() -> Value {
    let value = Tensor::from_slice(Dims::from([2, 2]), &[0.5f32; 4]).unwrap();
    Value::Rows(SelectedRows { height: 100, rows: vec![4, 7], value })
}

/// Ids of rows, as a section.
pub(crate) const IDS: &[u8] = &[3, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255];

/// A message with variables behind its head, and further sections behind these.
pub(crate) fn with_values(
    name: &'static str,
    kind: u16,
    mut meta: Writer,
    vars: &[Named],
    (more, tail): (&[&[u8]], &[u8]),
    decode: fn(&Incoming) -> Result<()>,
) -> Sample {
    let mut values = ValueWriter::default();
    let rounded = Rounded::of(Floats::F32, vars.iter().map(|(_, value)| value));
    values.write(&mut meta, vars.iter().map(|(name, value)| (name.as_str(), value)), &rounded).unwrap();
    more.iter().for_each(|section| values.add_section(section));
    for byte in tail {
        meta.u8(*byte);
    }
    Sample::with_sections(name, kind, meta, values.sections(), decode)
}

/// Reads a message of a head and variables.
pub(crate) fn decode_values<M: Message>(frame: &Incoming) -> Result<()> {
    let mut meta = Reader::new(frame.meta(), "a message");
    M::decode(&mut meta)?;
    let mut reader = ValueReader::new(frame, &mut meta)?;
    while reader.next(&mut meta)?.is_some() {
        reader.value(&mut meta, &mut Value::default())?;
    }
    meta.finish()
}

/// Replies that several requests have.
fn replies() -> Vec<Sample> {
    let mut failed = Writer::new();
    encode_error(&Error::new(Kind::Shape, "what is wrong").note("where").help("what to do"), &mut failed);
    let decode = |meta: &mut Reader<'_>| decode_error(meta, "s").map(drop);
    let (meta, sections) = (failed.into_bytes(), Vec::new());
    vec![
        Sample { name: "failed", kind: reply::FAILED, meta, sections, decode: Decode::Meta(decode) },
        Sample::of("done", reply::DONE, &()),
    ]
}

fn all() -> Vec<Sample> {
    let mut all: Vec<Sample> = crate::request::ALL.iter().flat_map(|request| (request.samples)()).collect();
    all.extend(replies());
    all.sort_by_key(|sample| sample.kind);
    all
}

/// Attacks the decoders of all messages.
pub(crate) fn attack_all() {
    all().iter().filter(|sample| !sample.meta.is_empty() || !sample.sections.is_empty()).for_each(Sample::attack);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The wire format must not change by accident: peers of one release could differ in their builds.
#[test]
fn every_message_has_its_recorded_bytes() {
    let mut text = String::new();
    for Sample { name, kind, meta, sections, .. } in all() {
        write!(text, "{kind} {name}: {}", hex(&meta)).unwrap();
        sections.iter().for_each(|section| write!(text, " {}", hex(section)).unwrap());
        text.push('\n');
    }
    expect_file!["recorded.txt"].assert_eq(&text);
}

#[test]
fn every_request_has_a_kind_of_its_own_and_a_sample() {
    let replies = [reply::WELCOME, reply::VALUES, reply::FAILED, reply::DONE, reply::AWAITED];
    let mut kinds: Vec<u16> = crate::request::ALL.iter().map(|request| request.kind).chain(replies).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, (1..=kinds.len() as u16).collect::<Vec<_>>(), "numbers are never reused nor left out");
    for request in crate::request::ALL {
        let samples = (request.samples)();
        assert!(samples.iter().any(|sample| sample.kind == request.kind), "kind {} has no sample", request.kind);
    }
}
