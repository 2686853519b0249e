//! Who is still there: every worker shows rank 0 (or the first of those who are left) that it is alive, and rank 0 tells everybody
//! who is not.
//!
//! A process that ends closes its connection at once; a machine that vanishes is silent. Rank 0 decides who died first, so that
//! all name the same one: neighbours of the dead fail, too, and their ends come right after.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use oarlock_ir::{Error, Result};
use parking_lot::{Condvar, Mutex};

use crate::failure::{End, Fate};
use oarlock_net::codec::{Reader, Writer};
use oarlock_net::{Closer, Conn, Incoming, Outgoing, Received, Receiver, Sender, now};

const BEAT: u16 = 8;
const GONE: u16 = 9;
const LEAVE: u16 = 10;
const PART: u16 = 11;

/// How long a leave may take to be heard.
const FAREWELL: Duration = Duration::from_secs(1);

/// How long a beat may take to be sent.
const SEND: Duration = Duration::from_secs(2);

/// Watches the workers of a group.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    me: usize,
    /// Who decides: rank 0, or the first of those who are left.
    hub: usize,
    fate: Arc<Fate>,
    silence: Duration,
    /// Connections to the others, on rank 0; to rank 0, on the others.
    lines: Vec<Line>,
    leaving: AtomicBool,
    stopped: Mutex<bool>,
    wake: Condvar,
}

struct Line {
    rank: usize,
    sender: Mutex<Sender>,
    closer: Closer,
    /// Exchanges that this worker has begun, as far as is known.
    calls: AtomicU64,
    open: AtomicBool,
}

impl Watch {
    /// Watches over these connections. One that is silent for `silence` is lost.
    pub(crate) fn new(
        me: usize,
        hub: usize,
        fate: Arc<Fate>,
        silence: Duration,
        conns: Vec<(usize, Conn)>,
    ) -> Result<Watch> {
        let (mut lines, mut receivers) = (Vec::new(), Vec::new());
        for (rank, conn) in conns {
            let closer = conn.closer();
            let (sender, receiver) = conn.split()?;
            let (calls, open) = (AtomicU64::new(0), AtomicBool::new(true));
            lines.push(Line { rank, sender: Mutex::new(sender), closer, calls, open });
            receivers.push(receiver);
        }
        let (leaving, stopped) = (AtomicBool::new(false), Mutex::new(false));
        let shared = Arc::new(Shared { me, hub, fate, silence, lines, leaving, stopped, wake: Condvar::new() });
        let mut watch = Watch { shared: shared.clone(), threads: Vec::new() };
        for (i, receiver) in receivers.into_iter().enumerate() {
            let shared = shared.clone();
            watch.spawn(move || shared.listen(i, receiver))?;
        }
        watch.spawn(move || shared.beat())?;
        Ok(watch)
    }

    fn spawn(&mut self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let thread = std::thread::Builder::new().name("oarlock-watch".into()).stack_size(256 << 10).spawn(work);
        self.threads.push(thread.map_err(|e| Error::internal(format!("no thread to watch with: {e}")))?);
        Ok(())
    }

    /// Tells the others that this worker leaves, and waits until they heard it.
    pub(crate) fn leave(&mut self) {
        if self.shared.leaving.swap(true, Ordering::AcqRel) {
            return;
        }
        if self.shared.fate.verdict().is_none() {
            self.shared.say_leave();
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
            // One that panicked has said so already.
            let _ = thread.join();
        }
    }
}

impl Watch {
    /// Ends because the group is formed anew: nobody takes this worker for dead.
    pub(crate) fn part(&mut self) {
        self.shared.leaving.store(true, Ordering::Release);
        self.shared.tell(PART, |_| {});
        self.end();
    }

    /// Ends without a word, as a process does that is killed.
    pub(crate) fn abandon(&mut self) {
        self.shared.leaving.store(true, Ordering::Release);
        self.end();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Shared {
    /// Hears what comes from one of the others, until it ends.
    fn listen(&self, line: usize, mut receiver: Receiver) {
        let mut frame = Incoming::new();
        let line = &self.lines[line];
        loop {
            let end = match receiver.recv(&mut frame, now() + self.silence) {
                Ok(Received::Frame) => match self.hear(line, &frame) {
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

    /// False if nothing more will come.
    fn hear(&self, line: &Line, frame: &Incoming) -> Result<bool> {
        let mut meta = Reader::new(frame.meta(), "a beat");
        match frame.kind() {
            BEAT => {
                let (rank, calls) = (meta.u32()? as usize, meta.u64()?);
                match self.me == self.hub {
                    true => line.calls.store(calls, Ordering::Relaxed),
                    false => self.fate.note_slowest(rank, calls),
                }
                Ok(true)
            }
            GONE => {
                let (rank, end) = (meta.u32()? as usize, end_of(meta.u8()?));
                self.fate.ended(rank, end);
                Ok(rank != line.rank)
            }
            LEAVE => {
                self.ended(line.rank, End::Left);
                Ok(false)
            }
            PART => Ok(false),
            kind => Err(Error::internal(format!("kind {kind} is not heard here"))),
        }
    }

    /// A worker ended: rank 0 tells everybody. It is decided before it is told, because whoever hears it ends, too, and must not
    /// be taken for the first; and this process learns it last, because it ends then, and could not tell any more.
    fn ended(&self, rank: usize, end: End) {
        let first = self.fate.decide(rank, end);
        if self.me == self.hub && first {
            self.tell(GONE, |meta| {
                meta.u32(rank as u32).u8(code_of(end));
            });
        }
        // If another died before, whoever decided that is still telling it.
        if first {
            self.fate.publish(end);
        }
    }

    fn say_leave(&self) {
        match self.me == self.hub {
            true => self.tell(GONE, |meta| {
                meta.u32(self.hub as u32).u8(code_of(End::Left));
            }),
            false => self.tell(LEAVE, |_| {}),
        }
    }

    fn beat(&self) {
        let mut stopped = self.stopped.lock();
        while !*stopped {
            let (rank, calls) = self.slowest();
            drop(stopped);
            self.tell(BEAT, |meta| {
                meta.u32(rank as u32).u64(calls);
            });
            stopped = self.stopped.lock();
            if !*stopped {
                self.wake.wait_for(&mut stopped, self.silence / 4);
            }
        }
    }

    /// On rank 0 the worker that has begun the fewest exchanges; on others this one.
    fn slowest(&self) -> (usize, u64) {
        let own = (self.me, self.fate.calls.load(Ordering::Relaxed));
        let others = self.lines.iter().map(|line| (line.rank, line.calls.load(Ordering::Relaxed)));
        match self.me == self.hub {
            true => {
                let slowest = others.chain([own]).min_by_key(|(_, calls)| *calls).unwrap_or(own);
                self.fate.note_slowest(slowest.0, slowest.1);
                slowest
            }
            false => own,
        }
    }

    /// Says something on all lines; one that cannot be reached is noticed by whoever listens on it.
    fn tell(&self, kind: u16, write: impl Fn(&mut Writer)) {
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
