//! Asking for memory before it is needed: rows of a large table come in random order, and waiting for each in turn is what a
//! lookup or a sparse update costs.
#![allow(unsafe_code, reason = "the prefetch instruction")]

/// How many rows ahead a loop over rows of a table asks for memory: about as many as memory serves at once.
pub const AHEAD: usize = 16;

/// Asks for the cache lines of `data[start..start + len]`, as far as they exist. Changes nothing but speed.
#[inline(always)]
pub fn prefetch<T>(data: &[T], start: usize, len: usize) {
    let line = (64 / size_of::<T>().max(1)).max(1);
    let end = start.saturating_add(len).min(data.len());
    let mut at = start;
    while at < end {
        prefetch_at(&raw const data[at]);
        at += line;
    }
    if len > 0 && end > start {
        // Rows are not aligned to lines: the last element may be one line further.
        prefetch_at(&raw const data[end - 1]);
    }
}

/// Asks for the cache line at an address, which need not be valid.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn prefetch_at<T>(at: *const T) {
    // SAFETY: a prefetch reads nothing as far as the program can tell and cannot fault; SSE is part of every x86_64.
    unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast()) };
}

/// Nothing to do: only speed would change.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) fn prefetch_at<T>(_: *const T) {}

#[test]
fn any_range_can_be_prefetched() {
    let data = [0f32; 100];
    for (start, len) in [(0, 0), (0, 100), (99, 1), (100, 5), (usize::MAX, 2), (90, usize::MAX)] {
        prefetch(&data, start, len);
    }
    prefetch::<f32>(&[], 0, 1);
}
