//! The failure detector: every rank sends heartbeats to the coordinator (rank 0, or the first rank that is left), which tells all
//! ranks which one failed.
//!
//! A process that ends closes its connection at once; of a machine that vanishes the heartbeats stop (`OARLOCK_SILENCE`). The
//! coordinator decides which rank died first, so that all ranks name the same one: neighbours of a dead rank fail, too, right after
//! it. Heartbeats also carry the number of exchanges a rank has begun: an exchange that times out names the slowest rank.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use oarlock_ir::{Error, Result};
use parking_lot::{Condvar, Mutex};

use crate::failure::{End, FailureState};
use oarlock_net::codec::{Reader, Writer};
use oarlock_net::{Closer, Conn, Incoming, Outgoing, Received, Receiver, Sender, now};

const BEAT: u16 = 8;
const GONE: u16 = 9;
const LEAVE: u16 = 10;
const PART: u16 = 11;

/// How long the others may take to acknowledge that a rank leaves.
const FAREWELL: Duration = Duration::from_secs(1);

/// How long a heartbeat may take to be sent.
const SEND: Duration = Duration::from_secs(2);

/// Watches the ranks of a group.
pub(crate) struct FailureDetector {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    me: usize,
    coordinator: usize,
    failures: Arc<FailureState>,
    heartbeat_timeout: Duration,
    /// Connections from the coordinator to all others, or to the coordinator.
    lines: Vec<Line>,
    leaving: AtomicBool,
    stopped: Mutex<bool>,
    wake: Condvar,
}

struct Line {
    rank: usize,
    sender: Mutex<Sender>,
    closer: Closer,
    /// The number of exchanges that the rank has begun, as of its last heartbeat.
    calls: AtomicU64,
    open: AtomicBool,
}

impl FailureDetector {
    /// Watches these connections. A rank without a heartbeat for `heartbeat_timeout` is lost.
    pub(crate) fn new(
        me: usize,
        coordinator: usize,
        failures: Arc<FailureState>,
        heartbeat_timeout: Duration,
        conns: Vec<(usize, Conn)>,
    ) -> Result<FailureDetector> {
        let (mut lines, mut receivers) = (Vec::new(), Vec::new());
        for (rank, conn) in conns {
            let closer = conn.closer();
            let (sender, receiver) = conn.split()?;
            let (calls, open) = (AtomicU64::new(0), AtomicBool::new(true));
            lines.push(Line { rank, sender: Mutex::new(sender), closer, calls, open });
            receivers.push(receiver);
        }
        let (leaving, stopped) = (AtomicBool::new(false), Mutex::new(false));
        let shared = Arc::new(Shared {
            me,
            coordinator,
            failures,
            heartbeat_timeout,
            lines,
            leaving,
            stopped,
            wake: Condvar::new(),
        });
        let mut detector = FailureDetector { shared: shared.clone(), threads: Vec::new() };
        for (i, receiver) in receivers.into_iter().enumerate() {
            let shared = shared.clone();
            detector.spawn(move || shared.listen(i, receiver))?;
        }
        detector.spawn(move || shared.send_heartbeats())?;
        Ok(detector)
    }

    fn spawn(&mut self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let thread = std::thread::Builder::new().name("oarlock-failure".into()).stack_size(256 << 10).spawn(work);
        self.threads.push(thread.map_err(|e| Error::internal(format!("no thread for the failure detector: {e}")))?);
        Ok(())
    }

    /// Leaves: sends it to the others, and waits until they have received it.
    pub(crate) fn leave(&mut self) {
        if self.shared.leaving.swap(true, Ordering::AcqRel) {
            return;
        }
        if self.shared.failures.verdict().is_none() {
            self.shared.send_leave();
            let until = now() + FAREWELL;
            while self.shared.lines.iter().any(|line| line.open.load(Ordering::Acquire)) && now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self.end();
    }

    fn end(&mut self) {
        *self.shared.stopped.lock() = true;
        self.shared.wake.notify_all();
        self.shared.lines.iter().for_each(|line| line.closer.close());
        for thread in self.threads.drain(..) {
            // A thread that panicked has printed it.
            let _ = thread.join();
        }
    }
}

impl FailureDetector {
    /// Ends because the group is formed again: the others do not take this rank for dead.
    pub(crate) fn part(&mut self) {
        self.shared.leaving.store(true, Ordering::Release);
        self.shared.send(PART, |_| {});
        self.end();
    }

    /// Closes all connections without leaving, as a killed process does.
    pub(crate) fn abandon(&mut self) {
        self.shared.leaving.store(true, Ordering::Release);
        self.end();
    }
}

impl Drop for FailureDetector {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Shared {
    /// Receives from one of the others, until it ends.
    fn listen(&self, line: usize, mut receiver: Receiver) {
        let mut frame = Incoming::new();
        let line = &self.lines[line];
        loop {
            let end = match receiver.recv(&mut frame, now() + self.heartbeat_timeout) {
                Ok(Received::Frame) => match self.received(line, &frame) {
                    Ok(true) => continue,
                    Ok(false) => None,
                    Err(_) => Some(End::Died),
                },
                Ok(Received::TimedOut) => Some(End::Silent),
                Ok(Received::Closed) | Err(_) => Some(End::Died),
            };
            line.open.store(false, Ordering::Release);
            line.closer.close();
            if let Some(end) = end
                && !self.leaving.load(Ordering::Acquire)
            {
                self.ended(line.rank, end);
            }
            return;
        }
    }

    /// Handles a message; false if it is the last.
    fn received(&self, line: &Line, frame: &Incoming) -> Result<bool> {
        let mut meta = Reader::new(frame.meta(), "a heartbeat");
        match frame.kind() {
            BEAT => {
                let (rank, calls) = (meta.u32()? as usize, meta.u64()?);
                match self.me == self.coordinator {
                    true => line.calls.store(calls, Ordering::Relaxed),
                    false => self.failures.note_slowest(rank, calls),
                }
                Ok(true)
            }
            GONE => {
                let (rank, end) = (meta.u32()? as usize, end_of(meta.u8()?));
                self.failures.ended(rank, end);
                Ok(rank != line.rank)
            }
            LEAVE => {
                self.ended(line.rank, End::Left);
                Ok(false)
            }
            PART => Ok(false),
            kind => Err(Error::internal(format!("kind {kind} is no message of the failure detector"))),
        }
    }

    /// A rank ended: the coordinator sends it to all. It is recorded before it is sent, because a rank that receives it ends, too, and
    /// must not count as the first; and waiting threads of this process are woken last, because the process ends then, and could
    /// not send any more.
    fn ended(&self, rank: usize, end: End) {
        let first = self.failures.decide(rank, end);
        if self.me == self.coordinator && first {
            self.send(GONE, |meta| {
                meta.u32(rank as u32).u8(code_of(end));
            });
        }
        // If another died before, the thread that recorded it is still sending it.
        if first {
            self.failures.publish(end);
        }
    }

    fn send_leave(&self) {
        match self.me == self.coordinator {
            true => self.send(GONE, |meta| {
                meta.u32(self.coordinator as u32).u8(code_of(End::Left));
            }),
            false => self.send(LEAVE, |_| {}),
        }
    }

    /// Sends heartbeats until the end.
    fn send_heartbeats(&self) {
        let mut stopped = self.stopped.lock();
        while !*stopped {
            let (rank, calls) = self.slowest();
            drop(stopped);
            self.send(BEAT, |meta| {
                meta.u32(rank as u32).u64(calls);
            });
            stopped = self.stopped.lock();
            if !*stopped {
                self.wake.wait_for(&mut stopped, self.heartbeat_timeout / 4);
            }
        }
    }

    /// On the coordinator the rank that has begun the fewest exchanges; on others this rank.
    fn slowest(&self) -> (usize, u64) {
        let own = (self.me, self.failures.calls.load(Ordering::Relaxed));
        let others = self.lines.iter().map(|line| (line.rank, line.calls.load(Ordering::Relaxed)));
        match self.me == self.coordinator {
            true => {
                let slowest = others.chain([own]).min_by_key(|(_, calls)| *calls).unwrap_or(own);
                self.failures.note_slowest(slowest.0, slowest.1);
                slowest
            }
            false => own,
        }
    }

    /// Sends a message on all connections; the thread that receives on one notices if it is broken.
    fn send(&self, kind: u16, write: impl Fn(&mut Writer)) {
        let mut meta = Writer::new();
        write(&mut meta);
        let frame = Outgoing { kind, id: 0, meta: meta.as_bytes(), sections: &[] };
        let until: Instant = now() + SEND;
        for line in self.lines.iter().filter(|line| line.open.load(Ordering::Acquire)) {
            let _ = line.sender.lock().send(&frame, until);
        }
    }
}

fn code_of(end: End) -> u8 {
    match end {
        End::Died => 0,
        End::Silent => 1,
        End::Left => 2,
    }
}

fn end_of(code: u8) -> End {
    match code {
        1 => End::Silent,
        2 => End::Left,
        _ => End::Died,
    }
}
