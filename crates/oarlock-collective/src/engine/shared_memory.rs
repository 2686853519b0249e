//! The shared-memory engine: exchanges between processes of one machine.
//!
//! Every rank has an area with room for a few rounds. In a round it puts a part of its values there, then reduces its own slice of
//! the parts of all ranks, in the order of ranks, and then takes the slices of the others; while one round is being reduced, the next
//! is being put. Parts are so small that they stay in the cache, so the large memory is read once and written once. Few values
//! take one round: every rank puts all of its values and reduces everything.
//!
//! Three counters per rank hold how many rounds it has put, reduced and taken; a rank that waits polls them for a while and then
//! sleeps on a futex. Sums run in the order of ranks for all sizes, so results do not depend on how values are packed.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use oarlock_ir::Result;
use oarlock_sys::{SharedMemory, sleep_while, wake_all};
use oarlock_tensor::Buf;

use crate::call::{Call, Wait};
use crate::engine::{Engine, fold_of, fold_shared_of};
use oarlock_net::now;

/// Rounds that an area holds.
const ROUNDS: usize = 4;

/// Bytes that a rank puts in one round.
const PART: usize = 256 << 10;

/// Up to this number of bytes every rank reduces everything: one wait instead of two.
const SHORT: usize = 16 << 10;

/// Values are reduced in pieces of this size, in the first level of the cache.
const PIECE: usize = 8 << 10;

/// Slices begin at multiples of this.
const ALIGN: usize = 64;

/// How long to poll before sleeping: longer than a rank takes that does the same at the same time, shorter than a waste.
const LOOK: Duration = Duration::from_micros(40);

/// How long to sleep before checking for dead ranks.
const SLEEP: Duration = Duration::from_millis(50);

const PAGE: usize = 4096;
/// Offsets in the first page.
const MARK: usize = 0;
const BELL: usize = 64;
const SLEEPERS: usize = 128;
/// Offsets in the page of a rank.
const PUT: usize = 0;
const REDUCED: usize = 64;
const TAKEN: usize = 128;
const CALLS: usize = 256;
/// Bytes of a call's text: its length and the beginning of it.
const CALL: usize = 256;

/// The size of the memory for `ranks` ranks.
pub(crate) fn size(ranks: usize) -> usize {
    PAGE + ranks * (PAGE + ROUNDS * PART)
}

/// Wakes all ranks that sleep.
pub(crate) fn ring_bell(memory: &SharedMemory) {
    memory.word(BELL).fetch_add(1, Ordering::SeqCst);
    wake_all(memory.word(BELL));
}

/// Marks memory as that of a group.
pub(crate) fn mark(memory: &SharedMemory, group: &[u8; 16]) {
    memory.write(MARK, group);
}

/// Is it the memory of this group?
pub(crate) fn is_of(memory: &SharedMemory, group: &[u8; 16]) -> bool {
    let mut mark = [0; 16];
    memory.read(MARK, &mut mark);
    mark == *group
}

/// The ranks of one machine.
pub(crate) struct SharedMemoryEngine {
    memory: Arc<SharedMemory>,
    /// The ranks of this machine, ascending.
    members: Vec<usize>,
    /// The place of this rank among them.
    me: usize,
    /// Rounds so far; it wraps around.
    rounds: u32,
    /// A piece to reduce in.
    scratch: Buf,
    text: Vec<u8>,
}

impl SharedMemoryEngine {
    pub(crate) fn new(memory: Arc<SharedMemory>, members: Vec<usize>, me: usize) -> SharedMemoryEngine {
        let mut scratch = Buf::new();
        scratch.resize(PIECE);
        SharedMemoryEngine { memory, members, me, rounds: 0, scratch, text: Vec::new() }
    }

    fn count(&self) -> usize {
        self.members.len()
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.me;
        (0..self.members.len()).filter(move |who| *who != me)
    }

    fn page(who: usize) -> usize {
        PAGE * (1 + who)
    }

    /// The offset of a rank's area for a round.
    fn area(&self, who: usize, round: u32) -> usize {
        PAGE * (1 + self.count()) + (who * ROUNDS + round as usize % ROUNDS) * PART
    }

    /// Publishes how many rounds this rank has put, reduced or taken.
    fn publish(&self, counter: usize, rounds: u32) {
        self.memory.word(SharedMemoryEngine::page(self.me) + counter).store(rounds, Ordering::Release);
        // Either a sleeper sees the new count before it sleeps, or we see the sleeper.
        fence(Ordering::SeqCst);
        if self.memory.word(SLEEPERS).load(Ordering::SeqCst) > 0 {
            ring_bell(&self.memory);
        }
    }

    /// Waits until all others have put, reduced or taken `rounds` rounds.
    fn await_all(&self, wait: &Wait<'_>, counter: usize, rounds: u32) -> Result<()> {
        self.others().try_for_each(|who| self.await_one(wait, who, counter, rounds))
    }

    fn await_one(&self, wait: &Wait<'_>, who: usize, counter: usize, rounds: u32) -> Result<()> {
        let word = self.memory.word(SharedMemoryEngine::page(who) + counter);
        let there = || word.load(Ordering::Acquire).wrapping_sub(rounds) as i32 >= 0;
        for _ in 0..100 {
            if there() {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        let start = now();
        while now() < start + LOOK {
            for _ in 0..50 {
                if there() {
                    return Ok(());
                }
                std::hint::spin_loop();
            }
        }
        self.sleep_until(wait, who, there)
    }

    #[cold]
    fn sleep_until(&self, wait: &Wait<'_>, who: usize, there: impl Fn() -> bool) -> Result<()> {
        let (bell, sleepers) = (self.memory.word(BELL), self.memory.word(SLEEPERS));
        sleepers.fetch_add(1, Ordering::SeqCst);
        let result = loop {
            let rung = bell.load(Ordering::SeqCst);
            if there() {
                break Ok(());
            }
            if let Err(e) = wait.check(self.members[who]) {
                // A rank that has left had done its part before.
                break if there() { Ok(()) } else { Err(e) };
            }
            sleep_while(bell, rung, SLEEP);
        };
        sleepers.fetch_sub(1, Ordering::SeqCst);
        result
    }

    /// Waits until this rank's area for a round is no longer read.
    fn await_room(&self, wait: &Wait<'_>, round: u32) -> Result<()> {
        self.await_all(wait, TAKEN, round.wrapping_add(1).wrapping_sub(ROUNDS as u32))
    }

    /// Writes the call of this rank, for the others to compare.
    fn announce(&mut self, call: &Call<'_>, round: u32) {
        use std::io::Write;
        self.text.clear();
        // Writing to memory cannot fail.
        let _ = write!(self.text, "{call}");
        self.text.truncate(CALL - 4);
        let at = SharedMemoryEngine::call_at(self.me, round);
        self.memory.write(at, &(self.text.len() as u32).to_le_bytes());
        self.memory.write(at + 4, &self.text);
    }

    /// Fails if another rank, which has put this round, makes another call.
    fn compare(&self, wait: &Wait<'_>, round: u32) -> Result<()> {
        for who in self.others() {
            let (at, mut theirs) = (SharedMemoryEngine::call_at(who, round), [0; CALL]);
            self.memory.read(at, &mut theirs);
            let len = u32::from_le_bytes([theirs[0], theirs[1], theirs[2], theirs[3]]) as usize;
            wait.compare(self.members[who], &self.text, &theirs[4..4 + len.min(CALL - 4)])?;
        }
        Ok(())
    }

    fn call_at(who: usize, round: u32) -> usize {
        SharedMemoryEngine::page(who) + CALLS + (round as usize % ROUNDS) * CALL
    }

    /// Publishes that this rank is done with a round.
    fn finish(&self, round: u32) {
        self.publish(REDUCED, round.wrapping_add(1));
        self.publish(TAKEN, round.wrapping_add(1));
    }

    /// Reduces the values at `at` of all areas and `own`, in the order of ranks, into `own`; with `publish` also into this rank's area.
    fn reduce(&mut self, wait: &Wait<'_>, round: u32, at: usize, own: &mut [u8], publish: bool) -> Result<()> {
        let (fold, fold_shared) = (fold_of(&wait.call)?, fold_shared_of(&wait.call)?);
        let areas: Vec<usize> = (0..self.count()).map(|who| self.area(who, round) + at).collect();
        let (me, memory) = (self.me, self.memory.clone());
        for (i, own) in own.chunks_mut(PIECE).enumerate() {
            let offset = i * PIECE;
            match me {
                0 => {}
                // Values of lower ranks are reduced apart, so that all ranks add in the same order.
                2.. => {
                    let before = &mut self.scratch.bytes_mut()[..own.len()];
                    memory.read(areas[0] + offset, before);
                    areas[1..me].iter().for_each(|area| fold_shared(&memory, area + offset, before));
                    fold(own, before);
                }
                _ => fold_shared(&memory, areas[0] + offset, own),
            }
            areas[me + 1..].iter().for_each(|area| fold_shared(&memory, area + offset, own));
            if publish {
                memory.write(areas[me] + offset, own);
            }
        }
        Ok(())
    }

    /// Every rank puts all of its values, and reduces everything.
    fn all_reduce_short(&mut self, wait: &Wait<'_>, data: &mut [u8]) -> Result<()> {
        let round = self.rounds;
        self.rounds = round.wrapping_add(1);
        self.await_room(wait, round)?;
        self.announce(&wait.call, round);
        self.memory.write(self.area(self.me, round), data);
        self.publish(PUT, round.wrapping_add(1));
        self.await_all(wait, PUT, round.wrapping_add(1))?;
        self.compare(wait, round)?;
        self.reduce(wait, round, 0, data, false)?;
        self.finish(round);
        Ok(())
    }

    /// The slice of a part that a rank reduces.
    fn slice(&self, len: usize, who: usize) -> Range<usize> {
        let each = len.div_ceil(self.count()).next_multiple_of(ALIGN);
        (who * each).min(len)..((who + 1) * each).min(len)
    }

    fn put_slices(&mut self, wait: &Wait<'_>, round: u32, part: &[u8]) -> Result<()> {
        self.await_room(wait, round)?;
        for who in self.others() {
            let slice = self.slice(part.len(), who);
            self.memory.write(self.area(self.me, round) + slice.start, &part[slice]);
        }
        self.publish(PUT, round.wrapping_add(1));
        Ok(())
    }

    fn reduce_slice(&mut self, wait: &Wait<'_>, round: u32, first: bool, part: &mut [u8]) -> Result<()> {
        self.await_all(wait, PUT, round.wrapping_add(1))?;
        if first {
            self.compare(wait, round)?;
        }
        let slice = self.slice(part.len(), self.me);
        self.reduce(wait, round, slice.start, &mut part[slice], true)?;
        self.publish(REDUCED, round.wrapping_add(1));
        Ok(())
    }

    fn take_slices(&mut self, wait: &Wait<'_>, round: u32, part: &mut [u8]) -> Result<()> {
        for who in self.others() {
            self.await_one(wait, who, REDUCED, round.wrapping_add(1))?;
            let slice = self.slice(part.len(), who);
            self.memory.read(self.area(who, round) + slice.start, &mut part[slice]);
        }
        self.publish(TAKEN, round.wrapping_add(1));
        Ok(())
    }

    /// Runs rounds: puts one while it takes the one before.
    fn relay(
        &mut self,
        wait: &Wait<'_>,
        rounds: usize,
        mut put: impl FnMut(&SharedMemoryEngine, u32, usize),
        mut take: impl FnMut(&mut SharedMemoryEngine, u32, usize) -> Result<()>,
    ) -> Result<()> {
        let first = self.rounds;
        self.rounds = first.wrapping_add(rounds as u32);
        for i in 0..=rounds {
            if i < rounds {
                let round = first.wrapping_add(i as u32);
                self.await_room(wait, round)?;
                if i == 0 {
                    self.announce(&wait.call, round);
                }
                put(self, round, i);
                self.publish(PUT, round.wrapping_add(1));
            }
            if let Some(before) = i.checked_sub(1) {
                let round = first.wrapping_add(before as u32);
                self.await_all(wait, PUT, round.wrapping_add(1))?;
                if before == 0 {
                    self.compare(wait, round)?;
                }
                take(self, round, before)?;
                self.finish(round);
            }
        }
        Ok(())
    }
}

/// The range of part `i` of `len` bytes, in parts of `size` bytes.
fn part(i: usize, size: usize, len: usize) -> Range<usize> {
    (i * size).min(len)..((i + 1) * size).min(len)
}

impl Engine for SharedMemoryEngine {
    fn all_reduce(&mut self, wait: &Wait<'_>, data: &mut [u8]) -> Result<()> {
        if data.len() <= SHORT {
            return self.all_reduce_short(wait, data);
        }
        let (first, len, rounds) = (self.rounds, data.len(), data.len().div_ceil(PART));
        self.rounds = first.wrapping_add(rounds as u32);
        self.await_room(wait, first)?;
        self.announce(&wait.call, first);
        for i in 0..rounds + 2 {
            let at = |i: usize| (first.wrapping_add(i as u32), part(i, PART, len));
            if i < rounds {
                let (round, part) = at(i);
                self.put_slices(wait, round, &data[part])?;
            }
            if (1..=rounds).contains(&i) {
                let (round, part) = at(i - 1);
                self.reduce_slice(wait, round, i == 1, &mut data[part])?;
            }
            if i >= 2 {
                let (round, part) = at(i - 2);
                self.take_slices(wait, round, &mut data[part])?;
            }
        }
        Ok(())
    }

    fn reduce_scatter(&mut self, wait: &Wait<'_>, data: &[u8], own: &mut [u8]) -> Result<()> {
        let (me, count, len) = (self.me, self.count(), own.len());
        let size = PART / count / ALIGN * ALIGN;
        let put = |shared: &SharedMemoryEngine, round, i| {
            let part = part(i, size, len);
            for who in shared.others() {
                shared.memory.write(shared.area(me, round) + who * size, &data[who * len..][part.clone()]);
            }
        };
        let take = |shared: &mut SharedMemoryEngine, round, i| {
            let part = part(i, size, len);
            own[part.clone()].copy_from_slice(&data[me * len..][part.clone()]);
            shared.reduce(wait, round, me * size, &mut own[part], false)
        };
        self.relay(wait, len.div_ceil(size).max(1), put, take)
    }

    fn all_gather(&mut self, wait: &Wait<'_>, own: &[u8], all: &mut [u8]) -> Result<()> {
        let (me, len) = (self.me, own.len());
        all[me * len..][..len].copy_from_slice(own);
        let put = |shared: &SharedMemoryEngine, round, i| {
            shared.memory.write(shared.area(me, round), &own[part(i, PART, len)])
        };
        let take = |shared: &mut SharedMemoryEngine, round, i| {
            for who in shared.others() {
                shared.memory.read(shared.area(who, round), &mut all[who * len..][part(i, PART, len)]);
            }
            Ok(())
        };
        self.relay(wait, len.div_ceil(PART).max(1), put, take)
    }

    fn broadcast(&mut self, wait: &Wait<'_>, root: usize, data: &mut [u8]) -> Result<()> {
        let (me, len) = (self.me, data.len());
        let data = std::cell::RefCell::new(data);
        let put = |shared: &SharedMemoryEngine, round, i| {
            if me == root {
                shared.memory.write(shared.area(me, round), &data.borrow()[part(i, PART, len)]);
            }
        };
        let take = |shared: &mut SharedMemoryEngine, round, i| {
            if me != root {
                shared.memory.read(shared.area(root, round), &mut data.borrow_mut()[part(i, PART, len)]);
            }
            Ok(())
        };
        self.relay(wait, len.div_ceil(PART).max(1), put, take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_cover_every_part() {
        let shared = SharedMemoryEngine::new(Arc::new(SharedMemory::create(size(3)).unwrap()), vec![0, 1, 2], 0);
        for len in [0, 4, 64, 1000, PART] {
            let slices: Vec<Range<usize>> = (0..3).map(|who| shared.slice(len, who)).collect();
            assert_eq!((slices[0].start, slices[2].end), (0, len));
            assert!(slices.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }

    #[test]
    fn texts_of_calls_fit_into_a_page() {
        const { assert!(CALLS + ROUNDS * CALL <= PAGE) };
    }
}
