//! Connections on loopback, and what strangers can do to them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::*;

fn soon() -> Instant {
    now() + Duration::from_secs(20)
}

/// A connected pair: who connected, who accepted.
fn pair(options: &NetOptions) -> (Conn, Conn) {
    let listener = Listener::bind("127.0.0.1:0", options).unwrap();
    thread::scope(|s| {
        let client = s.spawn(|| Conn::connect(listener.endpoint(), options, soon()).unwrap());
        let mut server = listener.accept(&AtomicBool::new(false)).unwrap().unwrap();
        server.hello().unwrap();
        (client.join().unwrap(), server)
    })
}

fn bytes(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + seed * 17 + (i >> 8)) as u8).collect()
}

#[test]
fn frames_of_many_sizes_arrive_as_they_were_sent() {
    let (client, server) = pair(&NetOptions::default());
    let (mut to_server, mut from_server) = client.split().unwrap();
    let (mut to_client, mut from_client) = server.split().unwrap();
    let sizes = [0, 1, 63, 64, 65, 100, 4096, 65_535, 65_536, 70_000, 1 << 20, (3 << 20) + 5];
    thread::scope(|s| {
        for (send, recv) in [(&mut to_server, &mut from_client), (&mut to_client, &mut from_server)] {
            s.spawn(move || {
                for (i, size) in sizes.iter().enumerate() {
                    let (a, b) = (bytes(*size, i), bytes(size / 2, i + 1));
                    let sections = [&a[..], &b[..], &[][..], &a[..]];
                    let meta = bytes(size / 3 % 1000, i);
                    let frame =
                        Outgoing { kind: i as u16, id: i as u64 + 1, meta: &meta, sections: &sections[..i % 5] };
                    send.send(&frame, soon()).unwrap();
                }
            });
            s.spawn(move || {
                let mut frame = Incoming::new();
                for (i, size) in sizes.iter().enumerate() {
                    assert_eq!(recv.recv(&mut frame, soon()).unwrap(), Received::Frame);
                    let (a, b) = (bytes(*size, i), bytes(size / 2, i + 1));
                    let sections = [&a[..], &b[..], &[][..], &a[..]];
                    assert_eq!((frame.kind(), frame.id(), frame.sections()), (i as u16, i as u64 + 1, i % 5));
                    assert_eq!(frame.meta(), bytes(size / 3 % 1000, i));
                    for (k, section) in sections.iter().take(i % 5).enumerate() {
                        let came = frame.section(k).unwrap();
                        assert!(came == *section && came.as_ptr() as usize % ALIGN == 0, "size {size}, section {k}");
                    }
                    assert_eq!(frame.section(i % 5), None);
                }
            });
        }
    });
    drop((to_server, from_server));
    assert_eq!(from_client.recv(&mut Incoming::new(), soon()).unwrap(), Received::Closed);
}
