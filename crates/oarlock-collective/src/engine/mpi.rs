//! MPI as the carrier of messages between ranks.
//!
//! Only its messages are used, not its reductions: so values are added in the same order as over TCP, with the same bits, and a rank
//! that waits can check for dead ranks. The rendezvous and the heartbeats go over TCP.

use std::time::Duration;

use oarlock_ir::{Error, Kind, Result};
use oarlock_sys::{Mpi, Transit};

use crate::call::Wait;
use crate::engine::transport::Transport;
use crate::group::GroupOptions;
use oarlock_net::now;

/// Bytes of the header before each message: the call of the sender, as text with its length in front.
const HEADER: usize = 256;

/// The number of polls without a pause, the number until which other threads get a chance in between, and the pause after that: on
/// machines with fewer cores than threads, waiting must not keep others from computing.
const BUSY: u32 = 2000;
const PATIENT: u32 = 4000;
const PAUSE: Duration = Duration::from_micros(20);

/// Dead ranks are checked for after this number of polls.
const LOOK: u32 = 64;

/// How long the last messages may take to leave.
const FLUSH: Duration = Duration::from_secs(5);

/// Starts MPI, and returns the number of this process in it.
pub(crate) fn start(options: &GroupOptions) -> Result<usize> {
    let help = "install Open MPI (Debian: openmpi-bin) or MPICH, or name its library with OARLOCK_MPI_LIBRARY";
    let failed = |why| Error::new(Kind::Unsupported, format!("MPI cannot be used: {why}")).help(help);
    Mpi::start(options.mpi_library.as_deref()).map(Mpi::rank).map_err(failed)
}

/// Fails if two ranks have the same process number in MPI.
pub(crate) fn check(processes: &[(usize, usize)]) -> Result<()> {
    for (i, (rank, process)) in processes.iter().enumerate() {
        if let Some((other, _)) = processes[..i].iter().find(|(_, before)| before == process) {
            let what = format!(
                "ranks {other} and {rank} are both process {process} of MPI: no `mpirun` started them together"
            );
            return Err(Error::new(Kind::Argument, what)
                .help("start them with `oarlock launch --backend mpi`, or with `mpirun -n N`; OARLOCK_MPI_LIBRARY names the library if there are several"));
        }
    }
    Ok(())
}

/// Ranks that are processes of one `mpirun`.
pub(crate) struct Messages {
    mpi: &'static Mpi,
    /// Ranks and their process numbers in MPI, by place.
    members: Vec<(usize, usize)>,
    me: usize,
    /// Keeps the messages of this group apart from those of another.
    tag: u16,
    leaving: Vec<Transit>,
    spare: Vec<Vec<u64>>,
    text: [u8; HEADER],
}

impl Messages {
    pub(crate) fn new(
        options: &GroupOptions,
        members: Vec<(usize, usize)>,
        me: usize,
        id: &[u8; 16],
    ) -> Result<Messages> {
        let mpi = Mpi::start(options.mpi_library.as_deref()).map_err(Error::internal)?;
        let tag = u16::from_le_bytes([id[0], id[1]]);
        Ok(Messages { mpi, members, me, tag, leaving: Vec::new(), spare: Vec::new(), text: [0; HEADER] })
    }

    fn describe(&mut self, wait: &Wait<'_>) {
        let text = wait.call.to_string();
        let len = text.len().min(HEADER - 2);
        self.text[..2].copy_from_slice(&(len as u16).to_le_bytes());
        self.text[2..2 + len].copy_from_slice(&text.as_bytes()[..len]);
    }

    fn post(&mut self, to: usize, bytes: &[u8]) -> Result<()> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.resize(bytes.len().div_ceil(8), 0);
        bytemuck::cast_slice_mut(&mut buffer)[..bytes.len()].copy_from_slice(bytes);
        let transit = self.mpi.send(self.members[to].1, self.tag, buffer, bytes.len()).map_err(failed)?;
        self.leaving.push(transit);
        Ok(())
    }

    fn expect(&mut self, from: usize, len: usize) -> Result<Transit> {
        let buffer = self.spare.pop().unwrap_or_default();
        self.mpi.receive(self.members[from].1, self.tag, buffer, len).map_err(failed)
    }

    /// Takes back the buffers of messages that were sent.
    fn tidy(&mut self) -> Result<()> {
        let mut i = 0;
        while i < self.leaving.len() {
            match self.leaving[i].is_over().map_err(failed)? {
                true => self.spare.push(self.leaving.remove(i).into_buffer()),
                false => i += 1,
            }
        }
        Ok(())
    }
}

fn failed(why: String) -> Error {
    Error::new(Kind::Network, format!("MPI cannot carry a message: {why}"))
}

/// Waits until `done`, which keeps messages moving.
fn wait_for(wait: &Wait<'_>, rank: usize, mut done: impl FnMut() -> Result<bool>) -> Result<()> {
    let mut attempts = 0_u32;
    while !done()? {
        attempts = attempts.saturating_add(1);
        if attempts.is_multiple_of(LOOK) || attempts > PATIENT {
            wait.check(rank)?;
        }
        match attempts {
            ..BUSY => std::hint::spin_loop(),
            BUSY..PATIENT => std::thread::yield_now(),
            _ => std::thread::sleep(PAUSE),
        }
    }
    Ok(())
}

fn said(header: &[u8]) -> &[u8] {
    let (len, text) = header.split_at(2);
    &text[..usize::from(u16::from_le_bytes([len[0], len[1]])).min(text.len())]
}

impl Transport for Messages {
    fn count(&self) -> usize {
        self.members.len()
    }

    fn me(&self) -> usize {
        self.me
    }

    fn send(&mut self, wait: &Wait<'_>, to: usize, bytes: &[u8]) -> Result<()> {
        self.tidy()?;
        self.describe(wait);
        let header = self.text;
        self.post(to, &header)?;
        if bytes.is_empty() { Ok(()) } else { self.post(to, bytes) }
    }

    fn receive(&mut self, wait: &Wait<'_>, from: usize, len: usize, take: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.describe(wait);
        let rank = self.members[from].0;
        let mut header = self.expect(from, HEADER)?;
        // Both are received at once; if the header announces another call, the rest is never read.
        let values = (len > 0).then(|| self.expect(from, len)).transpose()?;
        wait_for(wait, rank, || header.is_over().map_err(failed))?;
        wait.compare(rank, said(&self.text), said(header.bytes()))?;
        self.spare.push(header.into_buffer());
        let Some(mut values) = values else {
            take(&[]);
            return Ok(());
        };
        wait_for(wait, rank, || values.is_over().map_err(failed))?;
        take(values.bytes());
        self.spare.push(values.into_buffer());
        Ok(())
    }

    /// MPI moves messages only while it is called.
    fn settle(&mut self, wait: &Wait<'_>) -> Result<()> {
        let rank = self.members[self.me].0;
        wait_for(wait, rank, || {
            self.tidy()?;
            Ok(self.leaving.is_empty())
        })
    }

    fn flush(&mut self) {
        let until = now() + FLUSH;
        while !self.leaving.is_empty() && self.tidy().is_ok() && now() < until {
            std::thread::yield_now();
        }
    }
}

#[test]
fn ranks_with_one_mpi_process_number_are_refused() {
    assert!(check(&[(0, 0), (1, 1), (2, 5)]).is_ok());
    let error = check(&[(0, 0), (1, 0)]).unwrap_err().to_string();
    assert!(error.contains("ranks 0 and 1 are both process 0 of MPI"), "{error}");
}
