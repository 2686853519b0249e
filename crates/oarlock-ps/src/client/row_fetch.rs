//! Rows of one table for one operator: which to ask of which server, and where they go. They are fetched when the operator
//! runs, or prefetched with the push of the step before it.

use std::sync::Arc;

use oarlock_ir::{Error, Kind, Name, Result, Runtime};
use oarlock_tensor::Foreign;
use parking_lot::Mutex;

use super::row_plan::{Route, RowPlan};
use super::{Client, NO_ROW};
use oarlock_net::{Floats, Incoming};

/// The lookups of one operator in one table; keeps its memory from step to step.
pub(crate) struct RowFetch {
    pub(crate) table: Name,
    /// The variables that hold the ids.
    pub(crate) ids: Vec<Name>,
    pub(crate) width: usize,
    /// The row of this id is zero.
    pub(crate) padding: Option<i64>,
    /// Each part of the table: its server, and its name there.
    pub(crate) parts: Vec<(String, String)>,
    pub(crate) route: Route,
    pub(crate) plan: RowPlan,
    /// The rows that came from each part, each once.
    found: Vec<FoundRows>,
    /// The most rows of the table, if it is a hashed table with a declared number of them; and the last known row count of each part.
    pub(crate) limit: Option<u64>,
    held: Vec<u64>,
    /// All ids, in order, if their rows came with an exchange; and the number of that exchange.
    ahead: Option<u64>,
    asked: Vec<i64>,
}

/// The rows to ask of one part of a table.
#[derive(Clone, Copy)]
pub(crate) struct RowRequest<'a> {
    pub(crate) part: usize,
    pub(crate) server: &'a str,
    pub(crate) table: &'a str,
    pub(crate) ids: &'a [i64],
}

impl RowFetch {
    pub(crate) fn new(
        table: Name,
        ids: Vec<Name>,
        width: usize,
        parts: Vec<(String, String)>,
        route: Route,
    ) -> RowFetch {
        RowFetch {
            table,
            ids,
            width,
            padding: None,
            parts,
            route,
            plan: RowPlan::default(),
            found: Vec::new(),
            limit: None,
            held: Vec::new(),
            ahead: None,
            asked: Vec::new(),
        }
    }

    /// Finds out what to ask for these ids.
    pub(crate) fn plan<'a>(&mut self, ids: impl Iterator<Item = &'a [i64]> + Clone) -> Result<()> {
        self.ahead = None;
        self.release();
        self.plan.plan(ids, self.padding, &self.route, self.parts.len(), &self.table)
    }

    /// The rows to ask of each part.
    pub(crate) fn requests(&self) -> impl Iterator<Item = RowRequest<'_>> {
        let parts = self.parts.iter().zip(&self.plan.parts).enumerate();
        parts.filter(|(_, (_, ids))| !ids.is_empty()).map(|(part, ((server, table), ids))| RowRequest {
            part,
            server,
            table,
            ids,
        })
    }

    /// Takes the rows of a part.
    pub(crate) fn take(&mut self, part: usize, found: FoundRows) -> Result<()> {
        let (width, ids, elements) = (self.width, self.plan.parts[part].len(), found.elements().len());
        if elements != ids * width {
            let server = &self.parts[part].0;
            let what = format!("server {server} sent {elements} elements for {ids} rows of {width}");
            return Err(Error::new(Kind::Shape, what).note(format!("of table `{}`", self.table)));
        }
        self.found.resize_with(self.parts.len(), FoundRows::default);
        self.held.resize(self.parts.len(), 0);
        self.held[part] = found.held;
        self.found[part] = found;
        Ok(())
    }

    /// Asks every part for nothing but how many rows it has.
    pub(crate) fn counts(&self) -> Vec<RowRequest<'_>> {
        let parts = self.parts.iter().enumerate();
        parts.map(|(part, (server, table))| RowRequest { part, server, table, ids: &[] }).collect()
    }

    /// Takes the answers.
    pub(crate) fn recount(&mut self, found: &[FoundRows]) {
        self.held.clear();
        self.held.extend(found.iter().map(|found| found.held));
    }

    /// No table has more rows than it was declared for. A server knows only its own; this is where the sum is known.
    pub(crate) fn check_limit(&self) -> Result<()> {
        let rows = self.held.iter().fold(0_u64, |all, rows| all.saturating_add(*rows));
        match self.limit {
            Some(limit) if rows > limit => {
                let what = format!(
                    "table `{}` was declared for {limit} rows, and its {} servers hold {rows}",
                    self.table,
                    self.parts.len()
                );
                Err(Error::new(Kind::Range, what)
                    .help("declare it for as many ids as there are (the first number of `size`), admit fewer ids, or evict rows"))
            }
            _ => Ok(()),
        }
    }

    /// Writes the rows of ids that begin at `at` among all.
    pub(crate) fn write(&self, at: usize, to: &mut [f32]) {
        let width = self.width.max(1);
        let found: Vec<&[f32]> = self.found.iter().map(FoundRows::elements).collect();
        for (row, to) in self.plan.row_of[at..].iter().zip(to.chunks_exact_mut(width)) {
            match *row {
                NO_ROW => to.fill(0.0),
                row => {
                    let (part, at) = self.plan.home[row as usize];
                    to.copy_from_slice(&found[part as usize][at as usize * width..][..width]);
                }
            }
        }
    }

    /// Lets go of the rows: the memory is that of replies, which the next ones need.
    pub(crate) fn release(&mut self) {
        self.ahead = None;
        self.found.clear();
    }

    /// Its rows came with an exchange.
    pub(crate) fn came_with(&mut self, exchange: u64) {
        self.ahead = Some(exchange);
    }

    /// Are the rows of these ids here, as they are after the last exchange?
    pub(crate) fn holds<'a>(&self, ids: impl Iterator<Item = &'a [i64]>, last_exchange: u64) -> bool {
        let mut asked = &self.asked[..];
        self.ahead == Some(last_exchange)
            && ids.into_iter().all(|list| asked.split_off(..list.len()).is_some_and(|a| a == list))
            && asked.is_empty()
    }
}

/// Rows that a server sent.
#[derive(Default)]
pub(crate) struct FoundRows {
    elements: Elements,
    /// How many rows the table has there.
    held: u64,
}

#[derive(Default)]
enum Elements {
    #[default]
    Nothing,
    /// They are read where they arrived.
    Borrowed(Foreign),
    /// They came rounded.
    Own(Vec<f32>),
}

impl FoundRows {
    /// The rows in a section of a reply, of a table that has `held` rows there.
    pub(crate) fn new(reply: &Incoming, section: usize, floats: Floats, held: u64) -> Result<FoundRows> {
        let Some(bytes) = reply.section(section) else { return Ok(FoundRows::default()) };
        if floats != Floats::F32 {
            let mut own = vec![0.0; bytes.len() / floats.width()];
            floats.decode(bytes, &mut own)?;
            return Ok(FoundRows { elements: Elements::Own(own), held });
        }
        if bytemuck::try_cast_slice::<u8, f32>(bytes).is_err() {
            return Err(Error::new(Kind::Format, "a reply with rows is truncated"));
        }
        Ok(FoundRows { elements: reply.borrow_section(section).map_or(Elements::Nothing, Elements::Borrowed), held })
    }

    fn elements(&self) -> &[f32] {
        match &self.elements {
            Elements::Nothing => &[],
            Elements::Borrowed(bytes) => bytemuck::cast_slice((**bytes).as_ref()),
            Elements::Own(elements) => elements,
        }
    }
}

impl Client {
    /// Finds out what the calling thread will look up in its next step, if that is known: the lookups of the step that ends, with
    /// the ids of the next batch. What cannot be asked for is left out; it fails when it is looked up.
    pub(crate) fn prefetch(&self, runtime: &Runtime) -> Vec<Arc<Mutex<RowFetch>>> {
        let step = self.step();
        let mut made = std::mem::take(&mut step.lock().lookups);
        let Some(next) = runtime.next_batches().get() else { return Vec::new() };
        let mut next = next.lock();
        made.retain(|fetch| {
            let mut fetch = fetch.lock();
            let names = fetch.ids.clone();
            let mut planned = false;
            next.peek(&names, &mut |tensors| {
                let lists: Option<Vec<&[i64]>> = tensors.iter().map(|t| t.data::<i64>().ok()).collect();
                let Some(lists) = lists else { return };
                planned = fetch.plan(lists.iter().copied()).is_ok();
                fetch.asked.clear();
                lists.iter().for_each(|list| fetch.asked.extend_from_slice(list));
            });
            planned
        });
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(elements: Vec<f32>) -> FoundRows {
        FoundRows { elements: Elements::Own(elements), held: 7 }
    }

    #[test]
    fn the_parts_of_a_table_have_no_more_rows_than_it_was_declared_for() {
        let parts = ["a:1", "b:1"].map(|server| (server.to_string(), "t".to_string())).to_vec();
        let mut fetch = RowFetch::new("t".into(), vec!["ids".into()], 1, parts, Route::Ranges(vec![0, 1, 2]));
        fetch.limit = Some(13);
        fetch.plan([&[0_i64, 1][..]].into_iter()).unwrap();
        fetch.take(0, own(vec![1.5])).unwrap();
        fetch.check_limit().unwrap();
        fetch.take(1, own(vec![1.5])).unwrap();
        let error = fetch.check_limit().unwrap_err();
        assert_eq!(error.report().what, "table `t` was declared for 13 rows, and its 2 servers hold 14");
        // A server that was not asked this time has its last count.
        fetch.plan([&[0_i64][..]].into_iter()).unwrap();
        fetch.take(0, FoundRows { held: 9, ..own(vec![1.5]) }).unwrap();
        assert!(fetch.check_limit().is_err());
        assert_eq!(
            fetch.counts().iter().map(|q| (q.server, q.ids.len())).collect::<Vec<_>>(),
            [("a:1", 0), ("b:1", 0)]
        );
        fetch.recount(&[9, 4].map(|held| FoundRows { held, ..FoundRows::default() }));
        fetch.check_limit().unwrap();
    }

    #[test]
    fn prefetched_rows_are_used_only_for_their_ids() {
        let parts = vec![("a:1".to_string(), "t".to_string())];
        let mut fetch = RowFetch::new("t".into(), vec!["ids".into()], 1, parts, Route::Hashed(1));
        let lists: [&[i64]; 2] = [&[3, 4], &[3]];
        fetch.plan(lists.into_iter()).unwrap();
        fetch.asked = lists.concat();
        assert!(!fetch.holds(lists.into_iter(), 5), "nothing came yet");
        fetch.came_with(5);
        assert!(fetch.holds(lists.into_iter(), 5));
        assert!(!fetch.holds(lists.into_iter(), 6), "servers changed since");
        for other in [[&[3i64, 4][..], &[4]], [&[3, 4], &[]], [&[3, 4], &[3, 3]]] {
            assert!(!fetch.holds(other.into_iter(), 5), "{other:?}");
        }
        fetch.take(0, own(vec![1.5, 2.5])).unwrap();
        let mut out = [0.0; 2];
        fetch.write(1, &mut out);
        assert_eq!(out, [2.5, 1.5]);
        let error = fetch.take(0, own(vec![1.5])).unwrap_err();
        assert_eq!(error.report().what, "server a:1 sent 1 elements for 2 rows of 1");
    }
}
