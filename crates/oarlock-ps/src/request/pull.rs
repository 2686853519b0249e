//! A trainer or a reader fetches variables.
//!
//! Reply: `values` (6) with the variables.

use std::collections::BTreeMap;

use oarlock_ir::Result;

use super::hello::Purpose;
use crate::client::{Client, ReceivedVars, about_names, read_values};
use crate::protocol::{Message, Sender, ValueWriter, message, reply, request};
use crate::server::Call;
use crate::server::read::size;

request! { kind: 4, sender: Sender::Anyone, profile: "serve pull", replay: apply }

message! {
    /// The variables that are asked for.
    pub(crate) struct Pull {
        /// As they were after this many steps: a trainer that rejoins repeats the step in which it was lost.
        /// `u64::MAX` for the values of now.
        pub(crate) after_step: u64,
        /// Of tables whose changes are recorded (GEO): only rows that changed since this trainer asked last, of each as many as fit
        /// into this number of bytes.
        pub(crate) changed_only: Option<u64>,
        pub(crate) names: Vec<String>,
    }
}

/// How many rows of a table fit into a number of bytes; at least one.
pub(crate) fn rows_in(bytes: u64, width: usize) -> usize {
    let row = size_of::<i64>() + width.saturating_mul(size_of::<f32>());
    usize::try_from(bytes / row as u64).unwrap_or(usize::MAX).max(1)
}

fn apply(call: &mut Call<'_>) -> Result<()> {
    let pull = Pull::read(call.frame)?;
    match pull.changed_only {
        Some(bytes) => copy_changed_rows(call, &pull.names, bytes)?,
        None => {
            // What a trainer fetched compensates its next gradients for the updates since.
            if call.shared.updates.remembers_fetches() && call.hello.purpose == Purpose::Requests {
                call.log()?;
            }
            copy_variables(call, &pull.names, pull.after_step)?;
        }
    }
    call.reply.set(reply::VALUES, &());
    call.reply.set_row_counts(Vec::new());
    Ok(())
}

/// Copies variables into the reply, so that no update waits for a slow reader; returns their bytes.
pub(super) fn copy_variables(call: &mut Call<'_>, names: &[String], after_step: u64) -> Result<u64> {
    let (shared, hello) = (call.shared, call.hello);
    let mut bytes = 0;
    for (name, (to, value)) in names.iter().zip(call.reply.vars(names.len())) {
        name.clone_into(to);
        shared.copy_after(name, after_step, value)?;
        bytes += size(value);
        shared.check_size(bytes)?;
        if hello.purpose == Purpose::Requests {
            shared.updates.remember(hello.trainer as usize, name, value)?;
        }
    }
    if !names.is_empty() {
        shared.note_fetch(hello, false);
    }
    Ok(bytes)
}

/// Copies the rows that others changed since this trainer asked last, of each table as many as fit into `bytes`.
fn copy_changed_rows(call: &mut Call<'_>, names: &[String], bytes: u64) -> Result<()> {
    let (shared, hello) = (call.shared, call.hello);
    shared.check_active(hello)?;
    let asked_by = (hello.trainer as usize, call.frame.id());
    let most = shared.options.net.max_frame / (2 * names.len().max(1) as u64);
    let mut gathered = 0;
    for (name, (to, value)) in names.iter().zip(call.reply.vars(names.len())) {
        name.clone_into(to);
        shared.changed_rows.rows_for(&shared.updates, asked_by, name, bytes.min(most), value)?;
        gathered += size(value);
        // Every name adds at least one row: a long list of names must not fill the memory.
        shared.check_size(gathered)?;
    }
    Ok(())
}

/// The variables that a trainer wants from each server.
pub(crate) type WantedVars = BTreeMap<String, Vec<String>>;

/// Groups variables, each given with its server, by server.
fn by_server(names: &[(String, String)]) -> WantedVars {
    let mut wanted = WantedVars::new();
    for (endpoint, name) in names {
        wanted.entry(endpoint.clone()).or_default().push(name.clone());
    }
    wanted
}

impl Client {
    /// Fetches variables now, each from its server.
    pub(crate) fn pull(&self, trainer: u32, names: &[(String, String)], into: &mut ReceivedVars) -> Result<()> {
        self.pull_from(trainer, by_server(names), None, into)
    }

    /// Fetches rows of tables that changed since the last time, of each table as many as fit into `bytes`. They are read where they
    /// arrived: the caller drops them before the next request, or its reply needs other memory.
    pub(crate) fn pull_changed(
        &self,
        trainer: u32,
        names: &[(String, String)],
        bytes: u64,
        into: &mut ReceivedVars,
    ) -> Result<()> {
        self.pull_from(trainer, by_server(names), Some(bytes), into)
    }

    /// Fetches all wanted variables.
    pub(crate) fn pull_wanted(&self, trainer: u32, wanted: &WantedVars, into: &mut ReceivedVars) -> Result<()> {
        self.pull_from(trainer, wanted.clone(), None, into)
    }

    fn pull_from(
        &self,
        trainer: u32,
        wanted: WantedVars,
        changed_only: Option<u64>,
        into: &mut ReceivedVars,
    ) -> Result<()> {
        let mut requests = Vec::new();
        for (endpoint, names) in &wanted {
            let meta = Pull { after_step: self.as_of(), changed_only, names: names.clone() }.to_meta();
            requests.push((endpoint.as_str(), meta, ValueWriter::default()));
        }
        let about = || about_names("", wanted.values().flatten().map(String::as_str), self.done());
        let borrow = changed_only.is_some();
        self.ask_all(trainer, &REQUEST, &requests, &about, |_, reply| read_values(reply, into, borrow).map(drop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::samples::{Sample, dense, names, rows, with_values};

    pub(super) fn samples() -> Vec<Sample> {
        let pull = Pull { after_step: 3, changed_only: Some(5), names: names() };
        let vars = [("w@GRAD".to_string(), dense()), ("emb@GRAD".to_string(), rows())];
        let row_counts = vec![9_u64, 0].to_meta().into_bytes();
        let found: &[u8] = bytemuck::cast_slice(&[0.25_f32, 0.5]);
        let decode = |frame: &oarlock_net::Incoming| read_values(frame, &mut ReceivedVars::default(), false).map(drop);
        vec![
            Sample::of("pull", REQUEST.kind, &pull),
            with_values("values", reply::VALUES, ().to_meta(), &vars, (&[found], &row_counts), decode),
        ]
    }

    #[test]
    fn variables_are_grouped_by_their_server() {
        let names = [("b:1", "w"), ("a:1", "x"), ("b:1", "y")].map(|(s, n)| (s.to_string(), n.to_string()));
        let wanted = by_server(&names);
        assert_eq!(wanted["b:1"], ["w", "y"]);
        assert_eq!(wanted["a:1"], ["x"]);
    }

    #[test]
    fn at_least_one_row_fits() {
        assert_eq!((rows_in(0, 8), rows_in(80, 8), rows_in(u64::MAX, 0)), (1, 2, usize::MAX >> 3));
    }
}
