//! Connections on loopback, and attacks of unauthenticated peers.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::frame::HEADER;
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
                        assert!(
                            came == *section && (came.as_ptr() as usize).is_multiple_of(ALIGN),
                            "size {size}, section {k}"
                        );
                    }
                    assert_eq!(frame.section(i % 5), None);
                }
            });
        }
    });
    drop((to_server, from_server));
    assert_eq!(from_client.recv(&mut Incoming::new(), soon()).unwrap(), Received::Closed);
}

/// A connected pair of plain sockets.
fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

/// A receiver with the limit, and the socket that feeds it.
fn fed(limit: u64) -> (TcpStream, Receiver) {
    let (feed, socket) = sockets();
    (feed, Receiver::new(Arc::new(socket), Arc::from("the peer"), limit))
}

/// The bytes of a frame.
fn encoded(frame: &Outgoing<'_>) -> Vec<u8> {
    let (mut end, socket) = sockets();
    let mut sender = Sender::new(Arc::new(socket), Arc::from("the peer"), 1 << 30, true);
    sender.send_any(frame, soon()).unwrap();
    drop(sender);
    let mut bytes = Vec::new();
    end.read_to_end(&mut bytes).unwrap();
    bytes
}

fn small_frame() -> Vec<u8> {
    encoded(&Outgoing { kind: 3, id: 4, meta: b"some meta", sections: &[&[1; 100], &[2; 300]] })
}

/// The reaction of a receiver to these bytes.
fn answer(bytes: &[u8]) -> oarlock_ir::Result<Received> {
    let (mut feed, mut receiver) = fed(1 << 30);
    feed.write_all(bytes).unwrap();
    feed.shutdown(Shutdown::Write).unwrap();
    receiver.recv(&mut Incoming::new(), soon())
}

fn with_token(token: &str) -> NetOptions {
    NetOptions { token: Some(token.into()), hello: token.len().to_string().into(), ..NetOptions::default() }
}

/// The results of a handshake between a client and a server with these options.
fn handshake_of(
    client: &NetOptions,
    server: &NetOptions,
) -> (oarlock_ir::Result<Vec<u8>>, oarlock_ir::Result<Vec<u8>>) {
    let listener = Listener::bind("127.0.0.1:0", server).unwrap();
    thread::scope(|s| {
        let client = s.spawn(|| Conn::connect(listener.endpoint(), client, soon())?.hello().map(<[u8]>::to_vec));
        let mut accepted = listener.accept(&AtomicBool::new(false)).unwrap().unwrap();
        let server = accepted.hello().map(<[u8]>::to_vec);
        (client.join().unwrap(), server)
    })
}

#[test]
fn large_frames_in_both_directions_do_not_block_each_other() {
    let (client, server) = pair(&NetOptions::default());
    let data = vec![7_u8; 64 << 20];
    thread::scope(|s| {
        for conn in [client, server] {
            let (mut send, mut recv) = conn.split().unwrap();
            let data = &data;
            s.spawn(move || send.send(&Outgoing { kind: 1, id: 1, meta: &[], sections: &[data] }, soon()).unwrap());
            s.spawn(move || {
                let mut frame = Incoming::new();
                assert_eq!(recv.recv(&mut frame, soon()).unwrap(), Received::Frame);
                assert!(frame.section(0).unwrap() == data);
            });
        }
    });
}

#[test]
fn deadlines_fire_and_name_the_peer() {
    let (mut client, server) = pair(&NetOptions::default());
    let start = now();
    let short = || now() + Duration::from_millis(100);
    assert_eq!(client.recv(&mut Incoming::new(), short()).unwrap(), Received::TimedOut);
    let data = vec![0; 64 << 20];
    let frame = Outgoing { kind: 1, id: 1, meta: &[], sections: &[&data] };
    let e = client.send(&frame, short()).unwrap_err().to_string();
    assert!(e.contains(client.peer()) && e.contains("did not take a frame before the deadline"), "{e}");
    assert!(start.elapsed() < Duration::from_secs(5));
    let e = client.send(&frame, soon()).unwrap_err().to_string();
    assert!(e.contains("was closed after an error"), "{e}");
    drop(server);
}

#[test]
fn a_frame_survives_deadlines_that_pass_in_its_middle() {
    let bytes = small_frame();
    let (mut feed, mut receiver) = fed(1 << 30);
    let mut frame = Incoming::new();
    for part in bytes.chunks(30) {
        assert_eq!(receiver.recv(&mut frame, now() + Duration::from_millis(2)).unwrap(), Received::TimedOut);
        feed.write_all(part).unwrap();
        // Another frame in its place must not disturb.
        frame = Incoming::new();
    }
    assert_eq!(receiver.recv(&mut frame, soon()).unwrap(), Received::Frame);
    assert_eq!((frame.meta(), frame.section(1).unwrap()), (&b"some meta"[..], &[2; 300][..]));
}

#[test]
fn what_is_lent_stays_until_it_is_dropped() {
    let (mut client, mut server) = pair(&NetOptions::default());
    let mut frame = Incoming::new();
    let mut next = |seed: usize, frame: &mut Incoming| {
        let data = bytes(100_000, seed);
        client.send(&Outgoing { kind: 1, id: 1, meta: &[], sections: &[b"first", &data] }, soon()).unwrap();
        assert_eq!(server.recv(frame, soon()).unwrap(), Received::Frame);
        frame.section(1).unwrap().as_ptr() as usize
    };
    let first = next(1, &mut frame);
    let borrowed = frame.borrow_section(1).unwrap();
    assert!(frame.borrow_section(2).is_none());
    let second = next(2, &mut frame);
    assert!(
        (*borrowed).as_ref() == bytes(100_000, 1) && (*borrowed).as_ref().as_ptr() as usize == first && second != first
    );
    drop(borrowed);
    drop(frame.borrow_section(1));
    assert_eq!(next(3, &mut frame), second);
    assert_eq!(frame.section(1).unwrap(), bytes(100_000, 3));
}

#[test]
fn memory_grows_with_what_has_come() {
    let data = bytes(100 << 20, 1);
    let (client, server) = pair(&NetOptions::default());
    let ((mut send, _keep), (_also, mut recv)) = (client.split().unwrap(), server.split().unwrap());
    thread::scope(|s| {
        s.spawn(|| send.send(&Outgoing { kind: 1, id: 1, meta: &[], sections: &[&data] }, soon()).unwrap());
        let mut frame = Incoming::new();
        assert_eq!(recv.recv(&mut frame, soon()).unwrap(), Received::Frame);
        assert!(frame.section(0).unwrap() == data);
    });
}

#[test]
fn a_closer_wakes_who_waits() {
    let (mut client, mut server) = pair(&NetOptions::default());
    let closer = client.closer();
    thread::scope(|s| {
        s.spawn(move || {
            thread::sleep(Duration::from_millis(50));
            closer.close();
            closer.close();
        });
        assert_eq!(client.recv(&mut Incoming::new(), soon()).unwrap(), Received::Closed);
        assert_eq!(server.recv(&mut Incoming::new(), soon()).unwrap(), Received::Closed);
    });
    assert!(client.send(&Outgoing { kind: 1, id: 1, meta: &[], sections: &[] }, soon()).is_err());
}

#[test]
fn no_token_and_no_proof_is_logged_at_any_level() {
    let logged = testing::Logged::all();
    let (client, server) = handshake_of(&with_token("open sesame 7319"), &with_token("open sesame 7319"));
    assert!(client.is_ok() && server.is_ok());
    let (client, server) = handshake_of(&with_token("a guess 8421"), &with_token("open sesame 7319"));
    assert!(client.is_err() && server.is_err());
    let lines = logged.lines().join("\n");
    assert!(lines.contains("accepted") && lines.contains("does not know the token"), "{lines}");
    let options = format!("{:?}", with_token("open sesame 7319"));
    for text in [lines, options] {
        assert!(!text.contains("7319") && !text.contains("8421"), "{text}");
    }
}

#[test]
fn those_who_share_token_and_job_know_each_other() {
    let (client, server) = handshake_of(&with_token("open sesame"), &with_token("open sesame"));
    assert_eq!((client.unwrap(), server.unwrap()), (b"11".to_vec(), b"11".to_vec()));
    let (client, server) = handshake_of(&with_token("guess"), &with_token("open sesame"));
    let (client, server) = (client.unwrap_err().to_string(), server.unwrap_err().to_string());
    assert!(client.contains("refuses this process") && client.contains("does not know the token"), "{client}");
    assert!(server.contains("does not know the token of this job\n  help: set OARLOCK_TOKEN"), "{server}");
    assert!(!client.contains("sesame") && !server.contains("guess"), "{client}{server}");

    let (client, server) = handshake_of(&NetOptions::default(), &with_token("open sesame"));
    assert!(client.unwrap_err().to_string().contains("a token is asked for"));
    assert!(server.unwrap_err().to_string().contains("has none"));
    let (client, _) = handshake_of(&with_token("open sesame"), &NetOptions::default());
    assert!(client.unwrap_err().to_string().contains("asks for a token"));

    let other = NetOptions { job: "other".into(), ..NetOptions::default() };
    let (client, server) = handshake_of(&other, &NetOptions::default());
    assert!(client.unwrap_err().to_string().contains("belongs to job \"other\", this process to job \"\""));
    assert!(server.unwrap_err().to_string().contains("OARLOCK_JOB_ID"));
}

#[test]
fn a_peer_that_only_reads_needs_no_job_but_the_token() {
    let reads = NetOptions { hello: READS.to_vec(), ..with_token("open sesame") };
    let listens = |lets_read| NetOptions { job: "launch-1".into(), lets_read, ..with_token("open sesame") };
    assert!(handshake_of(&reads, &listens(true)).0.is_ok());
    for (client, server) in [
        (&reads, listens(false)),
        (&with_token("open sesame"), listens(true)),
        (&NetOptions { job: "other".into(), ..reads.clone() }, listens(true)),
    ] {
        let error = handshake_of(client, &server).0.unwrap_err().to_string();
        assert!(error.contains("this process to job \"launch-1\""), "{error}");
    }
    let guesses = NetOptions { token: Some("guess".into()), ..reads };
    assert!(handshake_of(&guesses, &listens(true)).0.unwrap_err().to_string().contains("does not know the token"));
}

#[test]
fn a_server_without_the_token_is_refused_although_it_agrees_to_everything() {
    // It takes the client's proof without looking and cannot give one itself.
    let impostor = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = impostor.local_addr().unwrap().to_string();
    thread::scope(|s| {
        let client = s.spawn(|| Conn::connect(&endpoint, &with_token("open sesame"), soon()));
        let socket = Arc::new(impostor.accept().unwrap().0);
        let mut send = Sender::new(socket.clone(), Arc::from("client"), 1 << 20, true);
        let mut recv = Receiver::new(socket, Arc::from("client"), 1 << 20);
        let mut frame = Incoming::new();
        for (kind, meta) in [
            (0xff01, codec::Writer::new().bytes(&[1; 32]).bool(true).as_bytes().to_vec()),
            (0xff03, codec::Writer::new().bytes(&[2; 32]).bytes(b"").as_bytes().to_vec()),
        ] {
            assert_eq!(recv.recv(&mut frame, soon()).unwrap(), Received::Frame);
            send.send_any(&Outgoing { kind, id: 0, meta: &meta, sections: &[] }, soon()).unwrap();
        }
        let e = client.join().unwrap().unwrap_err().to_string();
        assert!(e.contains("does not know the token of this job"), "{e}");
    });
}

#[test]
fn other_protocols_are_recognised_by_their_first_bytes() {
    let listener = Listener::bind("127.0.0.1:0", &NetOptions::default()).unwrap();
    for (greeting, reason) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "it speaks HTTP"),
        (&[0x16, 3, 1, 0, 200][..], "it speaks TLS, and this end does not"),
        (&[0; 100][..], "it is not Oarlock"),
        (&b"OARL\x01\x00"[..], "speaks version 1 of the protocol, this process speaks version 2"),
    ] {
        let mut peer = TcpStream::connect(listener.endpoint()).unwrap();
        peer.write_all(greeting).unwrap();
        let mut conn = listener.accept(&AtomicBool::new(false)).unwrap().unwrap();
        let e = conn.recv(&mut Incoming::new(), soon()).unwrap_err().to_string();
        assert!(e.contains(reason) && e.contains(&peer.local_addr().unwrap().to_string()), "{e}");
        // It receives the name of this protocol; then the connection ends. A reset is as good as an end.
        let mut told = Vec::new();
        let _ = peer.read_to_end(&mut told);
        assert!(told.starts_with(b"OARL\x02\x00"), "{told:?}");
    }
    // One that only checks whether a process listens is no error.
    drop(TcpStream::connect(listener.endpoint()).unwrap());
    let mut conn = listener.accept(&AtomicBool::new(false)).unwrap().unwrap();
    assert_eq!(conn.recv(&mut Incoming::new(), soon()).unwrap(), Received::Closed);
}

#[test]
fn a_client_learns_of_a_server_of_another_version() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = server.local_addr().unwrap().to_string();
    thread::scope(|s| {
        let client = s.spawn(|| Conn::connect(&endpoint, &NetOptions::default(), soon()));
        let mut accepted = server.accept().unwrap().0;
        accepted.write_all(b"OARL\x07\x00 whatever a header is then").unwrap();
        let e = client.join().unwrap().unwrap_err().to_string();
        let text = format!(
            "error[network]: {endpoint} speaks version 7 of the protocol, this process speaks version 2\n  \
             help: install the same Oarlock on every machine of the job"
        );
        assert_eq!(e, text);
    });
}

#[test]
fn silent_unauthenticated_peers_do_not_disturb_others() {
    let options = NetOptions { handshake: Duration::from_millis(50), ..NetOptions::default() };
    let listener = Listener::bind("127.0.0.1:0", &options).unwrap();
    let _silent = TcpStream::connect(listener.endpoint()).unwrap();
    let mut conn = listener.accept(&AtomicBool::new(false)).unwrap().unwrap();
    let e = conn.hello().unwrap_err().to_string();
    assert!(e.contains("did not complete the handshake within"), "{e}");
}

#[test]
fn unauthenticated_peers_get_no_memory() {
    let (mut feed, mut receiver) = fed(handshake::LIMIT);
    feed.write_all(&encoded(&Outgoing { kind: 1, id: 1, meta: &[], sections: &[&[0; 100_000]] })[..HEADER]).unwrap();
    let e = receiver.recv(&mut Incoming::new(), soon()).unwrap_err().to_string();
    assert!(e.contains("announces 100060 bytes, at most 65536 are taken"), "{e}");
}

#[test]
fn damage_is_noticed_wherever_it_is() {
    let good = small_frame();
    assert_eq!(answer(&good).unwrap(), Received::Frame);
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        assert!(answer(&bad).is_err(), "byte {at}");
    }
    for len in 1..good.len() {
        let e = answer(&good[..len]).unwrap_err().to_string();
        assert!(e.contains("in the middle of a frame") && e.contains(&format!("{len} of")), "{e}");
    }
    assert_eq!(answer(&[]).unwrap(), Received::Closed);
}

#[test]
fn limits_hold_for_both_ends() {
    let (mut client, mut server) = pair(&NetOptions { max_frame: 1000, ..NetOptions::default() });
    let e = client.send(&Outgoing { kind: 1, id: 1, meta: &[], sections: &[&[0; 1000]] }, soon()).unwrap_err();
    assert!(e.to_string().contains("raise OARLOCK_MAX_FRAME"), "{e}");
    let many = vec![&[][..]; MAX_SECTIONS + 1];
    assert!(client.send(&Outgoing { kind: 1, id: 1, meta: &[], sections: &many }, soon()).is_err());
    assert!(client.send(&Outgoing { kind: 0xff00, id: 1, meta: &[], sections: &[] }, soon()).is_err());
    // Nothing of these was sent, so the connection goes on.
    client.send(&Outgoing { kind: 1, id: 9, meta: &[], sections: &[&[0; 100]] }, soon()).unwrap();
    let mut frame = Incoming::new();
    assert_eq!(server.recv(&mut frame, soon()).unwrap(), Received::Frame);
    assert_eq!(frame.id(), 9);
}

/// Frames with random damage, for a second: no panic, and no memory to speak of.
#[test]
fn no_bytes_do_harm() {
    let good = [small_frame(), encoded(&Outgoing { kind: 9, id: 1, meta: &[], sections: &[] })].concat();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let end = now() + Duration::from_secs(1);
    let mut frames = 0;
    while now() < end {
        let mut bytes = good.clone();
        for _ in 0..=random(4) {
            let at = if random(2) == 0 { random(HEADER) } else { random(bytes.len()) };
            bytes[at] = random(256) as u8;
        }
        if random(2) == 0 {
            // A liar with a good checksum.
            let check = crc32fast::hash(&bytes[..HEADER - 4]);
            bytes[HEADER - 4..HEADER].copy_from_slice(&check.to_le_bytes());
        }
        bytes.truncate(random(bytes.len()) + 1);
        let (mut feed, mut receiver) = fed(1 << 30);
        feed.write_all(&bytes).unwrap();
        feed.shutdown(Shutdown::Write).unwrap();
        let mut frame = Incoming::new();
        while let Ok(Received::Frame) = receiver.recv(&mut frame, soon()) {
            frames += 1;
        }
        assert!(frame.memory() <= 64 << 20, "{} bytes for {bytes:?}", frame.memory());
    }
    assert!(frames > 0);
}

#[test]
fn listeners_have_their_own_ports() {
    let options = NetOptions::default();
    let (one, two) =
        (Listener::bind("127.0.0.1:0", &options).unwrap(), Listener::bind("127.0.0.1:0", &options).unwrap());
    assert_ne!(one.endpoint(), two.endpoint());
    let e = Listener::bind(one.endpoint(), &options).unwrap_err().to_string();
    let text = format!(
        "error[network]: cannot listen on {}: another process has this port\n  help: end that process, or choose another port",
        one.endpoint()
    );
    assert_eq!(e, text);
    let e = Listener::bind("192.0.2.1:0", &options).unwrap_err().to_string();
    assert!(e.contains("this machine does not have that address"), "{e}");
}

#[test]
fn a_listener_stops_soon() {
    let listener = Listener::bind("127.0.0.1:0", &NetOptions::default()).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|s| {
        let waiting = s.spawn(|| listener.accept(&stop).unwrap().is_none());
        thread::sleep(Duration::from_millis(20));
        stop.store(true, Ordering::Release);
        assert!(waiting.join().unwrap());
    });
}

#[test]
fn a_client_waits_for_its_server() {
    let options = NetOptions::default();
    let endpoint = Listener::bind("127.0.0.1:0", &options).unwrap().endpoint().to_owned();
    let e = Conn::connect(&endpoint, &options, now() + Duration::from_millis(60)).unwrap_err().to_string();
    assert!(e.contains(&format!("no connection to {endpoint}: {endpoint}: Connection refused")), "{e}");
    thread::scope(|s| {
        let client = s.spawn(|| Conn::connect(&endpoint, &options, soon()).unwrap());
        thread::sleep(Duration::from_millis(50));
        let listener = Listener::bind(&endpoint, &options).unwrap();
        listener.accept(&AtomicBool::new(false)).unwrap().unwrap().hello().unwrap();
        assert_eq!(client.join().unwrap().peer(), endpoint);
    });
}

#[test]
fn names_that_do_not_resolve_are_named() {
    let list = "ps0:80,no-such-host.invalid:80".to_string();
    let options = NetOptions { sources: vec![("PADDLE_PSERVERS_IP_PORT_LIST".into(), list)], ..NetOptions::default() };
    let e =
        Conn::connect("no-such-host.invalid:80", &options, now() + Duration::from_millis(100)).unwrap_err().to_string();
    let start = "error[network]: the host \"no-such-host.invalid\" of the endpoint no-such-host.invalid:80 \
                 (from PADDLE_PSERVERS_IP_PORT_LIST) cannot be resolved: ";
    assert!(e.starts_with(start), "{e}");
}

#[test]
fn names_devices_and_ipv6_lead_to_peers() {
    let device = NetOptions { device: Some("lo".into()), ..NetOptions::default() };
    let listener = Listener::bind("0.0.0.0:0", &device).unwrap();
    assert!(listener.endpoint().starts_with("127.0.0.1:"), "{}", listener.endpoint());
    assert!(Listener::bind("0.0.0.0:0", &NetOptions { device: Some("nope0".into()), ..device.clone() }).is_err());
    for (host, options) in [("localhost:0", device), ("[::1]:0", NetOptions::default())] {
        let listener = match Listener::bind(host, &options) {
            Ok(listener) => listener,
            Err(e) if host.starts_with('[') => {
                oarlock_testkit::skip(&format!("no IPv6 on this machine: {e}"));
                continue;
            }
            Err(e) => panic!("{e}"),
        };
        thread::scope(|s| {
            let client = s.spawn(|| Conn::connect(listener.endpoint(), &options, soon()).unwrap());
            listener.accept(&AtomicBool::new(false)).unwrap().unwrap().hello().unwrap();
            assert!(client.join().unwrap().peer().starts_with(listener.endpoint()));
        });
    }
}

/// A certificate for loopback, made by the `openssl` command; `None` where there is none.
#[cfg(feature = "tls")]
fn certificate(dir: &std::path::Path) -> Option<TlsFiles> {
    use std::process::{Command, Stdio};
    let (cert, key) = (dir.join("cert.pem"), dir.join("key.pem"));
    std::fs::create_dir_all(dir).unwrap();
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=oarlock", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&cert)
        .stderr(Stdio::null())
        .status();
    made.is_ok_and(|status| status.success()).then_some(TlsFiles { cert, key, ca: None, name: None })
}

#[cfg(feature = "tls")]
#[test]
fn tls_encrypts_and_knows_its_peers() {
    let dir = std::env::temp_dir().join(format!("oarlock-tls-{}", std::process::id()));
    let files = (certificate(&dir.join("a")), certificate(&dir.join("b")));
    let (Some(ours), Some(theirs)) = files else {
        return oarlock_testkit::skip("no openssl command to make certificates with");
    };
    let with = |files: &TlsFiles| NetOptions { tls: Some(files.clone()), ..with_token("open sesame") };

    let (client, server) = pair(&with(&ours));
    let data = bytes(5_000_001, 3);
    thread::scope(|s| {
        for conn in [client, server] {
            let (mut send, mut recv) = conn.split().unwrap();
            let data = &data;
            s.spawn(move || {
                let (mut frame, mut got) = (Incoming::new(), 0);
                while got < 3 {
                    match recv.recv(&mut frame, now() + Duration::from_millis(5)).unwrap() {
                        Received::Frame => got += 1,
                        other => assert_eq!(other, Received::TimedOut),
                    }
                }
                assert!(frame.meta() == b"m" && frame.section(0).unwrap() == data);
                recv
            });
            s.spawn(move || {
                for id in 0..3 {
                    send.send(&Outgoing { kind: 1, id, meta: b"m", sections: &[data] }, soon()).unwrap();
                }
                send
            });
        }
    });

    // Another's certificate, no TLS at all, a host that the certificate does not name: each is refused.
    let (client, server) = handshake_of(&with(&ours), &with(&theirs));
    assert!(client.unwrap_err().to_string().contains("no TLS connection with"));
    assert!(server.is_err());
    let (client, server) = handshake_of(&with_token("open sesame"), &with(&ours));
    assert!(client.unwrap_err().to_string().contains("it speaks TLS, and this end does not"));
    assert!(server.unwrap_err().to_string().contains("no TLS connection with"));
    let elsewhere = TlsFiles { name: Some("elsewhere".into()), ..ours.clone() };
    let (client, _) = handshake_of(&with(&elsewhere), &with(&ours));
    assert!(client.unwrap_err().to_string().contains("no TLS connection with"));
    let nowhere = TlsFiles { key: dir.join("none.pem"), ..ours };
    let listener = Listener::bind("127.0.0.1:0", &NetOptions::default()).unwrap();
    let e = Conn::connect(listener.endpoint(), &with(&nowhere), soon()).unwrap_err().to_string();
    assert!(e.contains("none.pem cannot be used for TLS"), "{e}");
    std::fs::remove_dir_all(&dir).unwrap();
}

#[cfg(not(feature = "tls"))]
#[test]
fn tls_that_was_not_built_is_refused() {
    let files = TlsFiles { cert: "c".into(), key: "k".into(), ca: None, name: None };
    let with_tls = NetOptions { tls: Some(files), ..NetOptions::default() };
    let (client, _) = handshake_of(&with_tls, &NetOptions::default());
    for e in [client.unwrap_err(), Listener::bind("127.0.0.1:0", &with_tls).unwrap_err()] {
        assert!(e.to_string().contains("build with the feature `tls`"), "{e}");
    }
}

/// Small frames go out at once, and the system asks after a peer that says nothing: at both ends, whatever the token.
#[test]
fn sockets_neither_wait_nor_forget() {
    let (client, server) = pair(&with_token("open sesame"));
    for conn in [&client, &server] {
        let socket = socket2::SockRef::from(conn.socket());
        assert!(socket.tcp_nodelay().unwrap() && socket.keepalive().unwrap());
        let (time, interval) = (socket.tcp_keepalive_time().unwrap(), socket.tcp_keepalive_interval().unwrap());
        assert_eq!((time.as_secs(), interval.as_secs(), socket.tcp_keepalive_retries().unwrap()), (10, 5, 3));
        // A connection by which a process shows that it is alive is asked after every second.
        conn.watch_closely().unwrap();
        assert_eq!(socket.tcp_keepalive_time().unwrap().as_secs(), 1);
        #[cfg(target_os = "linux")]
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(Duration::from_millis(1800)));
    }
    let (client, server) = pair(&NetOptions { keepalive: None, ..NetOptions::default() });
    for conn in [client, server] {
        let socket = socket2::SockRef::from(conn.socket());
        assert!(socket.tcp_nodelay().unwrap() && !socket.keepalive().unwrap());
    }
}
