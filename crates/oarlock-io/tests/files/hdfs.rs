//! Saves and data in HDFS, through a command that stands in for Hadoop's: a directory is the cluster.
//!
//! Where the command is stands in the environment, so whatever uses it runs in a process of its own.

#![expect(clippy::print_stdout, reason = "child processes answer on standard output")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use oarlock_io::data::{Batch, BatchSource, Format, QueueDataset, SlotSpec, SlotType, Source};
use oarlock_io::{open_around, open_store};
use oarlock_ir::{Kind, Result};

use super::common::{FORMS, TempDir, error_without_environment, load_as, names, own_process, save_as};

/// Tells a child process what to do.
const CHILD: &str = "OARLOCK_TEST_HDFS";

/// A cluster that is a directory.
struct Cluster {
    dir: TempDir,
}

impl Cluster {
    fn new() -> Cluster {
        let cluster = Cluster { dir: TempDir::new() };
        std::fs::create_dir_all(cluster.root()).unwrap();
        cluster
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("cluster")
    }

    /// Makes a folder of the cluster with these files, and returns where it is.
    fn folder(&self, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let at = self.root().join(name);
        std::fs::create_dir_all(&at).unwrap();
        files.iter().for_each(|(file, text)| std::fs::write(at.join(file), text).unwrap());
        at
    }

    fn note(&self, name: &str) -> PathBuf {
        self.dir.path().join(format!("cluster.{name}"))
    }

    /// How many commands were run since the last time.
    fn commands(&self) -> usize {
        let text = std::fs::read_to_string(self.note("commands")).unwrap_or_default();
        std::fs::remove_file(self.note("commands")).ok();
        text.lines().count()
    }

    /// Does what `order` says in another process; from command `die_at` on the cluster answers no more.
    fn try_run(&self, order: &str, die_at: usize) -> std::result::Result<String, String> {
        let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hadoop");
        let mut command = own_process("files::hdfs::child", CHILD, order);
        command.env("HADOOP_HOME", home).env("FAKE_HDFS", self.root()).env("TMPDIR", self.dir.path());
        if die_at > 0 {
            command.env("FAKE_DIE_AT", die_at.to_string());
        }
        let out = command.output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        if out.status.success() { Ok(text) } else { Err(text) }
    }

    fn run(&self, order: &str) -> String {
        self.try_run(order, 0).unwrap_or_else(|text| panic!("{order}: {text}"))
    }

    /// The values that a load of a form gives.
    fn loaded(&self, form: &str) -> f64 {
        let text = self.run(&format!("load {form}"));
        text.lines().find_map(|line| line.strip_prefix("loaded ")?.parse().ok()).unwrap()
    }
}

const URL: &str = "hdfs://host:9000/user/models";

#[test]
#[expect(clippy::disallowed_methods, reason = "how a test tells its child process what to do")]
fn child() {
    let Ok(order) = std::env::var(CHILD) else { return };
    let words: Vec<&str> = order.split(' ').collect();
    match words[..] {
        ["save", form, value] => save_as(form, URL, value.parse().unwrap()).unwrap(),
        ["load", form] => println!("\nloaded {}", load_as(form, URL)),
        ["files"] => files(),
        ["data"] => data(),
        _ => panic!("{order}"),
    }
}

/// Folders in folders, files of others, damage, and what is not there.
fn files() {
    let store = open_store(URL).unwrap();
    let mut staging = store.begin().unwrap();
    staging.file("a/b/c", &[], &mut |out| out.write_all(b"deep")).unwrap();
    staging.file("top", &[], &mut |out| out.write_all(b"flat")).unwrap();
    staging.commit().unwrap();
    let view = store.view().unwrap();
    assert_eq!(view.files().unwrap(), ["a/b/c", "foreign file", "top"]);
    assert_eq!(view.open("a/b/c").unwrap().bytes().unwrap(), b"deep");
    assert_eq!(view.open("foreign file").unwrap().bytes().unwrap(), b"stays");
    assert_eq!(store.folders().unwrap(), ["a"]);
    let (around, name) = open_around(&format!("{URL}/a/b/c")).unwrap();
    assert_eq!((around.describe(), name.as_str()), (format!("{URL}/a/b"), "c"));
    let missing = view.open("nothing").err().unwrap();
    assert_eq!(missing.to_string(), format!("error[missing]: there is no file {URL}/nothing"));
    let missing = open_store("hdfs:/nowhere").unwrap().view().err().unwrap();
    assert_eq!(missing.kind(), Kind::Missing);
    store.remove_folder("a").unwrap();
    assert_eq!(store.view().unwrap().files().unwrap(), ["foreign file", "top"]);
}

/// Lines of files in HDFS, by name and by pattern, compressed and through a command.
fn data() {
    let read = |files: &[&str], pipe: &str| -> Result<Vec<i64>> {
        let hadoop = vec![("hadoop.job.ugi".to_string(), "me,secret".to_string())];
        let source = Source { pipe_command: pipe.into(), hadoop, ..Source::files(files.to_vec()) };
        let format = Format::strict(vec![SlotSpec::sparse("ids", SlotType::Id)]);
        let dataset = QueueDataset { source, format, batch_size: 100, queue: 2 };
        let (mut batch, mut all) = (Batch::new(), Vec::new());
        let mut reader = dataset.start(1, Arc::default())?.take_readers().remove(0);
        while reader.next(&mut batch)? {
            all.extend_from_slice(batch.tensors()[0].data::<i64>().unwrap());
        }
        Ok(all)
    };
    assert_eq!(read(&["hdfs://host/user/data/part-*"], "").unwrap(), [1, 2, 3]);
    assert_eq!(read(&["hdfs:/user/data/part-1"], "sed s/3/4/").unwrap(), [4]);
    let error = read(&["hdfs:/user/data/none"], "").unwrap_err();
    assert!(error.to_string().contains("there is no file hdfs:/user/data/none"), "{error}");
    let error = read(&["hdfs:/user/data/none-*"], "").unwrap_err();
    assert!(error.to_string().contains("matches no file"), "{error}");
}

#[expect(clippy::disallowed_methods, reason = "`cargo xtask soak` asks for more")]
fn soaks() -> bool {
    std::env::var_os("OARLOCK_SOAK").is_some()
}

#[test]
fn save_interrupted_at_any_command_leaves_the_old_or_the_new_one() {
    // A save starts more than a dozen commands, and is interrupted at each of them.
    let forms = if soaks() { &FORMS[..] } else { &["separate", "checkpoint"] };
    for &form in forms {
        let (mut seen_old, mut seen_new) = (false, false);
        for die_at in 1.. {
            let cluster = Cluster::new();
            cluster.run(&format!("save {form} 1"));
            let at = cluster.root().join("user/models");
            std::fs::write(at.join("foreign"), "stays").unwrap();
            cluster.commands();
            let died = cluster.try_run(&format!("save {form} 2"), die_at).is_err();
            match cluster.loaded(form) {
                1.0 => seen_old = true,
                2.0 => seen_new = true,
                other => panic!("{form}, interrupted at command {die_at}: {other}"),
            }
            // The next save works, finishes what was left, and leaves nothing of its own.
            cluster.run(&format!("save {form} 3"));
            assert_eq!(cluster.loaded(form), 3.0);
            let left: Vec<String> = names(&at).into_iter().filter(|n| n.starts_with(".oarlock-")).collect();
            assert!(left.is_empty(), "{form}, interrupted at command {die_at}: {left:?}");
            assert_eq!(std::fs::read(at.join("foreign")).unwrap(), b"stays");
            let here: Vec<String> = cluster.dir.names().into_iter().filter(|n| n.starts_with("oarlock-hdfs")).collect();
            assert!(here.is_empty(), "{here:?}");
            if !died {
                break;
            }
        }
        assert!(seen_old && seen_new, "{form}");
    }
}

#[test]
fn hdfs_folders_and_files_are_listed_and_damage_is_found() {
    let cluster = Cluster::new();
    let at = cluster.folder("user/models", &[("foreign file", "stays")]);
    cluster.run("files");
    cluster.run("save separate 1");
    let mut w = std::fs::read(at.join("w")).unwrap();
    *w.last_mut().unwrap() ^= 1;
    std::fs::write(at.join("w"), w).unwrap();
    let text = cluster.try_run("load separate", 0).unwrap_err();
    assert!(text.contains(&format!("{URL}/w is not what was saved: its checksum is")), "{text}");
}

#[test]
fn data_is_read_from_the_cluster() {
    let cluster = Cluster::new();
    cluster.folder("user/data", &[("part-0", "2 1 2\n"), ("part-1", "1 3\n")]);
    cluster.run("data");
    let settings = std::fs::read_to_string(cluster.note("settings")).unwrap();
    assert!(settings.lines().all(|line| line == "hadoop.job.ugi=me,secret"), "{settings}");
}

#[test]
fn a_cluster_that_fails_and_a_missing_command_are_named() {
    let cluster = Cluster::new();
    let text = cluster.try_run("save separate 1", 1).unwrap_err();
    assert!(text.contains("`hadoop fs -mkdir -p") && text.contains("failed: Killed"), "{text}");
    let text = error_without_environment("files::hdfs::child", CHILD, "save separate 1");
    assert!(text.contains(&format!("{URL} needs the command `hadoop`, which was not found")), "{text}");
}
