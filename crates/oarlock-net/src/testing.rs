//! Frames as bytes, and back: for tests of this crate and of those that define messages.

use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::{ALIGN, Incoming, Outgoing, Received, Receiver, now};

/// A receiver of what is written to the socket.
fn fed(bytes: &[u8]) -> Receiver {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut feed = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let socket = listener.accept().unwrap().0;
    feed.write_all(bytes).unwrap();
    feed.shutdown(Shutdown::Write).unwrap();
    Receiver::new(Arc::new(socket), Arc::from("the peer"), 1 << 30)
}

/// The bytes of a frame.
pub fn encoded(frame: &Outgoing<'_>) -> Vec<u8> {
    let mut front = Vec::new();
    let header = frame.front(0, 1 << 30, &mut front).unwrap();
    let mut payload = Vec::new();
    for section in frame.sections {
        payload.resize(payload.len().next_multiple_of(ALIGN), 0);
        payload.extend_from_slice(section);
    }
    assert_eq!((payload.len() as u64, header.check_len()), (header.payload, 0));
    [front, frame.meta.to_vec(), payload].concat()
}

/// The frame that these bytes are, if they are one.
pub fn decoded(bytes: &[u8]) -> Option<Incoming> {
    let mut frame = Incoming::new();
    let received = fed(bytes).recv(&mut frame, now() + Duration::from_secs(20));
    matches!(received, Ok(Received::Frame)).then_some(frame)
}
