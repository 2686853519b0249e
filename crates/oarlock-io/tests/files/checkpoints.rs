//! Numbered checkpoints.

use std::collections::BTreeMap;

use oarlock_io::{Checkpoints, Difference, Local, Position};
use oarlock_ir::Program;
use oarlock_tensor::{SelectedRows, Tensor, Value};

use super::common::{TempDir, Values, small_program, small_values};

fn position(step: u64) -> Position {
    Position { epoch: 1, step, notes: BTreeMap::from([("reader".into(), format!("shard 3, line {step}"))]) }
}

fn checkpoints(dir: &TempDir) -> Checkpoints {
    Checkpoints::new(Box::new(Local::at(dir.path().join("ckpt"))))
}

#[test]
fn the_newest_checkpoints_are_kept_and_load() {
    let dir = TempDir::new();
    let (program, all) = (small_program(), checkpoints(&dir));
    assert_eq!((all.latest().unwrap(), all.list().unwrap()), (None, vec![]));
    for step in 0..5 {
        assert_eq!(all.save(&program, &small_values(step as f32), &position(step), 3).unwrap(), step);
    }
    let list = all.list().unwrap();
    assert_eq!(list.iter().map(|c| c.number).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(list[2].position, position(4));
    assert_eq!(list[2].variables, ["b", "lr", "w"]);
    let values = Values::default();
    assert_eq!(all.load(3, &program, &values).unwrap(), position(3));
    assert_eq!(values.tensor("w").to_f64(), [3.0; 6]);
    assert_eq!(all.prune(1).unwrap(), [2, 3]);
    assert_eq!(all.latest().unwrap(), Some(4));
    let e = all.load(3, &program, &values).unwrap_err();
    assert!(e.report().what.starts_with("there is no complete checkpoint 3 in "), "{e}");
}

#[test]
fn files_of_a_killed_save_are_no_checkpoint() {
    let dir = TempDir::new();
    let (program, all) = (small_program(), checkpoints(&dir));
    all.save(&program, &small_values(1.0), &position(1), 3).unwrap();
    let left = dir.path().join("ckpt/checkpoint_1");
    std::fs::create_dir_all(left.join(".oarlock-staging-1-0")).unwrap();
    std::fs::write(left.join("__params__"), "half").unwrap();
    assert_eq!(all.latest().unwrap(), Some(0));
    assert!(all.prune(3).unwrap().is_empty());
    assert_eq!(all.save(&program, &small_values(2.0), &position(2), 3).unwrap(), 2);
    assert!(!left.exists());
    assert_eq!(all.list().unwrap().iter().map(|c| c.number).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn differences_are_listed_and_damage_is_found() {
    let dir = TempDir::new();
    let all = checkpoints(&dir);
    let text =
        |more: &str| format!("block 0 {{\nvar a: f32[2] persistable\nvar t: rows f32[9, 1] persistable\n{more}\n}}");
    let rows = |v: f32| {
        Value::Rows(SelectedRows { rows: vec![4], height: 9, value: Tensor::from_slice([1, 1], &[v]).unwrap() })
    };
    let values = |a: f32| {
        Values::of([
            ("a", Value::from(Tensor::from_slice([2], &[1.0, a]).unwrap())),
            ("t", rows(1.0)),
            ("u", Tensor::scalar(1i64).into()),
            ("v", Tensor::scalar(a).into()),
        ])
    };
    let (first, second) = (text("var u: i64[1] persistable"), text("var v: f32[1] persistable"));
    let program = |text: &str| Program::from_text(text).unwrap();
    all.save(&program(&first), &values(1.0), &position(0), 9).unwrap();
    all.save(&program(&second), &values(1.5), &position(1), 9).unwrap();
    assert_eq!(
        all.diff(0, 1).unwrap(),
        [
            ("a".into(), Difference::Values { count: 1, largest: 0.5 }),
            ("u".into(), Difference::OnlyFirst),
            ("v".into(), Difference::OnlySecond),
        ]
    );
    assert!(all.diff(1, 1).unwrap().is_empty());
    all.verify(0).unwrap();
    let path = dir.path().join("ckpt/checkpoint_0/__params__");
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let e = all.verify(0).unwrap_err();
    assert!(e.report().what.contains("checkpoint_0/__params__ is not what was saved: its checksum is"), "{e}");
    all.verify(1).unwrap();
    let again = Values::default();
    let e = all.load(0, &program(&second), &again).unwrap_err();
    assert!(e.report().what.ends_with("__params__ holds the variables of another program"), "{e}");
    all.load(1, &program(&second), &again).unwrap();
    assert_eq!(again.tensor("a").to_f64(), [1.0, 1.5]);
}

#[test]
fn a_damaged_manifest_stops_nothing_but_its_own_checkpoint() {
    let dir = TempDir::new();
    let (program, all) = (small_program(), checkpoints(&dir));
    all.save(&program, &small_values(0.0), &position(0), 1).unwrap();
    std::fs::write(dir.path().join("ckpt/checkpoint_0").join(oarlock_io::MANIFEST), "{").unwrap();
    let e = all.latest().unwrap_err();
    assert!(e.report().what.contains("checkpoint_0/oarlock.manifest: not a list of files"), "{e}");
    assert_eq!(all.save(&program, &small_values(1.0), &position(1), 1).unwrap(), 1);
    assert_eq!(all.latest().unwrap(), Some(1));
    assert!(dir.path().join("ckpt/checkpoint_0").is_dir());
}

#[test]
fn damaged_checkpoints_are_passed_over_with_a_warning() {
    let dir = TempDir::new();
    let (program, all) = (small_program(), checkpoints(&dir));
    for number in 0..3 {
        all.save(&program, &small_values(number as f32), &position(number), 3).unwrap();
    }
    let mut warnings = Vec::new();
    assert_eq!(all.latest_intact(&mut |w| warnings.push(w)).unwrap(), Some(2));
    assert!(warnings.is_empty());
    let damage = |number: u64| {
        let path = dir.path().join(format!("ckpt/checkpoint_{number}/__params__"));
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, bytes).unwrap();
    };
    damage(2);
    std::fs::write(dir.path().join("ckpt/checkpoint_1").join(oarlock_io::MANIFEST), "{").unwrap();
    assert_eq!(all.latest_intact(&mut |w| warnings.push(w)).unwrap(), Some(0));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].starts_with("checkpoint 2 in ") && warnings[0].contains("an older one is used"),
        "{warnings:?}"
    );
    damage(0);
    let e = all.latest_intact(&mut |_| {}).unwrap_err();
    assert!(e.report().what.contains("checkpoint_2/__params__ is not what was saved"), "{e}");
}
