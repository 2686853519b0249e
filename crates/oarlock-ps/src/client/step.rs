//! The values that one thread sends and receives in a step: gradients wait here until all are there, new parameters until they
//! are asked for.

use std::sync::Arc;

use oarlock_ir::Result;
use oarlock_tensor::Value;
use parking_lot::Mutex;

use super::{ReceivedVars, RowFetch};
use crate::protocol::Named;

/// The exchange of one thread, from its first `send` to its last `recv`.
#[derive(Default)]
pub(crate) struct Step {
    /// By server; entries keep their memory from step to step.
    pub(crate) outgoing: Vec<PendingPush>,
    /// The variables of the last exchange that no `recv` has taken yet.
    pub(crate) received: ReceivedVars,
    /// Servers for which more parts of the same push follow.
    pub(crate) more: Vec<String>,
    /// The lookups that the thread made: it will make them again in its next step.
    pub(crate) lookups: Vec<Arc<Mutex<RowFetch>>>,
}

/// The gradients that wait for one server.
pub(crate) struct PendingPush {
    pub(crate) endpoint: String,
    vars: Vec<Named>,
    used: usize,
}

impl Step {
    /// Queues a variable for a server. `fill` writes it into memory that is kept from step to step.
    pub(crate) fn put(
        &mut self,
        endpoint: &str,
        name: &str,
        fill: impl FnOnce(&mut Value) -> Result<()>,
    ) -> Result<()> {
        let at = match self.outgoing.iter().position(|o| o.endpoint == endpoint) {
            Some(at) => at,
            None => {
                self.outgoing.push(PendingPush { endpoint: endpoint.to_string(), vars: Vec::new(), used: 0 });
                self.outgoing.len() - 1
            }
        };
        self.outgoing[at].put(name, fill)
    }

    /// A lookup was made.
    pub(crate) fn looked_up(&mut self, fetch: &Arc<Mutex<RowFetch>>) {
        if !self.lookups.iter().any(|known| Arc::ptr_eq(known, fetch)) {
            self.lookups.push(fetch.clone());
        }
    }

    /// Forgets what is queued: it was sent, or the run failed before all was there.
    pub(crate) fn clear(&mut self) {
        self.outgoing.iter_mut().for_each(|o| o.used = 0);
        self.more.clear();
    }
}

impl PendingPush {
    fn put(&mut self, name: &str, fill: impl FnOnce(&mut Value) -> Result<()>) -> Result<()> {
        // A run that failed half way left its part here; the same variable again starts it anew.
        if let Some(again) = self.vars[..self.used].iter().position(|(n, _)| n == name) {
            self.used = again;
        }
        if self.used == self.vars.len() {
            self.vars.push((name.to_string(), Value::Empty));
        }
        let (slot, value) = &mut self.vars[self.used];
        if slot != name {
            name.clone_into(slot);
        }
        fill(value)?;
        self.used += 1;
        Ok(())
    }

    /// The gradients that wait.
    pub(crate) fn vars(&self) -> &[Named] {
        &self.vars[..self.used]
    }
}
