//! Reading, writing and checking programs of real networks.

use oarlock_ir::{Attr, Program, VarKind, VarType, verify};

use crate::support::{committed, every_program};

#[test]
fn every_program_survives_byte_for_byte() {
    let programs = every_program();
    assert!(programs.len() >= 17, "only {} programs found", programs.len());
    for (name, bytes) in &programs {
        let program = Program::from_bytes(bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        let written = program.to_bytes();
        assert!(written == *bytes, "{name}: {} bytes became {} others", bytes.len(), written.len());
        assert_eq!(Program::from_bytes(&written).unwrap(), program, "{name}");
        assert!(program.unknown.is_empty() && program.vars().all(|v| v.unknown.is_empty()), "{name}");
    }
    eprintln!("{} programs read and written", programs.len());
}

#[test]
fn every_program_survives_as_text() {
    for (name, bytes) in every_program() {
        let program = Program::from_bytes(&bytes).unwrap();
        let text = program.to_text();
        assert_eq!(Program::from_text(&text).unwrap_or_else(|e| panic!("{name}: {e}")), program, "{name}");
        Program::from_text(&program.summary()).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn every_program_keeps_the_rules() {
    for (name, bytes) in every_program() {
        let program = Program::from_bytes(&bytes).unwrap();
        verify(&program, None).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn a_reader_knows_what_it_reads() {
    let program = Program::from_bytes(&committed("py_reader.main")).unwrap();
    let reader = program.global().var("create_py_reader_0").unwrap();
    assert_eq!(reader.kind, VarKind::Reader);
    let types: Vec<String> = reader.reads.iter().map(VarType::to_string).collect();
    assert_eq!(types, ["f32[?, 13]", "i64[?, 1] lod 1"]);
}

#[test]
fn a_loop_knows_its_blocks() {
    let program = Program::from_bytes(&committed("while_sum_arrays.main")).unwrap();
    let subs: Vec<usize> = program.global().ops.iter().flat_map(|op| op.sub_blocks()).collect();
    assert_eq!(subs, [1, 2]);
    assert_eq!(program.block(2).forward, Some(1));
    assert_eq!((program.block(1).parent, program.block(2).parent), (Some(0), Some(0)));
}

#[test]
fn a_newer_release_says_more() {
    let program = Program::from_bytes(&committed("release_2_6.infer")).unwrap();
    assert_eq!(program.format_version, 2_006_002);
    assert!(!program.op_versions.map.is_empty());
    let opaque = |(_, a): (_, &Attr)| matches!(a, Attr::Opaque(_));
    assert!(!program.global().ops.iter().flat_map(|op| op.attrs.iter()).any(opaque));
}
