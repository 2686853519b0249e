//! The message engine: ring all-reduce for many bytes, recursive doubling for few.
//!
//! In the ring every rank reduces one slice of the values, which arrives with the values of the ranks before; then the reduced
//! slices go round once more (reduce-scatter, then all-gather). Each byte crosses each link about twice, however many ranks there
//! are. Few bytes are not worth that many steps: pairs exchange all values, then pairs of pairs, and so on. Both ways give all ranks
//! the same bits.

use std::ops::Range;

use oarlock_ir::Result;

use crate::call::Wait;
use crate::engine::transport::Transport;
use crate::engine::{Engine, fold_of};

/// Up to this number of bytes, recursive doubling.
const SHORT: usize = 32 << 10;

/// The bytes of one message: one is reduced while the next is under way.
const PART: usize = 256 << 10;

/// Slices begin at multiples of this.
const ALIGN: usize = 64;

/// Ranks that send messages to each other.
pub(crate) struct MessageEngine<T> {
    transport: T,
}

/// Is there a connection between ranks `a` and `b` of `count`? Their distance is a power of two, one way round or the other.
pub(crate) fn linked(a: usize, b: usize, count: usize) -> bool {
    let distance = a.abs_diff(b);
    distance != 0 && (distance.is_power_of_two() || (count - distance).is_power_of_two())
}

impl<T: Transport> MessageEngine<T> {
    pub(crate) fn new(transport: T) -> MessageEngine<T> {
        MessageEngine { transport }
    }

    fn next(&self) -> usize {
        (self.transport.me() + 1) % self.transport.count()
    }

    fn before(&self) -> usize {
        (self.transport.me() + self.transport.count() - 1) % self.transport.count()
    }

    /// Sends all of `bytes` in parts.
    fn send(&mut self, wait: &Wait<'_>, to: usize, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return self.transport.send(wait, to, bytes);
        }
        bytes.chunks(PART).try_for_each(|part| self.transport.send(wait, to, part))
    }

    /// Receives the messages of one [`MessageEngine::send`].
    fn receive(
        &mut self,
        wait: &Wait<'_>,
        from: usize,
        into: &mut [u8],
        mut take: impl FnMut(&mut [u8], &[u8]),
    ) -> Result<()> {
        if into.is_empty() {
            return self.transport.receive(wait, from, 0, &mut |_| {});
        }
        for part in into.chunks_mut(PART) {
            let len = part.len();
            self.transport.receive(wait, from, len, &mut |bytes| take(part, bytes))?;
        }
        Ok(())
    }

    /// One step of the ring: a slice goes to the next rank while another comes from the rank before, part by part.
    fn step(
        &mut self,
        wait: &Wait<'_>,
        data: &mut [u8],
        out: Range<usize>,
        into: Range<usize>,
        mut take: impl FnMut(&mut [u8], &[u8]),
    ) -> Result<()> {
        let (next, before) = (self.next(), self.before());
        let parts = out.len().max(into.len()).div_ceil(PART);
        for i in 0..parts {
            let part = |slice: &Range<usize>| {
                (slice.start + i * PART).min(slice.end)..(slice.start + (i + 1) * PART).min(slice.end)
            };
            let (out, into) = (part(&out), part(&into));
            if !out.is_empty() {
                self.transport.send(wait, next, &data[out])?;
            }
            if !into.is_empty() {
                let len = into.len();
                let part = &mut data[into];
                self.transport.receive(wait, before, len, &mut |bytes| take(part, bytes))?;
            }
        }
        Ok(())
    }

    /// Reduce-scatter: every rank has reduced the slice of its place afterwards.
    fn ring_reduce(&mut self, wait: &Wait<'_>, data: &mut [u8], slices: &[Range<usize>]) -> Result<()> {
        let (me, count, fold) = (self.transport.me(), self.transport.count(), fold_of(&wait.call)?);
        for step in 1..count {
            let (out, into) = ((me + count - step) % count, (me + 2 * count - step - 1) % count);
            self.step(wait, data, slices[out].clone(), slices[into].clone(), fold)?;
        }
        Ok(())
    }

    /// All-gather: the slice of every rank goes round.
    fn ring_gather(&mut self, wait: &Wait<'_>, data: &mut [u8], slices: &[Range<usize>]) -> Result<()> {
        let (me, count) = (self.transport.me(), self.transport.count());
        for step in 0..count - 1 {
            let (out, into) = ((me + count - step) % count, (me + 2 * count - step - 1) % count);
            self.step(wait, data, slices[out].clone(), slices[into].clone(), |part, bytes| {
                part.copy_from_slice(bytes)
            })?;
        }
        Ok(())
    }

    /// Recursive doubling: pairs exchange all values, then pairs of pairs. Ranks beyond a power of two give theirs first and get the
    /// result last.
    fn recursive_doubling(&mut self, wait: &Wait<'_>, data: &mut [u8]) -> Result<()> {
        let (me, count, fold) = (self.transport.me(), self.transport.count(), fold_of(&wait.call)?);
        let pairs = 1 << count.ilog2();
        if me >= pairs {
            self.send(wait, me - pairs, data)?;
            return self.receive(wait, me - pairs, data, |part, bytes| part.copy_from_slice(bytes));
        }
        let beyond = me + pairs;
        if beyond < count {
            self.receive(wait, beyond, data, fold)?;
        }
        let mut distance = 1;
        while distance < pairs {
            self.send(wait, me ^ distance, data)?;
            self.receive(wait, me ^ distance, data, fold)?;
            distance *= 2;
        }
        if beyond < count {
            self.send(wait, beyond, data)?;
        }
        Ok(())
    }
}

/// One slice per rank, almost equal.
fn slices(len: usize, count: usize) -> Vec<Range<usize>> {
    let each = len.div_ceil(count).next_multiple_of(ALIGN);
    (0..count).map(|i| (i * each).min(len)..((i + 1) * each).min(len)).collect()
}

/// Slices of `len` bytes each.
fn equal(len: usize, count: usize) -> Vec<Range<usize>> {
    (0..count).map(|i| i * len..(i + 1) * len).collect()
}

impl<T: Transport> Engine for MessageEngine<T> {
    fn all_reduce(&mut self, wait: &Wait<'_>, data: &mut [u8]) -> Result<()> {
        if data.len() <= SHORT {
            self.recursive_doubling(wait, data)?;
        } else {
            let slices = slices(data.len(), self.transport.count());
            self.ring_reduce(wait, data, &slices)?;
            self.ring_gather(wait, data, &slices)?;
        }
        self.transport.settle(wait)
    }

    fn reduce_scatter(&mut self, wait: &Wait<'_>, data: &[u8], own: &mut [u8]) -> Result<()> {
        let slices = equal(own.len(), self.transport.count());
        let mut all = data.to_vec();
        self.ring_reduce(wait, &mut all, &slices)?;
        own.copy_from_slice(&all[slices[self.transport.me()].clone()]);
        self.transport.settle(wait)
    }

    fn all_gather(&mut self, wait: &Wait<'_>, own: &[u8], all: &mut [u8]) -> Result<()> {
        let slices = equal(own.len(), self.transport.count());
        all[slices[self.transport.me()].clone()].copy_from_slice(own);
        self.ring_gather(wait, all, &slices)?;
        self.transport.settle(wait)
    }

    /// A tree: with every step twice as many ranks have the values.
    fn broadcast(&mut self, wait: &Wait<'_>, root: usize, data: &mut [u8]) -> Result<()> {
        let (me, count) = (self.transport.me(), self.transport.count());
        let place = (me + count - root) % count;
        let rank = |place: usize| (place + root) % count;
        let mut distance = 1;
        while distance < count {
            if place < distance && place + distance < count {
                self.send(wait, rank(place + distance), data)?;
            } else if (distance..2 * distance).contains(&place) {
                self.receive(wait, rank(place - distance), data, |part, bytes| part.copy_from_slice(bytes))?;
            }
            distance *= 2;
        }
        self.transport.settle(wait)
    }

    fn flush(&mut self) {
        self.transport.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_cover_all_bytes() {
        for (len, count) in [(100_000, 3), (64, 4), (40_000, 7)] {
            let slices = slices(len, count);
            assert_eq!((slices[0].start, slices[count - 1].end), (0, len));
        }
    }

    #[test]
    fn ring_and_doubling_use_existing_connections_only() {
        for count in 2..40_usize {
            let pairs = 1 << count.ilog2();
            for me in 0..count {
                assert!(linked(me, (me + 1) % count, count));
                let mut distance = 1;
                while distance < count {
                    assert!(linked(me, (me + distance) % count, count), "{me} {distance} {count}");
                    assert!(me >= pairs || distance >= pairs || linked(me, me ^ distance, count));
                    distance *= 2;
                }
                assert!(me < pairs || linked(me, me - pairs, count));
            }
        }
    }
}
