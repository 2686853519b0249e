//! For tests of this crate and of those above it: frames as bytes and back ([`encoded`], [`decoded`]), and the events that were
//! logged ([`Logged`]).

use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Once};
use std::time::Duration;

use parking_lot::Mutex;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::logging::Fields;
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

/// The events of all levels and threads since its making that have a field of a certain value, which tells tests of one process apart.
pub struct Logged(Arc<Capture>);

struct Capture {
    field: Option<(&'static str, String)>,
    lines: Mutex<Vec<String>>,
}

static CAPTURES: Mutex<Vec<Arc<Capture>>> = Mutex::new(Vec::new());

impl Logged {
    /// Events with this field, such as the endpoint of a server.
    pub fn with(field: &'static str, value: &str) -> Logged {
        Logged::capture(Some((field, value.to_string())))
    }

    /// All events of the process.
    pub fn all() -> Logged {
        Logged::capture(None)
    }

    fn capture(field: Option<(&'static str, String)>) -> Logged {
        static START: Once = Once::new();
        START.call_once(|| {
            tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Captures)).unwrap()
        });
        let capture = Arc::new(Capture { field, lines: Mutex::default() });
        CAPTURES.lock().push(capture.clone());
        Logged(capture)
    }

    /// Level, message and fields of each event.
    pub fn lines(&self) -> Vec<String> {
        self.0.lines.lock().clone()
    }
}

/// Gives each event to those who capture it.
struct Captures;

impl<S: Subscriber> Layer<S> for Captures {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let has = |(name, value): &(&str, String)| {
            fields
                .others
                .iter()
                .any(|(n, v)| n == name && v.as_str().map_or_else(|| format!("{v}") == *value, |v| v == value))
        };
        for capture in CAPTURES.lock().iter().filter(|capture| capture.field.as_ref().is_none_or(has)) {
            let line = format!("{} {} {:?}", event.metadata().level(), fields.message, fields.others);
            capture.lines.lock().push(line);
        }
    }
}
