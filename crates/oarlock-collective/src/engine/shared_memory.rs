//! Exchanges between processes of one machine, through memory that they share.
//!
//! Every worker has an area with room for a few rounds. In a round it puts a part of its values there, then joins its own slice
//! of what all have put, in the order of ranks, and then takes the others' slices; while one round is being joined, the next is
//! being put. Parts are so small that they stay in the cache, so the large memory is read once and written once. Few values
//! go the short way: all put all, and everybody joins everything.
//!
//! Three counters per worker say how many rounds it has put, joined and taken; a worker that waits looks at them for a while and
//! then sleeps. Sums run in the order of ranks whatever the sizes are, so results do not depend on how values are packed.

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

/// Bytes that a worker puts in one round.
const PART: usize = 256 << 10;

/// Up to here everybody joins everything: one wait instead of two.
const SHORT: usize = 16 << 10;

/// Values are joined in pieces of so many bytes, in the first level of the cache.
const PIECE: usize = 8 << 10;

/// Slices begin at multiples of this.
const ALIGN: usize = 64;

/// How long to look before sleeping: longer than a worker takes that does the same at the same time, shorter than a waste.
const LOOK: Duration = Duration::from_micros(40);

/// How long to sleep before looking whether somebody died.
const SLEEP: Duration = Duration::from_millis(50);

const PAGE: usize = 4096;
/// Where things are in the first page.
const MARK: usize = 0;
const BELL: usize = 64;
const SLEEPERS: usize = 128;
/// Where things are in the page of a worker.
const PUT: usize = 0;
const JOINED: usize = 64;
const TAKEN: usize = 128;
const CALLS: usize = 256;
/// Bytes of a call's text: its length and the beginning of it.
const CALL: usize = 256;

/// Bytes that so many workers need.
pub(crate) fn size(workers: usize) -> usize {
    PAGE + workers * (PAGE + ROUNDS * PART)
}

/// Wakes all who sleep.
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

/// The workers of one machine.
pub(crate) struct Shared {
    memory: Arc<SharedMemory>,
    /// Ranks of the workers, ascending.
    members: Vec<usize>,
    /// Which of them this is.
    me: usize,
    /// Rounds so far; it wraps around.
    rounds: u32,
    /// A piece to join in.
    scratch: Buf,
    text: Vec<u8>,
}

impl Shared {
    pub(crate) fn new(memory: Arc<SharedMemory>, members: Vec<usize>, me: usize) -> Shared {
        let mut scratch = Buf::new();
        scratch.resize(PIECE);
        Shared { memory, members, me, rounds: 0, scratch, text: Vec::new() }
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

    /// Where a worker's area for a round is.
    fn area(&self, who: usize, round: u32) -> usize {
        PAGE * (1 + self.count()) + (who * ROUNDS + round as usize % ROUNDS) * PART
    }

    /// Says that this worker has put, joined or taken so many rounds.
    fn tell(&self, counter: usize, rounds: u32) {
        self.memory.word(Shared::page(self.me) + counter).store(rounds, Ordering::Release);
        // Either a sleeper sees the new count before it sleeps, or we see the sleeper.
        fence(Ordering::SeqCst);
        if self.memory.word(SLEEPERS).load(Ordering::SeqCst) > 0 {
            ring_bell(&self.memory);
        }
    }

    /// Waits until all others have put, joined or taken so many rounds.
    fn await_all(&self, wait: &Wait<'_>, counter: usize, rounds: u32) -> Result<()> {
        self.others().try_for_each(|who| self.await_one(wait, who, counter, rounds))
    }

    fn await_one(&self, wait: &Wait<'_>, who: usize, counter: usize, rounds: u32) -> Result<()> {
        let word = self.memory.word(Shared::page(who) + counter);
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
            if let Err(e) = wait.look(self.members[who]) {
                // One who has left had done its part before.
                break if there() { Ok(()) } else { Err(e) };
            }
            sleep_while(bell, rung, SLEEP);
        };
        sleepers.fetch_sub(1, Ordering::SeqCst);
        result
    }

    /// Makes sure that this worker's area for a round is no longer read.
    fn await_room(&self, wait: &Wait<'_>, round: u32) -> Result<()> {
        self.await_all(wait, TAKEN, round.wrapping_add(1).wrapping_sub(ROUNDS as u32))
    }

    /// Writes down what this worker does, for the others to compare.
    fn announce(&mut self, call: &Call<'_>, round: u32) {
        use std::io::Write;
        self.text.clear();
        // Writing to memory cannot fail.
        let _ = write!(self.text, "{call}");
        self.text.truncate(CALL - 4);
        let at = Shared::call_at(self.me, round);
        self.memory.write(at, &(self.text.len() as u32).to_le_bytes());
        self.memory.write(at + 4, &self.text);
    }

    /// Fails if another worker, which has put this round, does something else.
    fn compare(&self, wait: &Wait<'_>, round: u32) -> Result<()> {
        for who in self.others() {
            let (at, mut theirs) = (Shared::call_at(who, round), [0; CALL]);
            self.memory.read(at, &mut theirs);
            let len = u32::from_le_bytes([theirs[0], theirs[1], theirs[2], theirs[3]]) as usize;
            wait.same(self.members[who], &self.text, &theirs[4..4 + len.min(CALL - 4)])?;
        }
        Ok(())
    }

    fn call_at(who: usize, round: u32) -> usize {
        Shared::page(who) + CALLS + (round as usize % ROUNDS) * CALL
    }

    /// Says that this worker is done with a round in every way.
    fn finish(&self, round: u32) {
        self.tell(JOINED, round.wrapping_add(1));
        self.tell(TAKEN, round.wrapping_add(1));
    }

    /// Joins what all have put at `at` of their areas with `own`, in the order of ranks, into `own`; also into this worker's area
    /// if `publish` says so.
    fn join(&mut self, wait: &Wait<'_>, round: u32, at: usize, own: &mut [u8], publish: bool) -> Result<()> {
        let (fold, fold_shared) = (fold_of(&wait.call)?, fold_shared_of(&wait.call)?);
        let areas: Vec<usize> = (0..self.count()).map(|who| self.area(who, round) + at).collect();
        let (me, memory) = (self.me, self.memory.clone());
        for (i, own) in own.chunks_mut(PIECE).enumerate() {
            let offset = i * PIECE;
            match me {
                0 => {}
                // What comes before this worker's values is joined apart, so that all add in the same order.
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

    /// Everybody puts everything, and joins it.
    fn all_reduce_short(&mut self, wait: &Wait<'_>, data: &mut [u8]) -> Result<()> {
        let round = self.rounds;
        self.rounds = round.wrapping_add(1);
        self.await_room(wait, round)?;
        self.announce(&wait.call, round);
        self.memory.write(self.area(self.me, round), data);
        self.tell(PUT, round.wrapping_add(1));
        self.await_all(wait, PUT, round.wrapping_add(1))?;
        self.compare(wait, round)?;
        self.join(wait, round, 0, data, false)?;
        self.finish(round);
        Ok(())
    }

    /// The slice of a part that a worker joins.
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
        self.tell(PUT, round.wrapping_add(1));
        Ok(())
    }

    fn join_slice(&mut self, wait: &Wait<'_>, round: u32, first: bool, part: &mut [u8]) -> Result<()> {
        self.await_all(wait, PUT, round.wrapping_add(1))?;
        if first {
            self.compare(wait, round)?;
        }
        let slice = self.slice(part.len(), self.me);
        self.join(wait, round, slice.start, &mut part[slice], true)?;
        self.tell(JOINED, round.wrapping_add(1));
        Ok(())
    }

    fn take_slices(&mut self, wait: &Wait<'_>, round: u32, part: &mut [u8]) -> Result<()> {
        for who in self.others() {
            self.await_one(wait, who, JOINED, round.wrapping_add(1))?;
            let slice = self.slice(part.len(), who);
            self.memory.read(self.area(who, round) + slice.start, &mut part[slice]);
        }
        self.tell(TAKEN, round.wrapping_add(1));
        Ok(())
    }

    /// Rounds in which `puts` says whether this worker gives something: puts one while it takes the one before.
    fn relay(
        &mut self,
        wait: &Wait<'_>,
        rounds: usize,
        mut put: impl FnMut(&Shared, u32, usize),
        mut take: impl FnMut(&mut Shared, u32, usize) -> Result<()>,
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
                self.tell(PUT, round.wrapping_add(1));
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

/// Part `i` of so many bytes, `size` bytes each.
fn part(i: usize, size: usize, len: usize) -> Range<usize> {
    (i * size).min(len)..((i + 1) * size).min(len)
}

impl Engine for Shared {
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
                self.join_slice(wait, round, i == 1, &mut data[part])?;
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
        let put = |shared: &Shared, round, i| {
            let part = part(i, size, len);
            for who in shared.others() {
                shared.memory.write(shared.area(me, round) + who * size, &data[who * len..][part.clone()]);
            }
        };
        let take = |shared: &mut Shared, round, i| {
            let part = part(i, size, len);
            own[part.clone()].copy_from_slice(&data[me * len..][part.clone()]);
            shared.join(wait, round, me * size, &mut own[part], false)
        };
        self.relay(wait, len.div_ceil(size).max(1), put, take)
    }

    fn all_gather(&mut self, wait: &Wait<'_>, own: &[u8], all: &mut [u8]) -> Result<()> {
        let (me, len) = (self.me, own.len());
        all[me * len..][..len].copy_from_slice(own);
        let put = |shared: &Shared, round, i| shared.memory.write(shared.area(me, round), &own[part(i, PART, len)]);
        let take = |shared: &mut Shared, round, i| {
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
        let put = |shared: &Shared, round, i| {
            if me == root {
                shared.memory.write(shared.area(me, round), &data.borrow()[part(i, PART, len)]);
            }
        };
        let take = |shared: &mut Shared, round, i| {
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
    fn slices_cover_a_part() {
        let shared = Shared::new(Arc::new(SharedMemory::create(size(3)).unwrap()), vec![0, 1, 2], 0);
        for len in [0, 4, 64, 1000, PART] {
            let slices: Vec<Range<usize>> = (0..3).map(|who| shared.slice(len, who)).collect();
            assert_eq!((slices[0].start, slices[2].end), (0, len));
            assert!(slices.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }

    #[test]
    fn a_call_fits_its_place() {
        const { assert!(CALLS + ROUNDS * CALL <= PAGE) };
    }
}
