//! Plans that were made, with their instances that are not running now.

use std::sync::Arc;

use oarlock_ir::{Name, Program, Result};
use parking_lot::Mutex;

use crate::replicas::Replicas;

/// The most plans kept; the one unused for longest goes first. Programs that are rebuilt each step would otherwise fill memory.
const MAX_PLANS: usize = 64;

/// Plans of type `P` and their idle instances of type `I`.
pub(crate) struct PlanCache<P, I>(Mutex<Vec<Entry<P, I>>>);

struct Entry<P, I> {
    program: u64,
    version: u64,
    replicas: Option<Replicas>,
    feeds: Vec<Name>,
    fetches: Vec<Name>,
    plan: Arc<P>,
    idle: Vec<I>,
}

/// The program, feeds and fetches that a plan is made for.
pub(crate) struct PlanKey<'a, F> {
    pub(crate) program: &'a Program,
    pub(crate) replicas: Option<Replicas>,
    /// Names.
    pub(crate) feeds: F,
    pub(crate) fetches: &'a [&'a str],
}

impl<'a, F: ExactSizeIterator<Item = &'a str> + Clone> PlanKey<'a, F> {
    /// Is an entry for this key? Nothing is allocated: this is asked in every step.
    fn fits<P, I>(&self, entry: &Entry<P, I>) -> bool {
        let same = |a: &[Name], b: &mut dyn Iterator<Item = &str>| a.iter().zip(b).all(|(a, b)| &**a == b);
        (entry.program, entry.version) == (self.program.id(), self.program.version())
            && entry.replicas == self.replicas
            && (entry.feeds.len(), entry.fetches.len()) == (self.feeds.len(), self.fetches.len())
            && same(&entry.feeds, &mut self.feeds.clone())
            && same(&entry.fetches, &mut self.fetches.iter().copied())
    }

    fn entry<P, I>(&self, plan: Arc<P>) -> Entry<P, I> {
        Entry {
            program: self.program.id(),
            version: self.program.version(),
            replicas: self.replicas,
            feeds: self.feeds.clone().map(Name::from).collect(),
            fetches: self.fetches.iter().map(|&name| name.into()).collect(),
            plan,
            idle: Vec::new(),
        }
    }
}

impl<P, I> PlanCache<P, I> {
    /// Takes an idle instance; makes one, and the plan, if there is none.
    pub(crate) fn take<'a, F: ExactSizeIterator<Item = &'a str> + Clone>(
        &self,
        key: &PlanKey<'a, F>,
        compile: impl FnOnce() -> Result<P>,
        instance: impl FnOnce(Arc<P>) -> Result<I>,
    ) -> Result<I> {
        let mut entries = self.0.lock();
        let plan = match entries.iter().position(|entry| key.fits(entry)) {
            Some(at) => {
                // Plans in use stand at the end; the first is the one unused for longest.
                let last = entries.len() - 1;
                entries.swap(at, last);
                if let Some(instance) = entries[last].idle.pop() {
                    return Ok(instance);
                }
                entries[last].plan.clone()
            }
            None => {
                drop(entries);
                let plan = Arc::new(compile()?);
                entries = self.0.lock();
                // Older versions of this program will not run again.
                entries.retain(|e| e.program != key.program.id() || e.version == key.program.version());
                if entries.len() >= MAX_PLANS {
                    entries.remove(0);
                }
                entries.push(key.entry(plan.clone()));
                plan
            }
        };
        drop(entries);
        instance(plan)
    }

    /// Keeps an instance of a plan for the next run, if the plan is still kept.
    pub(crate) fn give_back(&self, plan: &Arc<P>, instance: I) {
        let mut entries = self.0.lock();
        if let Some(entry) = entries.iter_mut().rev().find(|entry| Arc::ptr_eq(&entry.plan, plan)) {
            entry.idle.push(instance);
        }
    }

    /// The largest `bytes` of a program's idle instances.
    pub(crate) fn peak(&self, program: &Program, bytes: impl Fn(&I) -> usize) -> Option<usize> {
        let entries = self.0.lock();
        entries.iter().filter(|e| e.program == program.id()).flat_map(|e| e.idle.iter().map(&bytes)).max()
    }

    /// Drops the idle instances of a program.
    pub(crate) fn drop_idle(&self, program: &Program) {
        self.0.lock().iter_mut().filter(|e| e.program == program.id()).for_each(|e| e.idle.clear());
    }
}

impl<P, I> Default for PlanCache<P, I> {
    fn default() -> PlanCache<P, I> {
        PlanCache(Mutex::default())
    }
}
