//! Memory that processes of one machine share, and sleeping until a word of it changes.
//!
//! Collective workers on one machine exchange gradients through it. Nothing here knows what the bytes mean or who may
//! write when.

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use bytemuck::AnyBitPattern;

/// Memory without a name, which other processes of this user open by the number of the process that made it. The system gives it
/// back when the last of them ends, however that happens.
///
/// All accesses copy: what another process does to this memory at the same time can spoil the bytes that are copied, never anything
/// else. Who may write when is agreed on through [`SharedMemory::word`]s.
#[derive(Debug)]
pub struct SharedMemory {
    start: NonNull<u8>,
    len: usize,
    file: i32,
}

// SAFETY: it is memory of the process, not of a thread; it is only reached through copies and atomics.
unsafe impl Send for SharedMemory {}
// SAFETY: as above; concurrent copies may tear bytes, which are numbers to every reader, in any order.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// New memory, all zeros. Pages are taken when they are first written.
    #[cfg(target_os = "linux")]
    pub fn create(len: usize) -> io::Result<SharedMemory> {
        // SAFETY: the name is a string that ends with a zero.
        let file = unsafe { libc::memfd_create(c"oarlock".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        let file = Owned(file);
        let size = libc::off_t::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: the file is ours and open.
        check(unsafe { libc::ftruncate(file.0, size) })?;
        // A file that became shorter would end every process that reads what is gone; so it cannot.
        // SAFETY: the file is ours and open; the call takes one number.
        check(unsafe { libc::fcntl(file.0, libc::F_ADD_SEALS, SIZE_SEALS) })?;
        SharedMemory::map(file, len)
    }

    /// The memory that another process made, by its number and that of its file.
    #[cfg(target_os = "linux")]
    pub fn open(process: u32, file: i32, len: usize) -> io::Result<SharedMemory> {
        use std::os::fd::IntoRawFd;
        let path = format!("/proc/{process}/fd/{file}");
        let file = std::fs::File::options().read(true).write(true).open(path)?;
        let size = file.metadata()?.len();
        let file = Owned(file.into_raw_fd());
        // SAFETY: the file is ours and open.
        let seals = unsafe { libc::fcntl(file.0, libc::F_GET_SEALS) };
        if size != len as u64 || seals & SIZE_SEALS != SIZE_SEALS {
            return Err(io::Error::other("it is not the memory that was announced"));
        }
        SharedMemory::map(file, len)
    }

    #[cfg(target_os = "linux")]
    fn map(file: Owned, len: usize) -> io::Result<SharedMemory> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a place that the system chooses; the file is open, and at least as long as the mapping.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, access, libc::MAP_SHARED, file.0, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(SharedMemory { start, len, file: file.release() })
    }

    /// New memory; this system has none.
    #[cfg(not(target_os = "linux"))]
    pub fn create(_: usize) -> io::Result<SharedMemory> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The memory of another process; this system has none.
    #[cfg(not(target_os = "linux"))]
    pub fn open(_: u32, _: i32, _: usize) -> io::Result<SharedMemory> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The number of its file, by which other processes open it.
    pub fn file(&self) -> i32 {
        self.file
    }

    /// Copies bytes into it. Panics if they do not fit.
    pub fn write(&self, at: usize, bytes: &[u8]) {
        self.check(at, bytes.len());
        // SAFETY: the range lies in the mapping, which lives as long as `self`; a slice of this process cannot overlap it, since no
        // reference to the mapping's bytes is ever given out.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr().add(at), bytes.len()) };
    }

    /// Copies bytes out of it. Panics if there are fewer.
    pub fn read(&self, at: usize, into: &mut [u8]) {
        self.check(at, into.len());
        // SAFETY: as in `write`.
        unsafe { ptr::copy_nonoverlapping(self.start.as_ptr().add(at), into.as_mut_ptr(), into.len()) };
    }

    /// Joins numbers of this memory into others, one by one: `into = join(there, into)`. Panics if there are fewer.
    pub fn join_into<T: AnyBitPattern>(&self, at: usize, into: &mut [T], join: impl Fn(T, T) -> T) {
        self.check(at, size_of_val(into));
        // SAFETY: the range was checked to lie in the mapping.
        let start = unsafe { self.start.as_ptr().add(at) }.cast::<T>();
        for (i, x) in into.iter_mut().enumerate() {
            // SAFETY: within the range; no alignment is needed, and every pattern of bits is a number of this type.
            *x = join(unsafe { start.add(i).read_unaligned() }, *x);
        }
    }

    /// A word that all processes change in one step. Panics unless `at` is a multiple of 4 within the memory.
    pub fn word(&self, at: usize) -> &AtomicU32 {
        self.check(at, 4);
        assert!(at.is_multiple_of(4), "a word lies at a multiple of 4");
        // SAFETY: in the mapping, which lives as long as `self`, and aligned: mappings begin at a page.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    fn check(&self, at: usize, len: usize) {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.len), "beyond the end of shared memory");
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping and the file are ours, and nothing refers to them any more: words borrow `self`.
        unsafe {
            libc::munmap(self.start.as_ptr().cast(), self.len);
            libc::close(self.file);
        }
    }
}

/// Neither shorter nor longer.
#[cfg(target_os = "linux")]
const SIZE_SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;

/// A file that is closed unless it is released.
#[cfg(target_os = "linux")]
struct Owned(i32);

#[cfg(target_os = "linux")]
impl Owned {
    fn release(self) -> i32 {
        let file = self.0;
        std::mem::forget(self);
        file
    }
}

#[cfg(target_os = "linux")]
impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the file is ours and open.
        unsafe { libc::close(self.0) };
    }
}

#[cfg(target_os = "linux")]
fn check(code: i32) -> io::Result<()> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sleeps while the word holds this value, until [`wake_all`] or for at most `limit`; it may also return for no reason. The word may be in
/// memory that processes share.
pub fn sleep_while(word: &AtomicU32, value: u32, limit: Duration) {
    #[cfg(target_os = "linux")]
    {
        let limit = libc::timespec {
            tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        // SAFETY: the word and the limit live during the call, which changes neither; whatever it returns, the caller looks again.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const limit) };
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (word, value);
        std::thread::sleep(limit.min(Duration::from_micros(100)));
    }
}

/// Wakes all threads that sleep on this word, in any process.
pub fn wake_all(word: &AtomicU32) {
    #[cfg(target_os = "linux")]
    // SAFETY: the call only uses the address of the word.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX)
    };
    #[cfg(not(target_os = "linux"))]
    let _ = word;
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::rerun::{again, part};

    fn wait_for(word: &AtomicU32) {
        while word.load(Ordering::Acquire) == 0 {
            sleep_while(word, 0, Duration::from_secs(10));
        }
    }

    fn panics(f: impl FnOnce() + std::panic::UnwindSafe) -> bool {
        std::panic::catch_unwind(f).is_err()
    }

    #[test]
    fn new_memory_is_zero() {
        let mut bytes = [1; 4096];
        SharedMemory::create(4096).unwrap().read(0, &mut bytes);
        assert!(bytes.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn two_mappings_share_bytes_numbers_and_words() {
        let made = SharedMemory::create(8192).unwrap();
        let opened = SharedMemory::open(std::process::id(), made.file(), 8192).unwrap();
        made.write(100, b"hello");
        let mut bytes = [0; 5];
        opened.read(100, &mut bytes);
        assert_eq!(&bytes, b"hello");
        made.write(200, bytemuck::cast_slice(&[1.5_f32, 2.5]));
        let mut numbers = [10.0_f32, 20.0];
        opened.join_into(200, &mut numbers, |there, here| here - there);
        assert_eq!(numbers, [8.5, 17.5]);
        made.word(64).store(7, Ordering::Release);
        assert_eq!(opened.word(64).load(Ordering::Acquire), 7);
    }

    #[test]
    fn another_process_opens_the_memory_and_wakes_its_maker() {
        if let Some(part) = part() {
            let numbers: Vec<u32> = part.split(' ').map(|n| n.parse().unwrap()).collect();
            let memory = SharedMemory::open(numbers[0], numbers[1].cast_signed(), 4096).unwrap();
            memory.write(8, b"from afar");
            memory.word(0).store(1, Ordering::Release);
            wake_all(memory.word(0));
            return;
        }
        let memory = SharedMemory::create(4096).unwrap();
        let part = format!("{} {}", std::process::id(), memory.file());
        let mut other = again("shared::tests::another_process_opens_the_memory_and_wakes_its_maker", &part);
        assert!(other.output().unwrap().status.success());
        // The memory outlives the process that wrote it.
        wait_for(memory.word(0));
        let mut bytes = [0; 9];
        memory.read(8, &mut bytes);
        assert_eq!(&bytes, b"from afar");
    }

    #[test]
    fn memory_of_another_size_or_kind_is_refused() {
        let (me, made) = (std::process::id(), SharedMemory::create(8192).unwrap());
        assert!(SharedMemory::open(me, made.file(), 4096).is_err());
        assert!(SharedMemory::open(me, i32::MAX, 8192).is_err());
        let (read, _write) = io::pipe().unwrap();
        assert!(SharedMemory::open(me, std::os::fd::AsRawFd::as_raw_fd(&read), 0).is_err());
    }

    #[test]
    fn a_sleeper_is_woken() {
        let memory = SharedMemory::create(4096).unwrap();
        std::thread::scope(|threads| {
            threads.spawn(|| wait_for(memory.word(0)));
            memory.word(0).store(1, Ordering::Release);
            wake_all(memory.word(0));
        });
    }

    #[test]
    fn sleeping_on_a_changed_word_or_past_the_limit_returns() {
        let word = AtomicU32::new(1);
        sleep_while(&word, 0, Duration::from_secs(1000));
        sleep_while(&word, 1, Duration::from_millis(1));
    }

    #[test]
    fn accesses_beyond_the_end_and_unaligned_words_panic() {
        let memory = SharedMemory::create(4096).unwrap();
        assert!(panics(|| memory.write(4090, &[0; 10])));
        assert!(panics(|| memory.read(usize::MAX, &mut [0; 10])));
        assert!(panics(|| memory.join_into(4092, &mut [0_u64], |there, _| there)));
        assert!(panics(|| _ = memory.word(4096)));
        assert!(panics(|| _ = memory.word(2)));
    }
}
