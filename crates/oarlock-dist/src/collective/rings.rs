//! The groups that operators of a runtime use, by the number of their ring.

use std::collections::BTreeMap;
use std::sync::Arc;

use oarlock_ir::{Error, Kind, Result, Runtime};
use parking_lot::Mutex;

use super::form::programs_differ;
use super::group::{Group, GroupOptions};
use super::stream::Stream;

/// Rings by number. Fluid's rings are for devices that work side by side; here all rings of a job are one group, because one
/// stream of exchanges already uses the whole memory or network.
#[derive(Default)]
pub struct Rings {
    rings: Mutex<BTreeMap<i32, Arc<Stream>>>,
    /// The group that was joined last, which a ring may be made of.
    joined: Mutex<Option<Arc<Stream>>>,
}

impl Rings {
    /// Those of a runtime.
    pub fn of(runtime: &Runtime) -> Arc<Rings> {
        runtime.get_or_provide(Rings::default)
    }

    /// Joins the workers, unless this process has already: a startup program may run twice.
    pub(crate) fn join(&self, options: GroupOptions) -> Result<()> {
        let mut joined = self.joined.lock();
        if let Some(stream) = &*joined {
            let old = stream.group().options();
            if (old.rank, &old.endpoints) == (options.rank, &options.endpoints) {
                stream.quiet()?;
                return compare(stream.group(), &options.program);
            }
            let what = format!("this process is rank {} of {} already", old.rank, old.endpoints.join(","));
            return Err(Error::new(Kind::Argument, what).help("a process belongs to one group of workers"));
        }
        *joined = Some(Arc::new(Stream::new(Group::join(options)?)?));
        Ok(())
    }

    /// Joins the workers before any program does, to exchange values with them.
    pub fn meet(&self, runtime: &Runtime, rank: usize, endpoints: Vec<String>) -> Result<()> {
        if self.joined.lock().is_some() {
            return Ok(());
        }
        self.join(GroupOptions::of(runtime, rank, endpoints))
    }

    /// Makes a ring of the group that was joined.
    pub(crate) fn open(&self, ring: i32) -> Result<()> {
        let Some(stream) = self.joined.lock().clone() else {
            return Err(Error::new(Kind::Missing, format!("ring {ring} has no workers: nobody was joined"))
                .help("run the operator that joins them (`c_gen_nccl_id`, `gen_nccl_id`) before"));
        };
        self.rings.lock().insert(ring, stream);
        Ok(())
    }

    /// The stream of a ring.
    pub(crate) fn ring(&self, ring: i32) -> Result<Arc<Stream>> {
        self.rings.lock().get(&ring).cloned().ok_or_else(|| {
            Error::new(Kind::Missing, format!("the workers of ring {ring} are not joined"))
                .help("run the startup program first: it joins them")
        })
    }

    /// Works with the group, between runs and exchanges; `None` if no group was joined.
    pub fn with_group<R>(&self, work: impl FnOnce(&Group) -> Result<R>) -> Result<Option<R>> {
        let Some(stream) = self.joined.lock().clone() else { return Ok(None) };
        stream.quiet()?;
        work(stream.group()).map(Some)
    }

    /// Workers with data in the last step, of all; `None` if no group was joined.
    pub fn active(&self) -> Option<f32> {
        self.joined.lock().as_ref().map(|stream| stream.active())
    }

    /// Breaks all connections without a word, as a process does that ends in an error. True if there was a group.
    pub fn abandon(&self) -> bool {
        self.rings.lock().clear();
        let joined = self.joined.lock().take();
        joined.inspect(|stream| stream.group().abandon()).is_some()
    }

    /// Leaves the group. True if there was one.
    pub fn leave(&self) -> bool {
        self.rings.lock().clear();
        match self.joined.lock().take() {
            Some(stream) => {
                stream.group().leave();
                true
            }
            None => false,
        }
    }
}

/// Workers that met before they had programs compare them now; all fail together, and name the same one.
fn compare(group: &Group, program: &[String]) -> Result<()> {
    let all = group.gather(program.join("\n").as_bytes())?;
    let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().map(str::to_string).collect::<Vec<String>>();
    let first = lines(&all[0]);
    let fault = all.iter().enumerate().find_map(|(rank, other)| programs_differ(&first, rank, &lines(other)));
    fault.map_or(Ok(()), Err)
}
