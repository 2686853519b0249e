//! Large zeroed memory that goes back to the system as soon as it is dropped.
//!
//! An allocator keeps large blocks that were freed and splits them. A program that gives buffers back after their last use would then
//! need more memory than one that keeps them.

use std::io;
use std::ptr::{self, NonNull};

use crate::HUGE_PAGE;

/// Memory from the system: zeros, on huge pages where there are some, aligned to their size.
#[derive(Debug)]
pub struct Pages {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory belongs to this value alone.
unsafe impl Send for Pages {}
// SAFETY: as above; a shared reference gives no access to the memory.
unsafe impl Sync for Pages {}

impl Pages {
    /// At least `bytes` bytes, rounded up to whole huge pages.
    pub fn new(bytes: usize) -> io::Result<Pages> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let len = bytes.max(1).checked_next_multiple_of(HUGE_PAGE).ok_or_else(too_large)?;
        // Larger than needed by one page, so that an aligned part of it can be kept.
        let mapped = len.checked_add(HUGE_PAGE).ok_or_else(too_large)?;
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new anonymous mapping wherever the system likes touches no memory of ours.
        let start = unsafe { libc::mmap(ptr::null_mut(), mapped, access, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = start.cast::<u8>();
        let before = start.align_offset(HUGE_PAGE).min(HUGE_PAGE);
        // SAFETY: `before <= HUGE_PAGE`, so all three parts lie inside the mapping of `len + HUGE_PAGE` bytes; the outer two are unused.
        let kept = unsafe {
            unmap(start, before);
            let kept = start.add(before);
            unmap(kept.add(len), HUGE_PAGE - before);
            kept
        };
        let start = NonNull::new(kept).ok_or_else(too_large)?;
        #[cfg(target_os = "linux")]
        // SAFETY: the range is ours; this advice changes no contents and no permissions.
        unsafe {
            libc::madvise(kept.cast(), len, libc::MADV_HUGEPAGE)
        };
        Ok(Pages { start, len })
    }

    /// The first byte. All `len` bytes may be read and written as long as this value lives.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: there is at least one page.
    pub fn is_empty(&self) -> bool {
        false
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new`, belongs to this value, and is not used afterwards.
        unsafe { unmap(self.start.as_ptr(), self.len) };
    }
}

/// # Safety
/// The range must be part of a mapping, begin at a page, and not be used afterwards.
unsafe fn unmap(start: *mut u8, len: usize) {
    if len > 0 {
        // SAFETY: the caller's promise. It can only fail for a range that is none.
        unsafe { libc::munmap(start.cast(), len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(pages: &mut Pages) -> &mut [u8] {
        // SAFETY: the memory is that of `pages`, which is borrowed as long as the slice.
        unsafe { std::slice::from_raw_parts_mut(pages.start().as_ptr(), pages.len()) }
    }

    #[test]
    fn pages_are_aligned_and_cover_what_was_asked_for() {
        for wanted in [0, 1, HUGE_PAGE, HUGE_PAGE + 1, 5 * HUGE_PAGE] {
            let pages = Pages::new(wanted).unwrap();
            assert_eq!((pages.start().as_ptr() as usize % HUGE_PAGE, pages.len() % HUGE_PAGE), (0, 0));
            assert!(pages.len() >= wanted && !pages.is_empty());
        }
    }

    #[test]
    fn new_pages_are_zero_after_others_were_written_and_dropped() {
        for _ in 0..3 {
            let mut pages = Pages::new(HUGE_PAGE).unwrap();
            assert!(bytes(&mut pages).iter().all(|byte| *byte == 0));
            bytes(&mut pages).fill(7);
        }
    }

    #[test]
    fn two_values_have_memory_of_their_own() {
        let (mut a, mut b) = (Pages::new(1).unwrap(), Pages::new(1).unwrap());
        bytes(&mut a).fill(1);
        bytes(&mut b).fill(2);
        assert!(bytes(&mut a).iter().all(|byte| *byte == 1));
    }

    #[test]
    fn more_than_the_address_space_is_an_error() {
        assert_eq!(Pages::new(usize::MAX).unwrap_err().kind(), io::ErrorKind::OutOfMemory);
    }
}
