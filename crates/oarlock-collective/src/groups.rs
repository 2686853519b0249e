//! The communication groups of a runtime, by the `ring_id` of its operators, and the recovery of elastic groups.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oarlock_ir::{Error, Kind, Result, Runtime};
use oarlock_tensor::DType;
use parking_lot::Mutex;
use tracing::warn;

use crate::group::{Group, GroupOptions};
use crate::rendezvous::{Expected, programs_differ};
use crate::stream::Stream;

/// Communication groups by `ring_id`. Fluid's rings are for devices that work side by side; here all rings of a job are one group,
/// because one stream of exchanges already uses the whole memory or network.
#[derive(Default)]
pub struct Groups {
    streams: Mutex<BTreeMap<i32, Arc<Stream>>>,
    /// The group that was joined, which communication groups are made of.
    joined: Mutex<Option<Arc<Stream>>>,
    /// Must the variables of all ranks be synchronised before the next step?
    differs: AtomicBool,
    /// The settings of groups that operators join.
    settings: Mutex<Option<GroupOptions>>,
}

impl Groups {
    /// The groups of a runtime.
    pub fn of(runtime: &Runtime) -> Arc<Groups> {
        runtime.groups().get_or_init(Groups::default)
    }

    /// Sets the settings of groups that operators join.
    pub fn set_options(&self, options: GroupOptions) {
        *self.settings.lock() = Some(options);
    }

    /// The settings of groups that operators join.
    pub(crate) fn settings(&self) -> Option<GroupOptions> {
        self.settings.lock().clone()
    }

    /// Joins the group, unless this process has already: a startup program may run twice.
    pub(crate) fn join(&self, options: GroupOptions) -> Result<()> {
        let mut joined = self.joined.lock();
        if let Some(stream) = &*joined {
            let old = stream.group().options();
            if (old.rank, &old.endpoints) == (options.rank, &options.endpoints) {
                stream.drain()?;
                return compare(stream.group(), &options.program);
            }
            let what = format!("this process is rank {} of {} already", old.rank, old.endpoints.join(","));
            return Err(Error::new(Kind::Argument, what).help("a process belongs to one group"));
        }
        // A rank that rejoins has values of its own.
        self.differs.store(options.elastic && options.rejoins, Ordering::Release);
        *joined = Some(Arc::new(Stream::new(Group::join(options)?, 0)?));
        Ok(())
    }

    /// Joins the group before a program does, to exchange values.
    pub fn join_early(&self, runtime: &Runtime, rank: usize, endpoints: Vec<String>) -> Result<()> {
        if self.joined.lock().is_some() {
            return Ok(());
        }
        self.join(GroupOptions::of(runtime, rank, endpoints))
    }

    /// Makes a communication group, with this `ring_id`, of the group that was joined.
    pub(crate) fn open(&self, ring: i32) -> Result<()> {
        let Some(stream) = self.stream() else {
            return Err(Error::new(
                Kind::Missing,
                format!("communication group {ring} has no ranks: no group was joined"),
            )
            .help("run the operator that joins one (`c_gen_nccl_id`, `gen_nccl_id`) before"));
        };
        self.streams.lock().insert(ring, stream);
        Ok(())
    }

    /// The stream of the group that was joined; the lock is released at once.
    fn stream(&self) -> Option<Arc<Stream>> {
        self.joined.lock().clone()
    }

    /// The stream of the communication group with this `ring_id`.
    pub(crate) fn ring(&self, ring: i32) -> Result<Arc<Stream>> {
        self.streams.lock().get(&ring).cloned().ok_or_else(|| {
            Error::new(Kind::Missing, format!("communication group {ring} (ring_id) is not joined"))
                .help("run the startup program first: it joins the group")
        })
    }

    /// Does this rank still lack the variables of the others?
    pub(crate) fn is_behind(&self) -> bool {
        self.differs.load(Ordering::Acquire)
    }

    /// Does the group go on when a rank dies?
    pub fn is_elastic(&self) -> bool {
        self.joined.lock().as_ref().is_some_and(|stream| stream.group().options().elastic)
    }

    /// After a failure: forms the group again, of the ranks that are left. False if no rank was lost.
    pub(crate) fn recover(&self) -> Result<bool> {
        let Some(stream) = self.stream().filter(|_| self.is_elastic()) else { return Ok(false) };
        let lost = stream.group().lost();
        if lost.is_empty() {
            return Ok(false);
        }
        let left: Vec<usize> = stream.group().ranks().iter().copied().filter(|rank| !lost.contains(rank)).collect();
        self.form_again(stream, left, &format!("rank {} is lost", lost[0]))?;
        Ok(true)
    }

    /// Between two steps: forms the group again with the ranks that rejoin.
    pub(crate) fn admit_rejoining(&self) -> Result<()> {
        let Some(stream) = self.stream().filter(|stream| stream.rejoin_requested()) else { return Ok(()) };
        let mut wanted = stream.group().ranks().to_vec();
        let rejoining =
            stream.group().rejoin_requested().into_iter().filter(|rank| !stream.group().ranks().contains(rank));
        wanted.extend(rejoining);
        // The old coordinator stays, also if a rank that rejoins is lower.
        self.form_again(stream, wanted, "a rank rejoins")
    }

    /// All wanted ranks do this at the same time; the first of them that is alive coordinates.
    fn form_again(&self, old: Arc<Stream>, mut wanted: Vec<usize>, why: &str) -> Result<()> {
        let (options, steps) = (old.group().options().clone(), old.steps());
        old.group().part();
        loop {
            let first = wanted.first().copied();
            match Group::form(options.clone(), &Expected::These(wanted.clone())) {
                Ok(group) => {
                    let numbers: Vec<String> = group.ranks().iter().map(ToString::to_string).collect();
                    let (rank, ranks) = (options.rank, numbers.join(", "));
                    warn!(rank, step = steps, "{why}; after step {steps} ranks {ranks} go on");
                    let stream = Arc::new(Stream::new(group, steps)?);
                    self.streams.lock().values_mut().for_each(|old| *old = stream.clone());
                    *self.joined.lock() = Some(stream);
                    self.differs.store(true, Ordering::Release);
                    return Ok(());
                }
                // The coordinator has died, too.
                Err(e) if e.kind() == Kind::Network && first != Some(options.rank) && wanted.len() > 1 => {
                    wanted.remove(0);
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// Broadcasts the variables of the rank that has made most steps. `values` visits them, in the same order on all ranks.
    pub(crate) fn synchronise(
        &self,
        mut values: impl FnMut(&mut dyn FnMut(&str, DType, &mut [u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let Some(stream) = self.stream().filter(|_| self.is_behind()) else { return Ok(()) };
        stream.drain()?;
        let group = stream.group();
        let mut steps = vec![0_i64; group.world()];
        group.all_gather(&[stream.steps() as i64], &mut steps)?;
        let most = steps.iter().copied().max().unwrap_or(0);
        let from = steps.iter().position(|count| *count == most).unwrap_or(0);
        values(&mut |name, dtype, bytes| group.broadcast_bytes(name, dtype, bytes, from))?;
        stream.set_steps(most as u64);
        self.differs.store(false, Ordering::Release);
        Ok(())
    }

    /// Calls `work` with the group, between runs and exchanges; `None` if no group was joined.
    pub fn with_group<R>(&self, work: impl FnOnce(&Group) -> Result<R>) -> Result<Option<R>> {
        let Some(stream) = self.stream() else { return Ok(None) };
        stream.drain()?;
        work(stream.group()).map(Some)
    }

    /// The number of ranks with data in the last step; `None` if no group was joined.
    pub fn active(&self) -> Option<f32> {
        self.joined.lock().as_ref().map(|stream| stream.active())
    }

    /// Closes all connections without leaving, as a process does that ends in an error. True if there was a group.
    pub fn abandon(&self) -> bool {
        self.streams.lock().clear();
        let joined = self.joined.lock().take();
        joined.inspect(|stream| stream.group().abandon()).is_some()
    }

    /// Leaves the group. True if there was one.
    pub fn leave(&self) -> bool {
        self.streams.lock().clear();
        match self.joined.lock().take() {
            Some(stream) => {
                stream.group().leave();
                true
            }
            None => false,
        }
    }
}

/// Ranks that joined before they had programs compare them now; all fail together, and name the same one.
fn compare(group: &Group, program: &[String]) -> Result<()> {
    let all = group.gather(program.join("\n").as_bytes())?;
    let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().map(str::to_string).collect::<Vec<String>>();
    let first = lines(&all[0]);
    let fault = all.iter().enumerate().find_map(|(rank, other)| programs_differ(&first, rank, &lines(other)));
    fault.map_or(Ok(()), Err)
}
