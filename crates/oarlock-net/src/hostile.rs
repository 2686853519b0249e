//! Attacks on frames and on the handshake. In a process of its own, because the memory that they take is counted.

use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use oarlock_testkit::{Counting, attack, in_own_process};

use super::frame::{CHECK, HEADER};
use super::testing::{decoded, encoded};
use super::*;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CHILD: &str = "OARLOCK_TEST_HOSTILE";

/// Makes the checksums right: a liar that can count.
fn repaired(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.len() < HEADER {
        return bytes;
    }
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
    let sections = u64::from(u32::from_le_bytes(bytes[20..24].try_into().unwrap_or_default()));
    let front = (sections * 8).saturating_add(number(24)).min((bytes.len() - HEADER) as u64) as usize;
    let check = crc32fast::hash(&bytes[HEADER..HEADER + front]);
    bytes[40..44].copy_from_slice(&check.to_le_bytes());
    let check = crc32fast::hash(&bytes[..HEADER - CHECK]);
    bytes[HEADER - CHECK..HEADER].copy_from_slice(&check.to_le_bytes());
    bytes
}

/// Does a server accept an unauthenticated peer that sends these bytes?
fn greeted(bytes: &[u8]) -> bool {
    let options = Arc::new(NetOptions { handshake: Duration::from_secs(20), ..NetOptions::default() });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut feed = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let socket = listener.accept().unwrap().0;
    feed.write_all(bytes).unwrap();
    feed.shutdown(Shutdown::Write).unwrap();
    Conn::accepted(socket, Arc::from("an unauthenticated peer"), &options).hello().is_ok()
}

/// The bytes that a client without a token sends to a server.
fn handshake() -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = listener.local_addr().unwrap().to_string();
    // The client's two frames, as a server that only listens and answers once would see them.
    let heard = std::thread::spawn(move || recorded(&listener));
    let options = NetOptions { hello: b"who I am".to_vec(), ..NetOptions::default() };
    Conn::connect(&endpoint, &options, now() + Duration::from_secs(20)).unwrap();
    heard.join().unwrap()
}

/// Passes a client on to a real server, and writes down what it says.
fn recorded(listener: &TcpListener) -> Vec<u8> {
    use std::io::Read;
    let server = Listener::bind("127.0.0.1:0", &NetOptions::default()).unwrap();
    let mut client = listener.accept().unwrap().0;
    let mut to = TcpStream::connect(server.endpoint()).unwrap();
    let mut back = (to.try_clone().unwrap(), client.try_clone().unwrap());
    let answers = std::thread::spawn(move || std::io::copy(&mut back.0, &mut back.1));
    let serving = std::thread::spawn(move || {
        let mut conn = server.accept(&std::sync::atomic::AtomicBool::new(false)).unwrap().unwrap();
        conn.hello().map(<[u8]>::to_vec).unwrap()
    });
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(n) = client.read(&mut piece)
        && n > 0
    {
        all.extend_from_slice(&piece[..n]);
        to.write_all(&piece[..n]).unwrap();
    }
    to.shutdown(Shutdown::Both).ok();
    serving.join().unwrap();
    answers.join().unwrap().ok();
    all
}

fn attack_frames() {
    let good = encoded(&Outgoing { kind: 3, id: 4, meta: b"some meta", sections: &[&[1; 100], &[2; 300]] });
    attack("frame", &good, |bytes| decoded(bytes).is_some());
    attack("liar", &good, |bytes| decoded(&repaired(bytes)).is_some());
    // The proof answers a number that the server draws, so even a good recording is refused; without a token it is not looked at.
    let hello = handshake();
    attack("handshake", &hello, greeted);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how a test tells its child process what to do")]
fn child() {
    if std::env::var_os(CHILD).is_some() {
        attack_frames();
    }
}

#[test]
fn mutated_frames_neither_panic_nor_take_much_memory() {
    in_own_process("hostile::child", CHILD);
}
