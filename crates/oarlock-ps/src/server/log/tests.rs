//! Logs that a server cannot go on with, and what a restarted server has.

use std::path::PathBuf;

use oarlock_net::NetOptions;

use super::*;
use crate::server::testing::{Folder, TestServer};
use crate::server::{Policy, ServerOptions};

fn options(folder: &Folder, job: &str) -> ServerOptions {
    let net = NetOptions { job: job.into(), ..NetOptions::default() };
    ServerOptions { net, log: Some(LogOptions::at(folder.path())), ..ServerOptions::default() }
}

fn refusal(options: ServerOptions) -> String {
    TestServer::start_with(1, options).err().expect("refused").to_string()
}

fn server_json(folder: &Folder) -> PathBuf {
    PathBuf::from(folder.path()).join("j/0/server/server.json")
}

#[test]
fn restarted_server_keeps_its_lineage_in_a_new_epoch() {
    let folder = Folder::new("lineage");
    let first = TestServer::start_with(1, options(&folder, "j")).unwrap().shared().identity.clone();
    let second = TestServer::start_with(1, options(&folder, "j")).unwrap().shared().identity.clone();
    assert_eq!((first.epoch, second.epoch, &first.lineage), (1, 2, &second.lineage));
    let other = TestServer::start_with(1, options(&folder, "k")).unwrap().shared().identity.clone();
    assert_eq!(other.epoch, 1);
    assert_ne!(other.lineage, first.lineage);
}

#[test]
fn server_that_was_killed_while_it_wrote_its_first_snapshot_starts_again() {
    let folder = Folder::new("first-snapshot");
    let first = TestServer::start_with(1, options(&folder, "j")).unwrap().shared().identity.clone();
    std::fs::remove_file(PathBuf::from(folder.path()).join("j/0/snapshot-1").join(oarlock_io::MANIFEST)).unwrap();
    let second = TestServer::start_with(1, options(&folder, "j")).unwrap().shared().identity.clone();
    assert_eq!(second.epoch, 1, "no trainer can have met it before");
    assert_ne!(first.lineage, second.lineage);
}

#[test]
fn server_needs_the_name_of_its_job_to_keep_a_log() {
    let folder = Folder::new("no-job");
    assert!(refusal(options(&folder, "")).contains("a server with a log needs the name of its job"));
}

#[test]
fn two_processes_cannot_serve_with_one_log() {
    let folder = Folder::new("two");
    let _first = TestServer::start_with(1, options(&folder, "j")).unwrap();
    assert!(refusal(options(&folder, "j")).contains("another process serves with the log"));
}

#[test]
fn foreign_log_and_log_of_another_release_are_named() {
    let folder = Folder::new("foreign");
    drop(TestServer::start_with(1, options(&folder, "j")).unwrap());
    let path = server_json(&folder);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path.with_file_name(oarlock_io::MANIFEST)).unwrap();
    std::fs::write(&path, text.replace("\"format\": 1", "\"format\": 7")).unwrap();
    assert!(refusal(options(&folder, "j")).contains("was written by another release of Oarlock"));
    std::fs::write(&path, text.replace("\"job\": \"j\"", "\"job\": \"other\"")).unwrap();
    let error = refusal(options(&folder, "j"));
    assert!(error.contains("is of job \"other\", and this is job \"j\""), "{error}");
}

#[test]
fn snapshot_that_lacks_a_file_is_named() {
    let folder = Folder::new("snapshot-file");
    drop(TestServer::start_with(1, options(&folder, "j")).unwrap());
    std::fs::remove_file(PathBuf::from(folder.path()).join("j/0/snapshot-1/@OARLOCK_STATE@")).unwrap();
    let error = refusal(options(&folder, "j"));
    assert!(error.contains("lacks @OARLOCK_STATE@"), "{error}");
}

#[test]
fn log_that_cannot_be_written_is_named() {
    let folder = Folder::new("not-writable");
    std::fs::write(PathBuf::from(folder.path()).join("j"), b"a file").unwrap();
    assert!(refusal(options(&folder, "j")).contains("the log of this server cannot be in"));
}

#[test]
fn trainers_notifications_and_rows_are_there_after_a_restart() {
    let folder = Folder::new("state");
    let server = TestServer::start_with(2, ServerOptions { policy: Policy::Wait, ..options(&folder, "j") }).unwrap();
    let net = NetOptions { job: "j".into(), ..NetOptions::default() };
    let client = crate::client::Client::new(crate::client::ClientOptions { net, ..Default::default() });
    client.notify(1, server.endpoint(), b"at sample 7", 2).unwrap();
    server.look_up(&client, 1, &[3, 8], false);
    client.abandon();
    drop(server);
    let server = TestServer::start_with(2, ServerOptions { policy: Policy::Wait, ..options(&folder, "j") }).unwrap();
    assert_eq!(server.rows(), 2);
    let state = server.shared().state.lock();
    assert_eq!(state.notifications.get(&1).map(|text| &text[..]), Some(&b"at sample 7"[..]));
    assert!(state.seen[0].is_none());
}

#[test]
fn log_of_a_job_that_is_done_is_deleted() {
    let folder = Folder::new("done");
    let server = TestServer::start_with(1, options(&folder, "j")).unwrap();
    let net = NetOptions { job: "j".into(), ..NetOptions::default() };
    let client = crate::client::Client::new(crate::client::ClientOptions { net, ..Default::default() });
    client.notify(0, server.endpoint(), b"", 1).unwrap();
    assert!(server_json(&folder).exists());
    client.leave().unwrap();
    server.wait();
    assert!(!PathBuf::from(folder.path()).join("j").exists());
}
