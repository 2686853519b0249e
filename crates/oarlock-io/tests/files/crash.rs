//! A save that is stopped anywhere leaves a save that loads: the old one, or the new one, never a mixture.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oarlock_io::{
    Checkpoints, InferenceModel, Local, ModelFiles, Position, Store, load_program, load_vars, persistables,
    read_tensor_file, save_program, save_vars,
};
use oarlock_ir::{Result, Vars};
use oarlock_tensor::{Dims, Tensor, Value};

use super::common::{TempDir, Values, names, small_program, small_values};

/// The order to the child process: the form to save, the step to die at, where, and the value of all elements.
const CHILD: &str = "OARLOCK_TEST_CRASH";

/// Every form of a save.
const FORMS: [&str; 6] = ["separate", "combined", "model", "program", "checkpoint", "nested"];

/// Saves in a form, all elements being `v`.
fn save(form: &str, store: Local, v: f32) -> Result<()> {
    let program = small_program();
    let values = small_values(v);
    match form {
        "separate" => save_vars(&store, None, &persistables(&program), &values),
        "combined" => save_vars(&store, Some("all"), &persistables(&program), &values),
        "model" => InferenceModel::export(&program, &["x"], &["y"])?.save(&store, &ModelFiles::separate(), &values),
        "program" => save_program(&store, "m", &program, &values),
        "checkpoint" => Checkpoints::new(Box::new(store)).save(&program, &values, &Position::default(), 1).map(drop),
        _ => {
            let mut staging = store.begin()?;
            for name in ["a/b/w", "a/c", "d"] {
                staging.file(name, &[], &mut |out| oarlock_io::write_tensor(&values.tensor("w"), out))?;
            }
            staging.commit()
        }
    }
}

/// Loads what was saved in a form; all elements must be the same, and are returned.
fn load(form: &str, dir: &Path) -> f64 {
    let (program, store, values) = (small_program(), Local::at(dir), Values::default());
    match form {
        "separate" => load_vars(&store, None, &persistables(&program), &values).unwrap(),
        "combined" => load_vars(&store, Some("all"), &persistables(&program), &values).unwrap(),
        "model" => drop(InferenceModel::load(&store, &ModelFiles::separate(), &values).unwrap()),
        "program" => load_program(&store, "m", &program, None, &values).unwrap(),
        "checkpoint" => {
            let all = Checkpoints::new(Box::new(store));
            let latest = all.latest().unwrap().expect("a checkpoint");
            all.load(latest, &program, &values).unwrap();
        }
        _ => {
            let view = store.view().unwrap();
            for (name, var) in [("a/b/w", "w"), ("a/c", "b"), ("d", "lr")] {
                let bytes = view.open(name).unwrap().bytes().unwrap();
                *values.find_or_create(var).write() = oarlock_io::decode_tensor(&bytes, name).unwrap().0.into();
            }
        }
    }
    let loaded = ["w", "b", "lr"].into_iter().filter(|n| values.find(n).is_some());
    let all: Vec<f64> = loaded.flat_map(|n| values.tensor(n).to_f64()).collect();
    assert!(all.windows(2).all(|w| w[0] == w[1]), "{form}: a mixture: {all:?}");
    all[0]
}

/// The folder's own files of a save under way.
fn leftovers(dir: &Path) -> Vec<String> {
    names(dir).into_iter().filter(|n| n.starts_with(".oarlock-")).collect()
}

#[expect(clippy::disallowed_methods, reason = "how a test tells its child process what to do")]
fn orders() -> Option<Vec<String>> {
    std::env::var(CHILD).ok().map(|orders| orders.split('\n').map(String::from).collect())
}

/// The part that the child process plays; does nothing in an ordinary run of the tests.
#[test]
fn child() {
    let Some(orders) = orders() else { return };
    let [form, die_at, dir, v] = &orders[..] else { panic!("four orders") };
    let die_at: usize = die_at.parse().unwrap();
    let step = AtomicUsize::new(0);
    let store = Local::watched(dir, move |_| {
        if step.fetch_add(1, Ordering::SeqCst) + 1 == die_at {
            std::process::abort();
        }
        Ok(())
    });
    save(form, store, v.parse().unwrap()).unwrap();
}

/// Runs the child; says whether it came to its end.
fn run_child(form: &str, die_at: usize, dir: &Path, v: f32) -> bool {
    let exe = std::env::current_exe().unwrap();
    let orders = format!("{form}\n{die_at}\n{}\n{v}", dir.display());
    let mut child = Command::new(exe);
    child.args(["--exact", "files::crash::child"]).env(CHILD, orders).stdout(Stdio::null()).stderr(Stdio::null());
    child.status().unwrap().success()
}

#[test]
fn killed_at_every_step_the_old_or_the_new_save_loads() {
    for form in FORMS {
        let (mut seen_old, mut seen_new) = (false, false);
        for die_at in 1.. {
            let dir = TempDir::new();
            save(form, dir.store(), 1.0).unwrap();
            std::fs::write(dir.path().join("foreign"), "stays").unwrap();
            let done = run_child(form, die_at, dir.path(), 2.0);
            match load(form, dir.path()) {
                1.0 => seen_old = true,
                2.0 => seen_new = true,
                other => panic!("{form}, killed at step {die_at}: {other}"),
            }
            assert!(!seen_new || load(form, dir.path()) == 2.0, "{form}: the new save was there and went again");
            // The next save works, finishes what was left, and leaves nothing of its own.
            save(form, dir.store(), 3.0).unwrap();
            assert_eq!(load(form, dir.path()), 3.0);
            assert!(leftovers(dir.path()).is_empty(), "{form}, killed at step {die_at}: {:?}", dir.names());
            assert_eq!(std::fs::read(dir.path().join("foreign")).unwrap(), b"stays");
            if done {
                assert!(die_at > 10, "{form}: only {die_at} steps");
                break;
            }
        }
        assert!(seen_old && seen_new, "{form}");
    }
}

#[test]
fn a_step_that_fails_is_an_error_and_the_old_or_the_new_save_loads() {
    for form in FORMS {
        for fail_at in 1.. {
            let dir = TempDir::new();
            save(form, dir.store(), 1.0).unwrap();
            let step = AtomicUsize::new(0);
            let failed = Arc::new(AtomicUsize::new(0));
            let told = failed.clone();
            let store = Local::watched(dir.path(), move |_| {
                if step.fetch_add(1, Ordering::SeqCst) + 1 < fail_at {
                    return Ok(());
                }
                told.fetch_add(1, Ordering::SeqCst);
                Err(io::ErrorKind::StorageFull.into())
            });
            let saved = save(form, store, 2.0);
            let loaded = load(form, dir.path());
            assert!(loaded == 2.0 || saved.is_err() && loaded == 1.0, "{form}, failed at step {fail_at}");
            if let Err(e) = &saved {
                let help = "free some space; what was saved there before is still there";
                assert_eq!(e.report().help.as_deref(), Some(help), "{e}");
            }
            if failed.load(Ordering::SeqCst) == 0 {
                break;
            }
        }
    }
}

/// A full disk needs a small one: a mount that only the child sees, which takes a user who may mount.
#[test]
fn a_full_disk_is_an_error_and_the_old_save_loads() {
    let dir = TempDir::new();
    let exe = std::env::current_exe().unwrap();
    let script = "mount -t tmpfs -o size=64k tmpfs \"$1\" || exit 7; exec \"$2\" --exact files::crash::full_disk_child --nocapture";
    let mut child = Command::new("unshare");
    child.args(["-m", "sh", "-c", script, "sh"]).arg(dir.path()).arg(exe).env(CHILD, dir.path());
    match child.output() {
        Ok(out) if out.status.success() => {}
        Ok(out) if out.status.code() == Some(101) => {
            panic!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
        }
        Ok(out) => oarlock_testkit::skip(&format!(
            "mounting a small disk is not allowed here: {}",
            String::from_utf8_lossy(&out.stderr).trim()
        )),
        Err(e) => oarlock_testkit::skip(&format!("`unshare` cannot be run: {e}")),
    }
}

#[test]
fn full_disk_child() {
    let Some([dir]) = orders().as_deref().map(|o| <[String; 1]>::try_from(o.to_vec()).unwrap_or_default()) else {
        return;
    };
    if dir.is_empty() {
        return;
    }
    let dir = PathBuf::from(dir);
    for form in FORMS {
        let dir = dir.join(form);
        save(form, Local::at(&dir), 1.0).unwrap();
        // Fill the disk: a file takes what is left.
        let filler = dir.with_file_name("filler");
        let full = std::fs::write(&filler, vec![1u8; 1 << 20]).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        let e = save(form, Local::at(&dir), 2.0).unwrap_err();
        assert_eq!(e.report().help.as_deref(), Some("free some space; what was saved there before is still there"));
        assert_eq!(load(form, &dir), 1.0);
        std::fs::remove_file(&filler).unwrap();
        save(form, Local::at(&dir), 2.0).unwrap();
        assert_eq!(load(form, &dir), 2.0);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

#[test]
fn readers_never_see_half_a_save() {
    let dir = TempDir::new();
    save("separate", dir.store(), 0.0).unwrap();
    let path = dir.path().to_path_buf();
    std::thread::scope(|s| {
        let writer = s.spawn(|| (1..30).for_each(|v| save("separate", Local::at(&path), v as f32).unwrap()));
        let mut last = 0.0;
        while !writer.is_finished() {
            let v = load("separate", &path);
            assert!(v >= last, "{v} after {last}");
            last = v;
        }
    });
    assert_eq!(load("separate", dir.path()), 29.0);
}

#[test]
fn several_saves_share_a_folder() {
    let dir = TempDir::new();
    std::thread::scope(|s| {
        for form in ["combined", "model", "program"] {
            let path = dir.path();
            s.spawn(move || (0..10).for_each(|v| save(form, Local::at(path), v as f32).unwrap()));
        }
    });
    for form in ["combined", "model", "program"] {
        assert_eq!(load(form, dir.path()), 9.0, "{form}");
    }
    assert!(leftovers(dir.path()).is_empty());
    let view = dir.store().view().unwrap();
    let manifest = view.manifest().unwrap();
    assert_eq!(
        manifest.files.keys().collect::<Vec<_>>(),
        ["__model__", "all", "b", "m.pdmodel", "m.pdopt", "m.pdparams", "w"]
    );
}

#[test]
fn an_obstacle_to_a_save_is_named_before_anything_changes() {
    let dir = TempDir::new();
    save("separate", dir.store(), 1.0).unwrap();
    std::fs::remove_file(dir.path().join("w")).unwrap();
    std::fs::create_dir(dir.path().join("w")).unwrap();
    let e = save("separate", dir.store(), 2.0).unwrap_err();
    let root = dir.path().display().to_string();
    assert_eq!(
        e.to_string().replace(&root, "DIR"),
        "error[io]: cannot save w into DIR: DIR/w is a directory, but it must be a file\n  \
         help: choose another directory, or move it away"
    );
    assert_eq!(read_tensor_file(&dir.path().join("b")).unwrap().to_f64(), [1.0; 2]);
    assert!(leftovers(dir.path()).is_empty());
}

/// A large tensor goes out from its own memory: the save needs a few buffers, not a copy.
#[test]
fn a_large_tensor_is_written_in_place() {
    let dir = TempDir::new();
    let text = "block 0 {\nvar table: f32[1000000, 8] persistable\n}";
    let program = oarlock_ir::Program::from_text(text).unwrap();
    let table = Tensor::zeros(oarlock_tensor::DType::F32, Dims::from([1_000_000, 8]));
    let values = Values::of([("table", Value::Dense(table))]);
    let writes = Arc::new(AtomicUsize::new(0));
    let count = writes.clone();
    let store = Local::watched(dir.path(), move |step| {
        count.fetch_add(usize::from(step == oarlock_io::DiskStep::Write), Ordering::SeqCst);
        Ok(())
    });
    save_vars(&store, None, &persistables(&program), &values).unwrap();
    // 32 MB in pieces of 1 MiB, the head, and the manifest: nothing went through a small buffer.
    assert!((32..40).contains(&writes.load(Ordering::SeqCst)), "{writes:?}");
}
