//! The `hadoop` command: the one client of HDFS that every cluster has. Each call starts a process and waits for it.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use oarlock_ir::{Error, Kind, Result};
use rustix::process::{Pid, Signal, kill_process_group};

/// How long a command may take; the client itself tries again for some minutes when a machine does not answer.
const PATIENCE: Duration = Duration::from_secs(3600);

/// How long to sleep between two looks whether a command has ended.
const PAUSE: Duration = Duration::from_millis(10);

/// Bytes of a command's standard error that are kept.
const TEXT: u64 = 64 << 10;

/// Names that a command line takes at a time.
const NAMES: usize = 500;

/// How to call the client.
#[derive(Debug, Clone)]
pub(super) struct Hadoop {
    program: PathBuf,
    /// The arguments that make it a client of files, and settings.
    arguments: Vec<String>,
}

/// An entry of a listing.
pub(super) struct Listed {
    /// The path, without scheme and host.
    pub(super) path: String,
    pub(super) size: u64,
    pub(super) is_folder: bool,
}

impl Hadoop {
    /// Finds the command: `hadoop` of HADOOP_HOME, else `hadoop` or `hdfs` on the PATH. `settings` are passed on with `-D`.
    pub(super) fn find(location: &str, settings: &[(String, String)]) -> Result<Hadoop> {
        let home = variable("HADOOP_HOME").map(|home| PathBuf::from(home).join("bin"));
        let path = variable("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = home.into_iter().chain(std::env::split_paths(&path)).collect();
        let find = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|program| program.is_file());
        let found = find("hadoop").map(|p| (p, "fs")).or_else(|| find("hdfs").map(|p| (p, "dfs")));
        let Some((program, of_files)) = found else {
            let what = format!("{location} needs the command `hadoop`, which was not found");
            return Err(Error::new(Kind::Missing, what)
                .help("install the Hadoop client and put it on the PATH, or set HADOOP_HOME; or mount HDFS and use the directory"));
        };
        let mut arguments = vec![of_files.to_string()];
        for (name, value) in settings {
            arguments.extend(["-D".to_string(), format!("{name}={value}")]);
        }
        Ok(Hadoop { program, arguments })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(arguments).stdin(Stdio::null());
        // A group of its own, so that the machine that it starts can be ended with it.
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        command
    }

    /// Runs a command to its end; returns what it printed.
    fn run(&self, arguments: &[&str]) -> Result<String> {
        let mut running = self.start(arguments)?;
        let mut text = String::new();
        let read = running.stdout.take().map_or(Ok(0), |mut out| out.read_to_string(&mut text));
        read.map_err(|e| Error::new(Kind::Io, format!("cannot read the output of `{}`: {e}", running.what)))?;
        running.finish()?;
        Ok(text)
    }

    fn start(&self, arguments: &[&str]) -> Result<HadoopProcess> {
        let shown = arguments.iter().take(4).copied().collect::<Vec<_>>().join(" ");
        let what = format!("hadoop {} {shown}", self.arguments[0]);
        let child = self.command(arguments).spawn();
        let mut child = child.map_err(|e| Error::new(Kind::Io, format!("cannot start `{what}`: {e}")))?;
        let complaints = child.stderr.take().map(|err| {
            thread::spawn(move || {
                let mut text = Vec::new();
                let mut err = err;
                // Text that cannot be read is left out; the rest is taken, so that the command does not block on writing.
                err.by_ref().take(TEXT).read_to_end(&mut text).ok();
                io::copy(&mut err, &mut io::sink()).ok();
                String::from_utf8_lossy(&text).into_owned()
            })
        });
        Ok(HadoopProcess { stdout: child.stdout.take(), child, complaints, what })
    }

    /// All files and folders below a folder; `None` if there is no such folder.
    pub(super) fn list(&self, url: &str, deep: bool) -> Result<Option<Vec<Listed>>> {
        let arguments: &[&str] = if deep { &["-ls", "-R", url] } else { &["-ls", url] };
        match self.run(arguments) {
            Ok(text) => Ok(Some(text.lines().filter_map(entry).collect())),
            Err(e) if e.kind() == Kind::Missing => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Makes folders and those around them.
    pub(super) fn make_folders(&self, urls: &[String]) -> Result<()> {
        self.on_all(&["-mkdir", "-p"], urls, &[])
    }

    /// Copies a file or a folder of this machine to a place that does not exist yet.
    pub(super) fn put(&self, from: &Path, to: &str) -> Result<()> {
        let Some(from) = from.to_str() else {
            return Err(Error::new(Kind::Argument, format!("{} is not UTF-8", from.display())));
        };
        self.run(&["-put", from, to]).map(drop)
    }

    /// Gives a file or a folder another name, at once.
    pub(super) fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.run(&["-mv", from, to]).map(drop)
    }

    /// Moves files into a folder.
    pub(super) fn move_into(&self, from: &[String], folder: &str) -> Result<()> {
        self.on_all(&["-mv"], from, &[folder])
    }

    /// Deletes files and folders; those that are gone already are as good.
    pub(super) fn delete(&self, urls: &[String]) -> Result<()> {
        self.on_all(&["-rm", "-r", "-f", "-skipTrash"], urls, &[])
    }

    fn on_all(&self, before: &[&str], names: &[String], after: &[&str]) -> Result<()> {
        for names in names.chunks(NAMES) {
            let names = names.iter().map(String::as_str);
            let all: Vec<&str> = before.iter().copied().chain(names).chain(after.iter().copied()).collect();
            self.run(&all)?;
        }
        Ok(())
    }

    /// Starts to read a file.
    pub(super) fn read(&self, url: &str) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new(self.start(&["-cat", url])?))
    }
}

#[expect(clippy::disallowed_methods, reason = "where the Hadoop client is, the environment says")]
fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// A line such as `-rw-r--r--   3 user group  1366 2026-11-16 10:00 /data/part 0`.
fn entry(line: &str) -> Option<Listed> {
    let mut rest = line;
    let mut fields = [""; 7];
    for field in &mut fields {
        rest = rest.trim_start();
        (*field, rest) = rest.split_once(' ')?;
    }
    let path = path_of(rest.trim_start());
    Some(Listed { path: path.to_string(), size: fields[4].parse().ok()?, is_folder: fields[0].starts_with('d') })
}

/// The path of a URL, without scheme and host.
pub(super) fn path_of(url: &str) -> &str {
    let path = url.split_once(":/").map_or(url, |(scheme, _)| &url[scheme.len() + 1..]);
    match path.strip_prefix("//") {
        Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => path,
    }
}

/// A command under way. Reading it gives what it prints, and an error at the end if it failed.
struct HadoopProcess {
    child: Child,
    stdout: Option<ChildStdout>,
    complaints: Option<JoinHandle<String>>,
    what: String,
}

impl HadoopProcess {
    /// Waits for the end, and says why it failed if it did.
    fn finish(&mut self) -> Result<()> {
        let status = self.wait()?;
        let said = self.complaints.take().and_then(|said| said.join().ok()).unwrap_or_default();
        if status.is_some_and(|status| status.success()) {
            return Ok(());
        }
        // The client mixes its complaint with notes of its own; the last line is the reason.
        let reason = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").trim();
        let kind = if said.contains("No such file or directory") { Kind::Missing } else { Kind::Io };
        Err(Error::new(kind, format!("`{}` failed: {reason}", self.what)).help("try it by hand"))
    }

    fn wait(&mut self) -> Result<Option<std::process::ExitStatus>> {
        let mut waited = Duration::ZERO;
        loop {
            match self.child.try_wait() {
                Ok(None) if waited < PATIENCE => {
                    thread::sleep(PAUSE);
                    waited += PAUSE;
                }
                Ok(None) => {
                    let what = format!("`{}` did not end in {} s", self.what, PATIENCE.as_secs());
                    return Err(Error::new(Kind::Timeout, what).help("is the name node there? try the command by hand"));
                }
                Ok(status) => return Ok(status),
                Err(e) => return Err(Error::new(Kind::Io, format!("cannot wait for `{}`: {e}", self.what))),
            }
        }
    }
}

impl Read for HadoopProcess {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let Some(out) = &mut self.stdout else { return Ok(0) };
        let n = out.read(to)?;
        if n == 0 && !to.is_empty() {
            self.stdout = None;
            self.finish().map_err(|e| io::Error::other(e.report().what.clone()))?;
        }
        Ok(n)
    }
}

impl Drop for HadoopProcess {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // It has not been waited for, so its number is still its own.
            kill_process_group(Pid::from_child(&self.child), Signal::KILL).ok();
            self.child.wait().ok();
        }
        if let Some(complaints) = self.complaints.take() {
            complaints.join().ok();
        }
    }
}

#[test]
fn lines_of_listings_are_read() {
    let file = entry("-rw-r--r--   3 user group       1366 2026-11-16 10:00 hdfs://host:9000/data/part 0").unwrap();
    assert_eq!((file.path.as_str(), file.size, file.is_folder), ("/data/part 0", 1366, false));
    let folder = entry("drwxr-xr-x   - user group          0 2026-11-16 10:00 /data/inner").unwrap();
    assert_eq!((folder.path.as_str(), folder.is_folder), ("/data/inner", true));
    assert!(entry("Found 3 items").is_none() && entry("").is_none());
}

#[test]
fn hdfs_urls_have_paths() {
    for (url, path) in [
        ("hdfs://host:9000/a/b", "/a/b"),
        ("hdfs:///a", "/a"),
        ("hdfs:/a/b", "/a/b"),
        ("hdfs://host", "/"),
        ("/a", "/a"),
    ] {
        assert_eq!(path_of(url), path, "{url}");
    }
}
