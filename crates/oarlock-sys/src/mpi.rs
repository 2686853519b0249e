//! An installed MPI, found when it is asked for: messages between the processes of one `mpirun`.
//!
//! Nothing is linked. The few functions that carry messages are looked up in the library by name, so the same build runs with
//! Open MPI and with the libraries that have MPICH's binary interface, and on machines without any.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Where the library usually is, by the names that the loader of the system knows: Open MPI, MPICH, and what a link says.
const LIBRARIES: [&str; 4] = ["libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi.so"];

/// At least this: several threads call, one at a time.
const THREAD_SERIALIZED: c_int = 2;
const THREAD_MULTIPLE: c_int = 3;

/// The longest text of an error in any MPI, and more than the largest status.
const TEXT: usize = 1024;

/// A communicator, a data type, a request: a pointer in Open MPI, a number of 32 bits in MPICH, which fits into the same register
/// and, with the rest zero, into the same memory.
type Handle = usize;

type Start = unsafe extern "C" fn(*mut c_int, *mut c_void, c_int, *mut c_int) -> c_int;
type Ask = unsafe extern "C" fn(*mut c_int) -> c_int;
type AskComm = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type SetHandler = unsafe extern "C" fn(Handle, Handle) -> c_int;
type Transfer = unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int;
type Test = unsafe extern "C" fn(*mut Handle, *mut c_int, *mut c_void) -> c_int;
type ErrorText = unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int;
type Finish = unsafe extern "C" fn() -> c_int;

/// The functions of the library, and the handles they are called with.
struct Library {
    start: Start,
    is_started: Ask,
    is_finished: Ask,
    threads: Ask,
    rank: AskComm,
    size: AskComm,
    set_handler: SetHandler,
    send: Transfer,
    receive: Transfer,
    test: Test,
    error_text: ErrorText,
    finish: Finish,
    world: Handle,
    byte: Handle,
    errors_return: Handle,
}

/// The processes that one `mpirun` started, seen from one of them.
pub struct Mpi {
    library: Library,
    rank: usize,
    size: usize,
    /// Held in every call. True as soon as nothing may be called any more.
    finished: Mutex<bool>,
}

static MPI: OnceLock<Result<Mpi, String>> = OnceLock::new();

impl Mpi {
    /// Starts MPI in this process, unless it has been started; it ends with the process. `library` is the file of the library, if
    /// it is not to be searched for. Waits, without an end, for the other processes to do the same.
    pub fn start(library: Option<&str>) -> Result<&'static Mpi, String> {
        MPI.get_or_init(|| Mpi::open(library)).as_ref().map_err(Clone::clone)
    }

    /// Is there a library that could be started?
    pub fn is_installed(library: Option<&str>) -> Result<(), String> {
        Library::load(library).map(|_| ())
    }

    fn open(library: Option<&str>) -> Result<Mpi, String> {
        let library = Library::load(library)?;
        library.begin()?;
        let (mut rank, mut size) = (0, 0);
        // SAFETY: MPI was started, and the communicator is that of this library.
        library.check(unsafe { (library.rank)(library.world, &raw mut rank) })?;
        // SAFETY: as above.
        library.check(unsafe { (library.size)(library.world, &raw mut size) })?;
        // SAFETY: both handles are those of this library. Errors are returned from now on; the default is to end the process.
        library.check(unsafe { (library.set_handler)(library.world, library.errors_return) })?;
        let number = |n: c_int| usize::try_from(n).map_err(|_| format!("MPI says that there are {n} processes"));
        Ok(Mpi { rank: number(rank)?, size: number(size)?, library, finished: Mutex::new(false) })
    }

    /// Which of the processes this is.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many processes there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Sends the first `len` bytes of a buffer to another process. It has left when [`Transit::is_over`].
    pub fn send(&'static self, to: usize, tag: u16, buffer: Vec<u64>, len: usize) -> Result<Transit, String> {
        self.transfer(self.library.send, to, tag, buffer, len)
    }

    /// Receives `len` bytes from another process into a buffer that has room for them.
    pub fn receive(&'static self, from: usize, tag: u16, buffer: Vec<u64>, len: usize) -> Result<Transit, String> {
        self.transfer(self.library.receive, from, tag, buffer, len)
    }

    fn transfer(
        &'static self,
        start: Transfer,
        other: usize,
        tag: u16,
        mut buffer: Vec<u64>,
        len: usize,
    ) -> Result<Transit, String> {
        buffer.resize(buffer.len().max(len.div_ceil(8)), 0);
        let too_much = |_| "a message is too large for MPI".to_string();
        let (count, other) = (c_int::try_from(len).map_err(too_much)?, c_int::try_from(other).map_err(too_much)?);
        // Every MPI has tags up to 32767.
        let tag = c_int::from(tag & 0x7fff);
        let mut request: Handle = 0;
        self.call(|library| {
            let memory = buffer.as_mut_ptr().cast();
            // SAFETY: the buffer has room for `count` bytes, and stays where it is until the message is through: the `Transit` owns
            // it, and leaks it if it is dropped before the end.
            unsafe { start(memory, count, library.byte, other, tag, library.world, &raw mut request) }
        })?;
        Ok(Transit { mpi: self, request, buffer, len, over: false })
    }

    /// Calls the library, one thread at a time.
    fn call(&self, work: impl FnOnce(&Library) -> c_int) -> Result<(), String> {
        let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        if *finished {
            return Err("MPI has ended in this process".to_string());
        }
        self.library.check(work(&self.library))
    }
}

/// A message on its way.
pub struct Transit {
    mpi: &'static Mpi,
    request: Handle,
    buffer: Vec<u64>,
    len: usize,
    over: bool,
}

impl Transit {
    /// Is it through? Messages move while this is asked.
    pub fn is_over(&mut self) -> Result<bool, String> {
        if self.over {
            return Ok(true);
        }
        let (mut done, mut status) = (0, [0_u64; TEXT / 8]);
        let request = &raw mut self.request;
        // SAFETY: the request was made by this library and is not complete; the status has more room than that of any MPI.
        self.mpi.call(|library| unsafe { (library.test)(request, &raw mut done, status.as_mut_ptr().cast()) })?;
        self.over = done != 0;
        Ok(self.over)
    }

    /// The bytes of a message that is through; none before.
    pub fn bytes(&self) -> &[u8] {
        if self.over { &bytemuck::cast_slice(&self.buffer)[..self.len] } else { &[] }
    }

    /// The buffer of a message that is through, to be used again; an empty one before.
    pub fn into_buffer(mut self) -> Vec<u64> {
        if self.over { std::mem::take(&mut self.buffer) } else { Vec::new() }
    }
}

impl Drop for Transit {
    fn drop(&mut self) {
        if !self.over {
            // MPI may still read or write it.
            std::mem::forget(std::mem::take(&mut self.buffer));
        }
    }
}

impl Library {
    fn load(library: Option<&str>) -> Result<Library, String> {
        let mut tried = Vec::new();
        let names = library.map_or(LIBRARIES.to_vec(), |name| vec![name]);
        for name in names {
            let file = CString::new(name).map_err(|_| format!("{name:?} is no name of a file"))?;
            // SAFETY: loading a library runs its initializers; those of MPI only prepare its own data. It is never unloaded. Its names
            // are made visible, because the parts that it loads itself look for them.
            let opened = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
            if !opened.is_null() {
                return Library::look_up(opened).map_err(|missing| format!("{name} has no {missing}"));
            }
            tried.push(load_error().unwrap_or_else(|| name.to_string()));
        }
        Err(tried.join("; "))
    }

    fn look_up(opened: *mut c_void) -> Result<Library, &'static str> {
        // Open MPI's handles are addresses of objects, those of MPICH numbers that its binary interface fixes.
        let open_mpi = find(opened, c"ompi_mpi_comm_world").is_ok();
        let handle = |object: &'static CStr, number: Handle| match open_mpi {
            true => find(opened, object).map(|address| address as Handle),
            false => Ok(number),
        };
        /// The function of this name.
        macro_rules! function {
            ($type:ty, $name:literal) => {
                // SAFETY: the standard of MPI says what the function of this name takes and gives; the type says the same.
                unsafe { std::mem::transmute::<*mut c_void, $type>(find(opened, $name)?) }
            };
        }
        Ok(Library {
            start: function!(Start, c"MPI_Init_thread"),
            is_started: function!(Ask, c"MPI_Initialized"),
            is_finished: function!(Ask, c"MPI_Finalized"),
            threads: function!(Ask, c"MPI_Query_thread"),
            rank: function!(AskComm, c"MPI_Comm_rank"),
            size: function!(AskComm, c"MPI_Comm_size"),
            set_handler: function!(SetHandler, c"MPI_Comm_set_errhandler"),
            send: function!(Transfer, c"MPI_Isend"),
            receive: function!(Transfer, c"MPI_Irecv"),
            test: function!(Test, c"MPI_Test"),
            error_text: function!(ErrorText, c"MPI_Error_string"),
            finish: function!(Finish, c"MPI_Finalize"),
            world: handle(c"ompi_mpi_comm_world", 0x4400_0000)?,
            byte: handle(c"ompi_mpi_byte", 0x4c00_010d)?,
            errors_return: handle(c"ompi_mpi_errors_return", 0x5400_0001)?,
        })
    }

    /// Starts MPI, unless the program has done so already; then it also ends it.
    fn begin(&self) -> Result<(), String> {
        let (mut finished, mut threads) = (0, 0);
        // SAFETY: these may be called before MPI is started and after it has ended.
        self.check(unsafe { (self.is_finished)(&raw mut finished) })?;
        if finished != 0 {
            return Err("MPI has ended in this process, and cannot be started again".to_string());
        }
        if self.started()? {
            // SAFETY: MPI was started.
            self.check(unsafe { (self.threads)(&raw mut threads) })?;
        } else {
            let nothing = ptr::null_mut();
            // SAFETY: MPI was not started; its arguments may be null.
            self.check(unsafe { (self.start)(nothing, nothing.cast(), THREAD_MULTIPLE, &raw mut threads) })?;
            finish_at_exit();
        }
        if threads < THREAD_SERIALIZED {
            return Err("it was started for one thread only (MPI_THREAD_SERIALIZED is needed)".to_string());
        }
        Ok(())
    }

    fn started(&self) -> Result<bool, String> {
        let mut started = 0;
        // SAFETY: this may be called at any time.
        self.check(unsafe { (self.is_started)(&raw mut started) })?;
        Ok(started != 0)
    }

    fn check(&self, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        let (mut text, mut len) = ([0_u8; TEXT], 0);
        // SAFETY: the text has more room than the longest of any MPI; this may be called at any time.
        unsafe { (self.error_text)(code, text.as_mut_ptr().cast(), &raw mut len) };
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(TEXT);
        Err(format!("MPI says: {}", String::from_utf8_lossy(&text[..end])))
    }
}

/// Ends MPI when the process ends: `mpirun` takes one that does not for one that failed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn finish_at_exit() {
    unsafe extern "C" {
        fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }
    /// One that fails must not end MPI: that waits for the others, and they wait for this one. `mpirun` ends them at once instead.
    extern "C" fn finish_if_well(code: c_int, _: *mut c_void) {
        if code == 0 {
            finish();
        }
    }
    // SAFETY: the C library has this function; the one that it calls does not unwind, and ignores its argument.
    unsafe { on_exit(finish_if_well, ptr::null_mut()) };
}

/// The same where the exit code is not to be had.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn finish_at_exit() {
    // SAFETY: the function takes nothing and does not unwind.
    unsafe { libc::atexit(finish) };
}

extern "C" fn finish() {
    let Some(Ok(mpi)) = MPI.get() else { return };
    let mut finished = mpi.finished.lock().unwrap_or_else(PoisonError::into_inner);
    let mut already = 0;
    // SAFETY: this may be called at any time.
    let asked = unsafe { (mpi.library.is_finished)(&raw mut already) };
    if !*finished && asked == 0 && already == 0 {
        // SAFETY: MPI was started and has not ended; no call follows.
        unsafe { (mpi.library.finish)() };
    }
    *finished = true;
}

fn find(opened: *mut c_void, name: &'static CStr) -> Result<*mut c_void, &'static str> {
    // SAFETY: the library is open, and the name ends with a zero.
    let address = unsafe { libc::dlsym(opened, name.as_ptr()) };
    match address.is_null() {
        true => Err(name.to_str().unwrap_or("name")),
        false => Ok(address),
    }
}

/// Why the last library could not be opened.
fn load_error() -> Option<String> {
    // SAFETY: the text belongs to the system, and is copied before the next call.
    let text = unsafe { libc::dlerror() };
    // SAFETY: as above; the text ends with a zero.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_found_is_named() {
        let error = Mpi::is_installed(Some("libnothing.so.7")).unwrap_err();
        assert!(error.contains("libnothing.so.7"), "{error}");
    }

    #[test]
    fn a_library_without_mpi_is_refused_with_the_function_it_lacks() {
        let error = Mpi::is_installed(Some("libc.so.6")).unwrap_err();
        assert_eq!(error, "libc.so.6 has no MPI_Init_thread");
    }

    #[test]
    fn a_name_with_a_zero_byte_is_refused() {
        assert_eq!(Mpi::is_installed(Some("lib\0mpi")).unwrap_err(), "\"lib\\0mpi\" is no name of a file");
    }

    #[test]
    fn starting_without_a_library_is_an_error_that_stays() {
        let first = Mpi::start(Some("libnothing.so.7")).err().unwrap();
        assert!(first.contains("libnothing.so.7"), "{first}");
        assert_eq!(Mpi::start(None).err(), Some(first));
    }
}
