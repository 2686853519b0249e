use crate::protobuf::{put_bytes, put_index, put_long, put_message};
use crate::{Attr, Program};

/// A program of one block with one operator `mul`, whose attribute is written by `attr`.
fn with_attr(attr: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    put_message(&mut out, 1, |block| {
        put_index(block, 1, 0);
        put_long(block, 2, -1);
        put_message(block, 4, |op| {
            put_bytes(op, 3, "mul");
            put_message(op, 4, &attr);
        });
    });
    out
}

fn header(attr: &mut Vec<u8>, name: &str, number: i64) {
    put_bytes(attr, 1, name);
    put_long(attr, 2, number);
}

fn attr_of(bytes: &[u8], name: &str) -> Attr {
    let program = Program::from_bytes(bytes).unwrap();
    assert_eq!(Program::from_bytes(&program.to_bytes()).unwrap(), program);
    program.global().ops[0].attrs.get(name).unwrap().clone()
}

#[test]
fn packed_lists_are_read_and_written_unpacked() {
    let packed = with_attr(|a| {
        header(a, "axes", 3);
        put_bytes(a, 6, [1, 2]);
        put_long(a, 6, -3);
    });
    let unpacked = with_attr(|a| {
        header(a, "axes", 3);
        [1, 2, -3].into_iter().for_each(|v| put_long(a, 6, v));
    });
    assert_eq!(attr_of(&packed, "axes"), Attr::Ints(vec![1, 2, -3]));
    assert_eq!(Program::from_bytes(&packed).unwrap().to_bytes(), unpacked);
}

#[test]
fn a_missing_value_is_the_default() {
    assert_eq!(attr_of(&with_attr(|a| header(a, "axis", 0)), "axis"), Attr::Int(0));
    assert_eq!(attr_of(&with_attr(|a| header(a, "shape", 11)), "shape"), Attr::Longs(Vec::new()));
}

#[test]
fn what_cannot_be_read_is_kept() {
    let scalar = with_attr(|a| {
        header(a, "value", 16);
        put_bytes(a, 20, [8, 1, 16, 1]);
    });
    let gbk = with_attr(|a| {
        header(a, "op_callstack", 5);
        put_bytes(a, 8, [0xd6, 0xd0]);
    });
    let inside = with_attr(|a| {
        header(a, "axis", 0);
        put_long(a, 3, 1);
        put_bytes(a, 99, "new");
    });
    assert!(matches!(attr_of(&scalar, "value"), Attr::Opaque(_)));
    assert!(matches!(attr_of(&gbk, "op_callstack"), Attr::Opaque(_)));
    assert_eq!(attr_of(&inside, "axis"), Attr::Int(1));
    for bytes in [scalar, gbk, inside] {
        assert_eq!(Program::from_bytes(&bytes).unwrap().to_bytes(), bytes);
    }
}

/// A block with an index and a parent.
fn block(out: &mut Vec<u8>, idx: i64, parent: i64, more: impl FnOnce(&mut Vec<u8>)) {
    put_message(out, 1, |block| {
        put_long(block, 1, idx);
        put_long(block, 2, parent);
        more(block);
    });
}

fn var(out: &mut Vec<u8>, name: &str) {
    put_message(out, 3, |var| {
        put_bytes(var, 1, name);
        put_message(var, 2, |ty| put_long(ty, 1, 17));
    });
}

#[test]
fn an_error_says_what_and_where() {
    let bytes = with_attr(|a| {
        header(a, "sub_block", 8);
        put_long(a, 12, 5);
    });
    assert_eq!(
        Program::from_bytes(&bytes).unwrap_err().to_string(),
        "error[format]: this is not a program: there is no block 5; the program has 1\n  \
         at block 0, op 0, attr \"sub_block\", byte 37\n  \
         help: the file is damaged or is something else; copy it again, or save the program again"
    );
}

#[test]
fn references_are_checked() {
    let what = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        write(&mut bytes);
        let report = Program::from_bytes(&bytes).unwrap_err().report().clone();
        format!("{} | {}", report.what.trim_start_matches("this is not a program: "), report.notes[0])
    };
    assert_eq!(what(&|_| ()), "it has no block | at byte 0");
    assert_eq!(
        what(&|out| block(out, 1, -1, |_| ())),
        "the block says that its index is 1, but it stands at 0 | at block 0, byte 2"
    );
    assert_eq!(what(&|out| block(out, 0, 0, |_| ())), "0 cannot be the parent of block 0 | at block 0, byte 4");
    let forward = |out: &mut Vec<u8>| block(out, 0, -1, |b| put_long(b, 5, 0));
    assert_eq!(what(&forward), "block 0 cannot hold the gradients of block 0 | at block 0, byte 15");
    let twice = |out: &mut Vec<u8>| block(out, 0, -1, |b| (0..2).for_each(|_| var(b, "x")));
    assert_eq!(what(&twice), "variable `x` is declared twice | at block 0, byte 24");
    let unnamed = |out: &mut Vec<u8>| block(out, 0, -1, |b| put_message(b, 3, |v| put_bytes(v, 1, "x")));
    assert_eq!(what(&unnamed), "a variable does not say its name and its type | at block 0, var \"x\", byte 15");
    assert_eq!(
        what(&|out| put_message(out, 1, |_| ())),
        "a block does not say its index and its parent | at block 0, byte 0"
    );
}
