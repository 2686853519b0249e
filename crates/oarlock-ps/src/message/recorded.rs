//! The bytes of a sample of every message, compared with a recording: the wire format does not change by accident.

use std::fmt::Write;

use expect_test::expect_file;
use oarlock_ir::{Error, Kind};
use oarlock_net::Floats;
use oarlock_net::codec::Writer;
use oarlock_tensor::{Dims, SelectedRows, Tensor, Value};

use super::*;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn line(out: &mut String, kind: u16, name: &str, sections: &[&[u8]], write: impl FnOnce(&mut Writer)) {
    let mut meta = Writer::new();
    write(&mut meta);
    write!(out, "{kind} {name}: {}", hex(meta.as_bytes())).unwrap();
    sections.iter().for_each(|s| write!(out, " {}", hex(s)).unwrap());
    out.push('\n');
}

fn names() -> Vec<String> {
    vec!["fc_0.w_0".into(), "emb".into()]
}

/// Appends variables to a message whose head is written; returns it as a line.
fn with_values(
    out: &mut String,
    kind: u16,
    name: &str,
    vars: &[(&str, Value)],
    more: &[&[u8]],
    head: impl FnOnce(&mut Writer),
    tail: impl FnOnce(&mut Writer),
) {
    let mut meta = Writer::new();
    head(&mut meta);
    let mut values = ValueWriter::default();
    let rounded = Rounded::of(Floats::F32, vars.iter().map(|(_, value)| value));
    values.write(&mut meta, vars.iter().map(|(name, value)| (*name, value)), &rounded).unwrap();
    more.iter().for_each(|section| values.add_section(section));
    tail(&mut meta);
    write!(out, "{kind} {name}: {}", hex(meta.as_bytes())).unwrap();
    values.sections().iter().for_each(|s| write!(out, " {}", hex(s)).unwrap());
    out.push('\n');
}

#[test]
fn messages_are_written_as_they_were_recorded() {
    let mut out = String::new();
    let o = &mut out;
    let dense = Value::Dense(Tensor::from_slice(Dims::from([2, 3]), &[1.0f32; 6]).unwrap());
    let rows = SelectedRows {
        height: 100,
        rows: vec![4, 7],
        value: Tensor::from_slice(Dims::from([2, 2]), &[0.5f32; 4]).unwrap(),
    };
    let rows = Value::Rows(rows);
    let vars = [("w@GRAD", dense.try_clone().unwrap()), ("emb@GRAD", rows.try_clone().unwrap())];
    let ids: &[u8] = bytemuck::cast_slice(&[3_i64, -1]);
    let floats: &[u8] = bytemuck::cast_slice(&[0.25_f32, 0.5]);
    let hello = Hello { purpose: Purpose::Look, trainer: 1, incarnation: 7, stream: 2, fingerprint: "abcdef".into() };
    line(o, kind::HELLO, "hello", &[], |m| hello.encode(m));
    line(o, kind::WELCOME, "welcome", &[], |m| Welcome { pushed: 8, back: true }.encode(m));
    let push = Push { step: 5, more: true, floats: Floats::Bf16, wants: names(), tables: vec!["emb".into()] };
    with_values(o, kind::PUSH, "push", &vars, &[ids], |m| push.encode(m), |_| {});
    let pull = Pull { after_step: 3, changed_only: Some(5), names: names() };
    line(o, kind::PULL, "pull", &[], |m| pull.encode(m));
    let lookup = Lookup { after_step: 3, read_only: true, floats: Floats::F16, tables: names() };
    line(o, kind::LOOKUP, "lookup", &[ids, &[]], |m| lookup.encode(m));
    with_values(o, kind::VALUES, "values", &vars, &[floats], |_| {}, |m| encode_held(&[9, 0], m));
    line(o, kind::VALUES, "looked up", &[floats], |m| encode_held(&[9], m));
    line(o, kind::LEAVE, "leave", &[], |m| Leave { steps: 9 }.encode(m));
    line(o, kind::PING, "ping", &[], |_| {});
    let error = Error::new(Kind::Shape, "what is wrong").note("where").help("what to do");
    line(o, kind::FAILED, "failed", &[], |m| encode_failure(&error, m));
    line(o, kind::DONE, "done", &[], |_| {});
    let trade = Trade { number: 3, more: true, trainers: vec![0, 2] };
    line(o, kind::TRADE, "trade", &[b"some samples", b"others"], |m| trade.encode(m));
    let meet = Meet { number: 3, step: 4, pause: 2, purpose: "barrier".into() };
    with_values(o, kind::MEET, "meet", &[("", dense.try_clone().unwrap())], &[], |m| meet.encode(m), |_| {});
    let paused = vec![Paused { trainer: 1, incarnation: 7, number: 2 }];
    let met = Met { done: 8, paused: paused.clone() };
    with_values(o, kind::MEET, "met", &[("0", dense.try_clone().unwrap())], &[], |m| met.encode(m), |_| {});
    line(o, kind::AWAITED, "awaited", &[], |m| Awaited { trainers: vec![1, 4] }.encode(m));
    let cut = Cut { dir: "/ckpt".into(), number: 3, server: 1, wait: true, names: names() };
    line(o, kind::CUT, "cut", &[], |m| cut.encode(m));
    line(o, kind::NOTE, "note", &[b"epoch 3"], |_| {});
    line(o, kind::NOTE, "notes", &[b"epoch 3", b"epoch 4"], |m| Notes { trainers: vec![0, 1] }.encode(m));
    let save = SaveTable { dir: "/tables".into(), file: "emb_0".into(), table: "emb".into() };
    line(o, kind::SAVE_TABLE, "save table", &[], |m| save.encode(m));
    let stale = Stale { calls: Some(2), steps: None, count: Some(3), score: Some(0.5) };
    line(o, kind::SHRINK, "shrink", &[], |m| Shrink { number: 1, stale, gone: 4 }.encode(m));
    let back = ComeBack { from: 4, wait: true, pauses: 1, done: 3, idle: false };
    line(o, kind::COME_BACK, "come back", &[], |m| back.encode(m));
    line(o, kind::TABLES, "tables", &[], |_| {});
    let served = Served { name: "emb".into(), width: 8, rows: 100, hashed: true };
    let tables = Tables { server: Some(1), servers: 2, tables: vec![served] };
    line(o, kind::TABLES, "tables served", &[], |m| tables.encode(m));
    line(o, kind::TABLES, "tables of a server without a number", &[], |m| {
        Tables { server: None, servers: 0, tables: Vec::new() }.encode(m);
    });
    line(o, kind::ROWS, "rows", &[], |m| RowsOf { name: "emb".into(), from: 9, enough: 1 << 20 }.encode(m));
    with_values(o, kind::ROWS, "rows found", &[("emb", rows)], &[], |m| drop(m.u32(12)), |_| {});
    line(o, kind::PAUSE, "pause", &[], |m| Pause { number: 2 }.encode(m));
    line(o, kind::RESUME, "resume", &[], |m| Resume { from: 9, of: paused }.encode(m));
    line(o, kind::RESUME, "resumed", &[], |m| Resumed { taken: true }.encode(m));
    expect_file!["recorded.txt"].assert_eq(&out);
}
