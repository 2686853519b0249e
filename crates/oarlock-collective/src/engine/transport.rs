//! Messages between two ranks, and TCP as their carrier.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver as Queue, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use oarlock_ir::{Error, Result};
use oarlock_tensor::Buf;
use parking_lot::{Condvar, Mutex};

use crate::call::Wait;
use oarlock_net::{Conn, Incoming, Outgoing, Received, Receiver, Sender, now};

/// Carries messages between the ranks of a group; ranks are given by their places in it. Messages between two ranks arrive in the
/// order in which they were sent.
pub(crate) trait Transport: Send {
    /// The number of ranks.
    fn count(&self) -> usize;

    /// The place of this rank.
    fn me(&self) -> usize;

    /// Takes a message to be sent; does not wait until it is received.
    fn send(&mut self, wait: &Wait<'_>, to: usize, bytes: &[u8]) -> Result<()>;

    /// Waits for the next message from a rank, which must have `len` bytes, and gives it to `take`.
    fn receive(&mut self, wait: &Wait<'_>, from: usize, len: usize, take: &mut dyn FnMut(&[u8])) -> Result<()>;

    /// Ends an exchange: messages that this rank sent must reach the others even if it does nothing more.
    fn settle(&mut self, _: &Wait<'_>) -> Result<()> {
        Ok(())
    }

    /// Waits until everything has been sent.
    fn flush(&mut self);
}

/// The kind of all frames between ranks.
const VALUES: u16 = 1;

/// Up to here a message is sent at once: the system's buffers hold it, so both sides can do so at the same time.
const AT_ONCE: usize = 16 << 10;

/// Messages that may wait to be sent.
const WAITING: usize = 16;

/// How often a wait checks for dead ranks.
const LOOK: Duration = Duration::from_millis(100);

/// How long the last messages may take to leave.
const FLUSH: Duration = Duration::from_secs(5);

/// Ranks that are connected by TCP. A thread of its own sends: if all ranks only sent, none would receive.
pub(crate) struct Tcp {
    /// Ranks by place.
    members: Vec<usize>,
    me: usize,
    links: HashMap<usize, Link>,
    queue: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<()>>,
    spare: Arc<Spare>,
    text: Vec<u8>,
}

struct Link {
    sender: Arc<Mutex<Sender>>,
    receiver: Receiver,
    frame: Incoming,
}

struct Message {
    sender: Arc<Mutex<Sender>>,
    meta: Vec<u8>,
    bytes: Buf,
    until: Instant,
}

/// Buffers that are used again, for descriptions and values.
#[derive(Default)]
struct Waiting {
    buffers: Vec<(Vec<u8>, Buf)>,
    /// Messages that are not sent yet.
    under_way: usize,
}

/// The state of the two threads.
#[derive(Default)]
struct Spare {
    state: Mutex<Waiting>,
    idle: Condvar,
}

impl Tcp {
    /// `conns` are the connections to other ranks, by place.
    pub(crate) fn new(members: Vec<usize>, me: usize, conns: Vec<(usize, Conn)>) -> Result<Tcp> {
        let mut links = HashMap::new();
        for (place, conn) in conns {
            let (sender, receiver) = conn.split()?;
            links.insert(place, Link { sender: Arc::new(Mutex::new(sender)), receiver, frame: Incoming::new() });
        }
        let (queue, waiting) = sync_channel(WAITING);
        let spare = Arc::<Spare>::default();
        let returned = spare.clone();
        let thread = std::thread::Builder::new()
            .name("oarlock-send".into())
            .spawn(move || send_all(&waiting, &returned))
            .map_err(|e| Error::internal(format!("no thread to send with: {e}")))?;
        Ok(Tcp { members, me, links, queue: Some(queue), thread: Some(thread), spare, text: Vec::new() })
    }

    fn link(&mut self, place: usize) -> Result<&mut Link> {
        self.links.get_mut(&place).ok_or_else(|| Error::internal(format!("there is no connection to rank {place}")))
    }

    fn describe(&mut self, wait: &Wait<'_>) {
        self.text.clear();
        // Writing to memory cannot fail.
        let _ = write!(self.text, "{}", wait.call);
    }
}

/// Sends queued messages, until the queue is closed. An error closes the connection, which the receiver notices.
fn send_all(waiting: &Queue<Message>, spare: &Spare) {
    while let Ok(message) = waiting.recv() {
        let frame = Outgoing { kind: VALUES, id: 0, meta: &message.meta, sections: &[message.bytes.bytes()] };
        let _ = message.sender.lock().send(&frame, message.until);
        let mut state = spare.state.lock();
        state.buffers.push((message.meta, message.bytes));
        state.under_way -= 1;
        spare.idle.notify_all();
    }
}

impl Transport for Tcp {
    fn count(&self) -> usize {
        self.members.len()
    }

    fn me(&self) -> usize {
        self.me
    }

    fn send(&mut self, wait: &Wait<'_>, to: usize, bytes: &[u8]) -> Result<()> {
        self.describe(wait);
        let (rank, sender) = (self.members[to], self.link(to)?.sender.clone());
        let under_way = self.spare.state.lock().under_way;
        if bytes.len() <= AT_ONCE && under_way == 0 {
            let frame = Outgoing { kind: VALUES, id: 0, meta: &self.text, sections: &[bytes] };
            return sender.lock().send(&frame, wait.until).map_err(|_| wait.failures.broken(rank, &wait.call));
        }
        let (mut meta, mut buf) = self.spare.state.lock().buffers.pop().unwrap_or_default();
        meta.clear();
        meta.extend_from_slice(&self.text);
        buf.resize(bytes.len());
        buf.bytes_mut().copy_from_slice(bytes);
        self.spare.state.lock().under_way += 1;
        let mut message = Message { sender, meta, bytes: buf, until: wait.until };
        loop {
            let Some(queue) = &self.queue else { return Err(Error::internal("the sending thread has ended")) };
            match queue.try_send(message) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Disconnected(_)) => return Err(Error::internal("the sending thread has ended")),
                Err(TrySendError::Full(back)) => message = back,
            }
            wait.check(rank)?;
            let mut state = self.spare.state.lock();
            if state.under_way > WAITING {
                self.spare.idle.wait_for(&mut state, LOOK);
            }
        }
    }

    fn receive(&mut self, wait: &Wait<'_>, from: usize, len: usize, take: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.describe(wait);
        let rank = self.members[from];
        let text = std::mem::take(&mut self.text);
        let link = self.link(from)?;
        let received = loop {
            match link.receiver.recv(&mut link.frame, wait.until.min(now() + LOOK)) {
                Ok(Received::Frame) => break Ok(()),
                Ok(Received::TimedOut) => wait.check(rank)?,
                Ok(Received::Closed) | Err(_) => break Err(wait.failures.broken(rank, &wait.call)),
            }
        };
        let came = received.and_then(|()| {
            wait.compare(rank, &text, link.frame.meta())?;
            let bytes = link.frame.section(0).unwrap_or_default();
            if bytes.len() != len {
                return Err(Error::internal(format!("a message of {} bytes came, {len} are expected", bytes.len())));
            }
            take(bytes);
            Ok(())
        });
        self.text = text;
        came
    }

    fn flush(&mut self) {
        let until = now() + FLUSH;
        let mut state = self.spare.state.lock();
        while state.under_way > 0 && !self.spare.idle.wait_until(&mut state, until).timed_out() {}
    }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // It ends when its queue is gone; what it sends has a deadline.
            let _ = thread.join();
        }
    }
}
