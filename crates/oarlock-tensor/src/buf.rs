//! Aligned bytes that grow to a high-water mark and stay there.
#![allow(unsafe_code, reason = "aligned allocation")]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use oarlock_sys::Pages;

use crate::Element;

/// One cache line, and the width of the widest vector registers.
const ALIGN: usize = 64;

/// Where an empty buffer points: nowhere, but aligned, so that it can be seen as a slice of any element type.
#[repr(align(64))]
struct Aligned;

const NOWHERE: NonNull<u8> = NonNull::<Aligned>::dangling().cast();

/// From this number of bytes on, a buffer has pages of its own: huge ones, which go back to the system when they are freed.
const HUGE: usize = 2 * oarlock_sys::HUGE_PAGE;

/// Memory of another owner (a numpy array, a memory map, a received frame) that a buffer may read in place.
pub type Foreign = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A block of bytes, aligned to 64. Growing keeps no contents; shrinking keeps the memory, so a buffer that is
/// resized for each batch stops allocating once it has seen the largest one. Bytes are always initialised.
pub struct Buf {
    ptr: NonNull<u8>,
    len: usize,
    /// Bytes we own at `ptr`; 0 when nothing is allocated.
    cap: usize,
    /// The owner of a large buffer's memory.
    pages: Option<Pages>,
    /// Set when the contents are read in place from elsewhere; `ptr` and `cap` then keep our own memory for later.
    foreign: Option<Foreign>,
}

// SAFETY: `Buf` owns its allocation exclusively and hands out references under the usual borrow rules;
// foreign memory is `Send + Sync` by its type.
unsafe impl Send for Buf {}
// SAFETY: as above; `&Buf` only reads.
unsafe impl Sync for Buf {}

impl Buf {
    /// No bytes, no allocation.
    pub const fn new() -> Buf {
        Buf { ptr: NOWHERE, len: 0, cap: 0, pages: None, foreign: None }
    }

    /// Bytes read in place from `foreign`, never written: the first write copies.
    pub fn foreign(foreign: Foreign) -> Buf {
        Buf { ptr: NOWHERE, len: (*foreign).as_ref().len(), cap: 0, pages: None, foreign: Some(foreign) }
    }

    /// Bytes in use.
    pub fn len(&self) -> usize {
        self.len
    }

    /// No bytes in use?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes allocated.
    pub fn capacity(&self) -> usize {
        self.cap
    }

    /// Makes the buffer `len` bytes long. What it held is lost if it has to grow, and is arbitrary old data otherwise.
    pub fn resize(&mut self, len: usize) {
        self.foreign = None;
        if len > self.cap {
            // Some slack, so that a slowly growing batch does not allocate each time.
            let want = if self.cap == 0 { len } else { len.max(self.cap + self.cap / 4) };
            self.allocate(want.next_multiple_of(ALIGN));
        }
        self.len = len;
    }

    /// Gives the memory back.
    pub fn free(&mut self) {
        *self = Buf::new();
    }

    fn allocate(&mut self, cap: usize) {
        self.release();
        let layout = layout(cap);
        if cap < HUGE {
            // SAFETY: the size is greater than 0, since `resize` asks only for more than it has.
            let ptr = unsafe { alloc_zeroed(layout) };
            self.ptr = NonNull::new(ptr).unwrap_or_else(|| handle_alloc_error(layout));
            self.cap = cap;
        } else {
            let pages = Pages::new(cap).unwrap_or_else(|_| handle_alloc_error(layout));
            (self.ptr, self.cap) = (pages.start(), pages.len());
            self.pages = Some(pages);
        }
    }

    fn release(&mut self) {
        if self.cap > 0 && self.pages.take().is_none() {
            // SAFETY: `ptr` was allocated in `allocate` with this very layout and is not used afterwards.
            unsafe { dealloc(self.ptr.as_ptr(), layout(self.cap)) };
        }
        self.cap = 0;
        self.ptr = NOWHERE;
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.foreign {
            Some(f) => (**f).as_ref(),
            // SAFETY: `len <= cap` bytes at `ptr` are ours and initialised (zeroed at allocation); for `cap == 0`
            // the pointer is dangling but non-null and the length 0.
            None => unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) },
        }
    }

    /// The bytes, to write. Foreign contents are copied first.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if let Some(foreign) = self.foreign.take() {
            let len = self.len;
            self.resize(len);
            self.bytes_mut().copy_from_slice((*foreign).as_ref());
        }
        // SAFETY: as in `bytes`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }

    /// The contents as elements; a tail shorter than an element is left out.
    pub fn typed<T: Element>(&self) -> &[T] {
        let bytes = self.bytes();
        let whole = bytes.len() / size_of::<T>() * size_of::<T>();
        bytemuck::cast_slice(&bytes[..whole])
    }

    /// The contents as elements, to write.
    pub fn typed_mut<T: Element>(&mut self) -> &mut [T] {
        let bytes = self.bytes_mut();
        let whole = bytes.len() / size_of::<T>() * size_of::<T>();
        bytemuck::cast_slice_mut(&mut bytes[..whole])
    }
}

/// A part of a block of memory, owned on its own: who carves a block into parts can hand them to different owners, and the
/// block is freed when the last part is gone. A part starts at a multiple of 64 bytes and is zero at first.
pub(crate) struct Part {
    start: NonNull<u32>,
    words: usize,
    /// Keeps the memory. Nothing but its parts reaches it.
    block: Arc<Buf>,
}

// SAFETY: parts of one block never overlap, so each is owned exclusively, like a `Buf`.
unsafe impl Send for Part {}
// SAFETY: as above; `&Part` only reads.
unsafe impl Sync for Part {}

impl Part {
    /// A new block, all in one part, of at least `words` words.
    pub(crate) fn block(words: usize) -> Part {
        let mut block = Buf::new();
        block.resize((words * size_of::<u32>()).next_multiple_of(ALIGN));
        Part { start: block.ptr.cast(), words: block.len / size_of::<u32>(), block: Arc::new(block) }
    }

    /// Takes `words` words off the start; `None` if there are fewer. The rest starts at the next multiple of 64 bytes.
    pub(crate) fn split(&mut self, words: usize) -> Option<Part> {
        let skip = words.next_multiple_of(ALIGN / size_of::<u32>());
        // A part is a multiple of 64 bytes long unless it was split off, and then it has room for no more than it has words.
        if skip > self.words {
            return None;
        }
        let taken = Part { start: self.start, words, block: self.block.clone() };
        // SAFETY: `skip <= self.words`, so the new start is within the block or at its end.
        self.start = unsafe { self.start.add(skip) };
        self.words -= skip;
        Some(taken)
    }

    /// The words.
    #[inline]
    pub(crate) fn words(&self) -> &[u32] {
        // SAFETY: `words` initialised words at `start` belong to this part alone and live as long as `block`; `start` is aligned
        // to 64 bytes; `&self` forbids writing meanwhile.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }

    /// The words, to write.
    #[inline]
    pub(crate) fn words_mut(&mut self) -> &mut [u32] {
        // SAFETY: as in `words`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.words) }
    }
}

fn layout(cap: usize) -> Layout {
    Layout::from_size_align(cap, ALIGN).expect("a capacity that fits the address space")
}

impl Default for Buf {
    fn default() -> Buf {
        Buf::new()
    }
}

impl Clone for Buf {
    fn clone(&self) -> Buf {
        if let Some(f) = &self.foreign {
            return Buf::foreign(f.clone());
        }
        let mut copy = Buf::new();
        copy.resize(self.len);
        copy.bytes_mut().copy_from_slice(self.bytes());
        copy
    }
}

impl Drop for Buf {
    fn drop(&mut self) {
        self.release();
    }
}

impl fmt::Debug for Buf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buf({} bytes)", self.len)
    }
}

#[test]
fn a_buffer_keeps_its_largest_capacity() {
    let mut b = Buf::new();
    b.resize(1000);
    let cap = b.capacity();
    b.resize(10);
    b.resize(900);
    assert_eq!(b.capacity(), cap);
    b.typed_mut::<f32>()[224] = 1.0;
    assert_eq!(b.typed::<f32>().len(), 225);
    assert_eq!(b.bytes().as_ptr() as usize % ALIGN, 0);
}

#[test]
fn no_bytes_are_no_elements() {
    let mut b = Buf::new();
    assert!(b.typed::<f64>().is_empty() && b.typed_mut::<f64>().is_empty());
}

#[test]
fn foreign_memory_is_read_in_place_and_never_written() {
    let theirs: Foreign = Arc::new(vec![1u8, 2, 3]);
    let mut b = Buf::foreign(theirs.clone());
    assert_eq!(b.bytes().as_ptr(), (*theirs).as_ref().as_ptr());
    b.bytes_mut()[0] = 9;
    assert_eq!((*theirs).as_ref(), [1, 2, 3]);
    assert_eq!(b.bytes(), [9, 2, 3]);
}

#[test]
fn parts_of_a_block_are_apart() {
    let mut rest = Part::block(40);
    let (mut a, mut b) = (rest.split(3).unwrap(), rest.split(16).unwrap());
    a.words_mut().fill(1);
    b.words_mut().fill(2);
    assert_eq!((a.words(), b.words()), (&[1; 3][..], &[2; 16][..]));
    assert_eq!(rest.words(), [0; 16]);
    assert!(rest.split(17).is_none() && a.split(1).is_none());
    drop(rest);
    drop(a);
    assert_eq!(b.words(), [2; 16]);
}
