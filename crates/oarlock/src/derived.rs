//! Programs that are run in place of the one that was given: with the exchange of gradients that mode "nccl2" of the transpiler leaves
//! to the executor, or without the operators that the fetches do not need. They are made once and kept with their source.

use std::sync::Arc;

use oarlock_ir::{Program, Result, prune};
use oarlock_transpile::exchange_gradients;
use parking_lot::Mutex;

/// The most derived programs kept; the one unused for longest goes first.
const MAX_DERIVED: usize = 16;

/// How a program is changed before it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Derivation {
    /// The number of ranks whose gradients are summed before the update; 0 if the program itself does what is to be done.
    pub ranks: usize,
    /// Leaves out operators that the fetches do not need: without updates among them, nothing is trained.
    pub prune: bool,
}

/// Derived programs by source, derivation, feeds and fetches.
#[derive(Default)]
pub(crate) struct DerivedPrograms(Mutex<Vec<Entry>>);

struct Entry {
    /// Id and version.
    source: (u64, u64),
    how: Derivation,
    feeds: Vec<String>,
    fetches: Vec<String>,
    program: Arc<Program>,
}

impl Entry {
    fn fits(&self, source: &Program, how: Derivation, feeds: &[&str], fetches: &[&str]) -> bool {
        self.source == (source.id(), source.version())
            && self.how == how
            // Which operators stay depends on feeds and fetches, the exchange does not.
            && (!how.prune || (self.feeds == feeds && self.fetches == fetches))
    }
}

impl DerivedPrograms {
    /// The program to run in place of `source`; `source` itself if nothing is to be changed.
    pub(crate) fn of(
        &self,
        source: &Arc<Program>,
        how: Derivation,
        feeds: &[&str],
        fetches: &[&str],
    ) -> Result<Arc<Program>> {
        if how == Derivation::default() {
            return Ok(source.clone());
        }
        let mut entries = self.0.lock();
        if let Some(at) = entries.iter().position(|entry| entry.fits(source, how, feeds, fetches)) {
            let entry = entries.remove(at);
            let program = entry.program.clone();
            entries.push(entry);
            return Ok(program);
        }
        let mut program = match how.ranks {
            0 => source.clone(),
            ranks => Arc::new(exchange_gradients(source, ranks)?),
        };
        if how.prune {
            program = Arc::new(prune(&program, feeds, fetches)?);
        }
        // Older versions of the source will not run again.
        entries.retain(|entry| entry.source.0 != source.id() || entry.source.1 == source.version());
        if entries.len() >= MAX_DERIVED {
            entries.remove(0);
        }
        let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        entries.push(Entry {
            source: (source.id(), source.version()),
            how,
            feeds: owned(feeds),
            fetches: owned(fetches),
            program: program.clone(),
        });
        Ok(program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Arc<Program> {
        let text = "block 0 {
            var x: f32[2]
            var y: f32[2]
            var z: f32[2]
            y = scale(X: x)
            z = scale(X: y)
        }";
        Arc::new(Program::from_text(text).unwrap())
    }

    const PRUNE: Derivation = Derivation { ranks: 0, prune: true };

    #[test]
    fn pruned_program_has_only_operators_of_the_fetches_and_is_made_once() {
        let (derived, source) = (DerivedPrograms::default(), program());
        let of = |fetches: &[&str]| derived.of(&source, PRUNE, &["x"], fetches).unwrap();
        assert_eq!((of(&["y"]).global().ops.len(), of(&["z"]).global().ops.len()), (1, 2));
        assert!(Arc::ptr_eq(&of(&["y"]), &of(&["y"])));
        let same = derived.of(&source, Derivation::default(), &["x"], &["y"]).unwrap();
        assert!(Arc::ptr_eq(&same, &source), "a program without a derivation runs itself");
    }

    #[test]
    fn changed_source_is_derived_anew() {
        let (derived, mut source) = (DerivedPrograms::default(), program());
        let before = derived.of(&source, PRUNE, &["x"], &["z"]).unwrap();
        let changed = Arc::make_mut(&mut source);
        changed.touch();
        changed.global_mut().ops.remove(1);
        let after = derived.of(&source, PRUNE, &["x"], &["y"]).unwrap();
        assert_eq!((before.global().ops.len(), after.global().ops.len()), (2, 1));
    }

    #[test]
    fn derived_program_that_was_not_used_for_longest_is_dropped() {
        let derived = DerivedPrograms::default();
        let sources: Vec<Arc<Program>> = (0..=MAX_DERIVED).map(|_| program()).collect();
        let of = |source: &Arc<Program>| derived.of(source, PRUNE, &["x"], &["y"]).unwrap();
        let first = of(&sources[0]);
        let second = of(&sources[1]);
        assert!(Arc::ptr_eq(&first, &of(&sources[0])), "used again");
        sources[2..].iter().for_each(|source| drop(of(source)));
        assert_eq!(derived.0.lock().len(), MAX_DERIVED);
        assert!(Arc::ptr_eq(&first, &of(&sources[0])) && !Arc::ptr_eq(&second, &of(&sources[1])));
    }
}
