//! Attacks on messages: frames that are whole, with contents that are not.

use oarlock_ir::{Error, Kind};
use oarlock_tensor::{Dims, SelectedRows, Tensor, Value};
use oarlock_testkit::attack;

use super::*;
use oarlock_net::codec::{Reader, Writer};
use oarlock_net::testing::{decoded, encoded};
use oarlock_net::{Floats, Incoming, Outgoing};

/// A message as bytes that can be changed: the lengths of its parts, then the parts.
fn packed(meta: &[u8], sections: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![sections.len() as u8];
    for part in [meta].iter().chain(sections) {
        bytes.extend((part.len() as u16).to_le_bytes());
    }
    [bytes, meta.to_vec(), sections.concat()].concat()
}

/// The message that such bytes are, in a frame that is in order. Lengths beyond the end mean what is left.
fn unpacked(bytes: &[u8]) -> Option<Incoming> {
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
    decoded(&encoded(&Outgoing { kind: kind::PUSH, id: 1, meta: parts[0], sections: &parts[1..] }))
}

fn written(write: impl FnOnce(&mut Writer)) -> Writer {
    let mut meta = Writer::new();
    write(&mut meta);
    meta
}

/// Attacks the decoder of a message that is nothing but its meta.
fn attack_meta(name: &str, meta: &Writer, decode: impl Fn(&mut Reader<'_>) -> bool) {
    attack(name, meta.as_bytes(), |bytes| decode(&mut Reader::new(bytes, "a message")));
}

fn names() -> Vec<String> {
    vec!["fc_0.w_0".into(), "emb".into()]
}

fn attack_small() {
    let hello = Hello { purpose: Purpose::Work, trainer: 1, incarnation: 7, stream: 2, fingerprint: "abcdef".into() };
    attack_meta("hello", &written(|m| hello.encode(m)), |m| Hello::decode(m).is_ok());
    let error = Error::new(Kind::Shape, "what is wrong").note("where").help("what to do");
    let welcome = Welcome { pushed: 8, back: false };
    let stale = Stale { calls: Some(2), steps: None, count: Some(3), score: Some(0.5) };
    let shrink = Shrink { number: 1, stale, gone: 4 };
    attack_meta("shrink", &written(|m| shrink.encode(m)), |m| Shrink::decode(m).is_ok());
    let back = ComeBack { from: 4, wait: true, pauses: 1, done: 3, idle: false };
    attack_meta("come back", &written(|m| back.encode(m)), |m| ComeBack::decode(m).is_ok());
    attack_meta("welcome", &written(|m| welcome.encode(m)), |m| Welcome::decode(m).is_ok());
    attack_meta("failure", &written(|m| encode_failure(&error, m)), |m| decode_failure(m, "s").is_ok());
    let lookup = Lookup { after_step: 3, read_only: true, floats: Floats::F32, tables: names() };
    attack_meta("lookup", &written(|m| lookup.encode(m)), |m| Lookup::decode(m).is_ok());
    let pull = Pull { after_step: 3, changed_only: Some(5), names: names() };
    attack_meta("pull", &written(|m| pull.encode(m)), |m| Pull::decode(m).is_ok());
    let rows = RowsOf { name: "emb".into(), from: 9, enough: 1 << 20 };
    attack_meta("rows", &written(|m| rows.encode(m)), |m| RowsOf::decode(m).is_ok());
    let served = Served { name: "emb".into(), width: 8, rows: 100, hashed: true };
    let tables = Tables { server: Some(1), servers: 2, tables: vec![served] };
    attack_meta("tables", &written(|m| tables.encode(m)), |m| Tables::decode(m).is_ok());
    let paused = vec![Paused { trainer: 1, incarnation: 7, number: 2 }];
    let resume = Resume { from: 9, of: paused.clone() };
    attack_meta("resume", &written(|m| resume.encode(m)), |m| Resume::decode(m).is_ok());
    attack_meta("met", &written(|m| Met { done: 8, paused }.encode(m)), |m| Met::decode(m).is_ok());
    let meet = Meet { number: 3, step: 0, pause: 2, purpose: "barrier".into() };
    attack_meta("meet", &written(|m| meet.encode(m)), |m| Meet::decode(m).is_ok());
    attack_meta("pause", &written(|m| Pause { number: 2 }.encode(m)), |m| Pause::decode(m).is_ok());
    attack_meta("resumed", &written(|m| Resumed { taken: true }.encode(m)), |m| Resumed::decode(m).is_ok());
    attack_meta("leave", &written(|m| Leave { steps: 9 }.encode(m)), |m| Leave::decode(m).is_ok());
}

/// Variables, dense and as rows, behind the head of a push.
fn attack_values() {
    let dense = Value::Dense(Tensor::from_slice(Dims::from([2, 3]), &[1.0f32; 6]).unwrap());
    let rows = SelectedRows {
        height: 100,
        rows: vec![4, 7],
        value: Tensor::from_slice(Dims::from([2, 2]), &[0.5f32; 4]).unwrap(),
    };
    let vars = [("w@GRAD", dense), ("emb@GRAD", Value::Rows(rows))];
    let push = Push { step: 5, wants: names(), ..Push::default() };
    let mut meta = written(|m| push.encode(m));
    let mut values = ValueWriter::default();
    let rounded = Rounded::of(Floats::F32, vars.iter().map(|(_, value)| value));
    values.write(&mut meta, vars.iter().map(|(name, value)| (*name, value)), &rounded).unwrap();
    attack("push", &packed(meta.as_bytes(), values.sections()), |bytes| {
        unpacked(bytes).is_some_and(|frame| read(&frame).is_ok())
    });
}

fn read(frame: &Incoming) -> oarlock_ir::Result<()> {
    let mut meta = Reader::new(frame.meta(), "a push");
    Push::decode(&mut meta)?;
    let mut reader = ValueReader::new(frame, &mut meta)?;
    while reader.next(&mut meta)?.is_some() {
        reader.value(&mut meta, &mut Value::default())?;
    }
    meta.finish()
}

fn attack_trade() {
    let trade = Trade { number: 3, more: true, trainers: vec![0, 2] };
    let meta = written(|m| trade.encode(m));
    attack("trade", &packed(meta.as_bytes(), &[b"some samples", b"others"]), |bytes| {
        unpacked(bytes).is_some_and(|frame| {
            Trade::decode(&mut Reader::new(frame.meta(), "a message")).is_ok_and(|trade| trade.parts(&frame).is_ok())
        })
    });
}

pub(crate) fn attack_messages() {
    attack_small();
    attack_values();
    attack_trade();
}
