//! Variables that arrived and no operator has taken yet.

use std::collections::HashMap;

use oarlock_ir::{Error, Kind, Result};
use oarlock_net::Incoming;
use oarlock_net::codec::Reader;
use oarlock_tensor::Value;

use crate::protocol::{Message, ValueReader};

/// Variables by name. One that was taken leaves its memory for the next of its name.
#[derive(Default)]
pub(crate) struct ReceivedVars(HashMap<String, Entry>);

#[derive(Default)]
struct Entry {
    /// No operator has taken it.
    fresh: bool,
    /// Which fetch it came with, where that is counted.
    version: u64,
    value: Value,
}

impl ReceivedVars {
    /// Is there a variable that no operator has taken?
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|e| e.fresh)
    }

    /// Room for a variable that arrives.
    pub(crate) fn arrive(&mut self, name: &str) -> &mut Value {
        if !self.0.contains_key(name) {
            self.0.insert(name.to_string(), Entry::default());
        }
        let entry = self.0.entry(name.to_string()).or_default();
        entry.fresh = true;
        &mut entry.value
    }

    /// Takes a variable; what was in `into` stays here for its memory. False if it is not there.
    pub(crate) fn take(&mut self, name: &str, into: &mut Value) -> bool {
        match self.0.get_mut(name).filter(|e| e.fresh) {
            Some(entry) => {
                entry.fresh = false;
                std::mem::swap(&mut entry.value, into);
                true
            }
            None => false,
        }
    }

    /// Leaves the memory of something that was taken for the next of its name.
    pub(crate) fn give_back(&mut self, name: &str, value: &mut Value) {
        let entry = self.0.entry(name.to_string()).or_default();
        if !entry.fresh {
            std::mem::swap(&mut entry.value, value);
        }
    }

    /// Lets go of memory that only waits for the next variables.
    pub(crate) fn trim(&mut self) {
        self.0.retain(|_, entry| entry.fresh);
    }

    /// Moves all variables of another one here, as one fetch.
    pub(crate) fn take_all(&mut self, other: &mut ReceivedVars, version: u64) {
        for (name, entry) in other.0.iter_mut().filter(|(_, e)| e.fresh) {
            let own = self.0.entry(name.clone()).or_default();
            entry.fresh = false;
            std::mem::swap(&mut own.value, &mut entry.value);
            own.fresh = true;
            own.version = version;
        }
    }

    /// Copies a variable of another one that came with a later fetch than the one here.
    pub(crate) fn copy_newer(&mut self, name: &str, from: &ReceivedVars) -> Result<()> {
        let Some(theirs) = from.0.get(name).filter(|e| e.fresh) else { return Ok(()) };
        let own = self.0.entry(name.to_string()).or_default();
        if own.version < theirs.version {
            own.version = theirs.version;
            own.fresh = true;
            own.value.copy_from(&theirs.value).map_err(|e| Error::new(Kind::Argument, format!("`{name}` {e}")))?;
        }
        Ok(())
    }

    /// Copies all variables of another one.
    pub(crate) fn copy_all(&mut self, from: &ReceivedVars) -> Result<()> {
        for (name, theirs) in from.0.iter().filter(|(_, e)| e.fresh) {
            let own = self.arrive(name);
            own.copy_from(&theirs.value).map_err(|e| Error::new(Kind::Argument, format!("`{name}` {e}")))?;
        }
        Ok(())
    }
}

/// Stores the values of a reply; with `borrow` they are read where they are, and to be dropped before the next request.
/// Returns the first section behind theirs, and how many rows the tables have whose rows follow.
pub(crate) fn read_values(reply: &Incoming, into: &mut ReceivedVars, borrow: bool) -> Result<(usize, Vec<u64>)> {
    let mut meta = Reader::new(reply.meta(), "a message");
    let mut values = ValueReader::new(reply, &mut meta)?;
    while let Some(name) = values.next(&mut meta)? {
        match borrow {
            true => values.borrowed(&mut meta, into.arrive(name))?,
            false => values.value(&mut meta, into.arrive(name))?,
        }
    }
    Ok((values.sections_read(), Vec::decode(&mut meta)?))
}
