//! Tables among the variables of a scope: what a program that runs alone uses where a job would ask its servers.
//!
//! Weights and the states that an optimizer keeps are variables of their own, but lie side by side in the rows of one table. The
//! variable of the weights has the table from the start; a state joins it when an optimizer first updates rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::RwLock;

use super::{Evict, HashedTable, Header, Memory, Missing, RowPolicy, SHARDS, Shown, Spec, State, shard_of};
use crate::{Result, SelectedRows, Tensor};

/// The value of a variable that is a hashed table, or a state of its rows.
pub enum TableVar {
    /// The weights, and with them the table.
    Weights(Arc<LocalTable>),
    /// A state of an optimizer, per row.
    State(TableState),
}

/// A table that the variables of one scope share.
pub struct LocalTable {
    /// Locked for writing only to make it anew, with other states or another rule of admission.
    rows: RwLock<HashedTable>,
    /// Updates so far: how old a row is.
    step: AtomicU32,
    /// The same when [`LocalTable::undo`] would bring back what was then.
    step_then: AtomicU32,
}

/// A state of the rows of a table.
pub struct TableState {
    like: State,
    of: Owner,
}

/// Where the values of a state are.
enum Owner {
    /// No optimizer used it yet.
    None,
    /// Nor yet, but values were loaded.
    Loaded(SelectedRows),
    /// In a table: which of its states.
    Table(Arc<LocalTable>, usize),
}

impl TableVar {
    /// An empty table. The states of its rows join later.
    pub fn weights(spec: Spec) -> Result<TableVar> {
        let rows = RwLock::new(HashedTable::new(spec)?);
        Ok(TableVar::Weights(Arc::new(LocalTable { rows, step: AtomicU32::new(0), step_then: AtomicU32::new(0) })))
    }

    /// A state whose rows start from this value.
    pub fn state(width: usize, initial: f32) -> TableVar {
        TableVar::State(TableState { like: State { width, initial }, of: Owner::None })
    }

    /// Elements per row.
    pub fn width(&self) -> usize {
        match self {
            TableVar::Weights(table) => table.rows.read().spec().width,
            TableVar::State(state) => state.like.width,
        }
    }

    /// The table, if these are weights.
    pub fn table(&self) -> Option<&Arc<LocalTable>> {
        match self {
            TableVar::Weights(table) => Some(table),
            TableVar::State(_) => None,
        }
    }

    /// All rows, by ascending id.
    pub fn to_rows(&self) -> Result<SelectedRows> {
        match self {
            TableVar::Weights(table) => table.to_rows(None),
            TableVar::State(TableState { of: Owner::Table(table, at), .. }) => table.to_rows(Some(*at)),
            TableVar::State(TableState { of: Owner::Loaded(rows), .. }) => Ok(rows.clone()),
            TableVar::State(TableState { like, of: Owner::None }) => sorted(Vec::new(), like.width),
        }
    }

    /// Sets what was saved. Rows that weights do not list are gone; those that are there keep their states until these are
    /// loaded, too. So it does not matter in which order the variables of a table are loaded.
    pub fn load(&mut self, saved: SelectedRows) -> Result<()> {
        match self {
            TableVar::Weights(table) => table.load(&saved),
            TableVar::State(TableState { of: Owner::Table(table, at), .. }) => table.load_state(*at, &saved),
            TableVar::State(state) => {
                state.of = Owner::Loaded(saved);
                Ok(())
            }
        }
    }
}

impl TableState {
    fn is_joined(&self, table: &Arc<LocalTable>, at: usize) -> bool {
        matches!(&self.of, Owner::Table(of, k) if Arc::ptr_eq(of, table) && *k == at)
    }
}

impl LocalTable {
    /// Makes these the states of the table's rows, in this order.
    pub fn join(self: &Arc<LocalTable>, states: &mut [&mut TableState]) -> Result<()> {
        if states.iter().enumerate().all(|(at, state)| state.is_joined(self, at)) {
            return Ok(());
        }
        self.make_anew(|spec| spec.state = states.iter().map(|state| state.like).collect())?;
        for (at, state) in states.iter_mut().enumerate() {
            if let Owner::Loaded(saved) = std::mem::replace(&mut state.of, Owner::Table(self.clone(), at)) {
                self.load_state(at, &saved)?;
            }
        }
        Ok(())
    }

    /// Which ids get a row, and which rows are kept.
    pub fn follow(&self, rules: &RowPolicy) -> Result<()> {
        let RowPolicy { admission, retention } = *rules;
        let same = |spec: &Spec| (spec.admission, spec.retention) == (admission, retention);
        if same(self.rows.read().spec()) {
            return Ok(());
        }
        self.make_anew(|spec| (spec.admission, spec.retention) = (admission, retention))
    }

    /// Do shows and clicks come with the gradients of its rows?
    pub fn is_told_shows(&self) -> bool {
        self.rows.read().spec().retention.score.is_some_and(|score| score.told)
    }

    /// The same rows in a table of another kind; states start anew if they are others than before.
    fn make_anew(&self, change: impl FnOnce(&mut Spec)) -> Result<()> {
        let mut rows = self.rows.write();
        let mut spec = rows.spec().clone();
        change(&mut spec);
        if spec != *rows.spec() {
            *rows = rows.remade(spec)?;
        }
        Ok(())
    }

    /// The most rows it may hold.
    pub fn limit(&self) -> Option<u64> {
        self.rows.read().spec().max_rows
    }

    /// Returns its memory.
    pub fn memory(&self) -> Memory {
        self.rows.read().memory()
    }

    /// Rows it holds.
    pub fn len(&self) -> u64 {
        self.rows.read().len()
    }

    /// No rows?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies weights to `out`.
    pub fn read(&self, ids: &[i64], out: &mut [f32], missing: Missing) -> Result<()> {
        self.rows.read().read(ids, out, missing).map(drop)
    }

    /// After this, [`LocalTable::update`] of these ids does not fail.
    pub fn reserve(&self, ids: &[i64]) -> Result<()> {
        self.rows.read().reserve(ids)
    }

    /// One more step: `f` changes each row of `ids`, none of which is repeated; `shown` says how often they were shown. See
    /// [`HashedTable::update`] and [`HashedTable::count_shows`]. Afterwards rows go that are not kept any longer.
    pub fn update(
        &self,
        ids: &[i64],
        shown: impl Fn(usize) -> Shown,
        f: impl FnMut(usize, &mut [f32], &mut [f32]),
    ) -> Result<()> {
        let now = self.step.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let rows = self.rows.read();
        rows.count_shows(ids, now, shown)?;
        rows.update(ids, now, f)?;
        rows.sweep(now);
        Ok(())
    }

    /// From now on [`LocalTable::undo`] brings back what is now.
    pub fn begin(&self) {
        self.step_then.store(self.step.load(Ordering::Relaxed), Ordering::Relaxed);
        self.rows.read().begin_step();
    }

    /// Takes back all since [`LocalTable::begin`].
    pub fn undo(&self) {
        self.rows.read().rollback_step();
        self.step.store(self.step_then.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Takes rows away; returns how many. See [`HashedTable::evict`].
    pub fn evict(&self, which: Evict<'_>) -> u64 {
        self.rows.read().evict(which)
    }

    fn to_rows(&self, state: Option<usize>) -> Result<SelectedRows> {
        let rows = self.rows.read();
        let width = rows.spec().width;
        let mut found = Vec::new();
        for shard in 0..SHARDS {
            rows.for_each_row(shard, |id, _, weights, states| {
                found.push((id, state.map_or(weights, |at| &states[at * width..][..width]).to_vec()));
            })?;
        }
        sorted(found, width)
    }

    fn load(&self, saved: &SelectedRows) -> Result<()> {
        let rows = self.rows.read();
        let values = checked(saved, rows.spec())?.chunks_exact(rows.spec().width);
        let mut ids = saved.rows.clone();
        ids.sort_unstable();
        rows.evict(Evict::Where(&|id, _, _, _| ids.binary_search(&id).is_err()));
        saved.rows.iter().zip(values).try_for_each(|(id, from)| rows.edit(*id, |to, _| to.copy_from_slice(from)))
    }

    fn load_state(&self, at: usize, saved: &SelectedRows) -> Result<()> {
        let rows = self.rows.read();
        let width = rows.spec().width;
        let values = checked(saved, rows.spec())?.chunks_exact(width);
        let mut all = saved.rows.iter().zip(values);
        all.try_for_each(|(id, from)| rows.edit(*id, |_, to| to[at * width..][..width].copy_from_slice(from)))
    }
}

impl HashedTable {
    /// A table as `spec` says that holds the rows of this one. States start anew unless they are the same.
    fn remade(&self, spec: Spec) -> Result<HashedTable> {
        let same_states = spec.state == self.spec().state;
        let made = HashedTable::new(spec)?;
        for (shard, from) in self.shards.iter().enumerate() {
            let mut done = Ok(());
            self.for_each_row(shard, |id, header, weights, states| {
                let states = if same_states { states } else { &made.initial.state };
                if done.is_ok() {
                    done = made.insert(id, header, weights, states);
                }
            })?;
            done?;
            made.shards[shard].0.lock().take_admission(&mut from.0.lock());
        }
        made.evicted.store(self.evicted(), Ordering::Relaxed);
        Ok(made)
    }

    /// Changes a row outside of any step: for loading. One that is not there is made, admitted or not.
    fn edit(&self, id: i64, change: impl FnOnce(&mut [f32], &mut [f32])) -> Result<()> {
        let (mut header, mut weights) = (Header::default(), vec![0.0; self.spec.width]);
        let mut state = self.initial.state.clone();
        self.initial.weights(id, &mut weights);
        {
            let shard = self.shards[shard_of(id)].0.lock();
            if let Some(slot) = shard.find(id) {
                self.show(shard.row(slot), &mut |_, its_header, its_weights, its_state| {
                    header = its_header;
                    weights.copy_from_slice(its_weights);
                    state.copy_from_slice(its_state);
                });
            }
        }
        change(&mut weights, &mut state);
        self.insert(id, header, &weights, &state)
    }
}

/// The values of rows that were saved, if they fit.
fn checked<'a>(saved: &'a SelectedRows, spec: &Spec) -> Result<&'a [f32]> {
    let values = saved.value.data::<f32>()?;
    if values.len() == saved.rows.len() * spec.width {
        return Ok(values);
    }
    let found = saved.value.dims();
    Err(spec.error(format!("its rows have {} elements, and those that were saved are {found}", spec.width)))
}

fn sorted(mut rows: Vec<(i64, Vec<f32>)>, width: usize) -> Result<SelectedRows> {
    rows.sort_unstable_by_key(|(id, _)| *id);
    let values: Vec<f32> = rows.iter().flat_map(|(_, row)| row.iter().copied()).collect();
    let value = Tensor::from_slice([rows.len(), width], &values)?;
    Ok(SelectedRows { rows: rows.iter().map(|(id, _)| *id).collect(), height: rows.len() as i64, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Admission, Retention, RowInit};

    fn table() -> TableVar {
        let init = RowInit::Uniform { min: -1.0, max: 1.0 };
        let spec = Spec {
            name: "emb".into(),
            width: 2,
            state: Vec::new(),
            init,
            seed: 3,
            max_rows: Some(4),
            admission: Admission::Always,
            retention: Retention::default(),
            history: 0,
        };
        TableVar::weights(spec).unwrap()
    }

    fn step(weights: &TableVar, moment: &mut TableVar, ids: &[i64]) {
        let (table, TableVar::State(state)) = (weights.table().unwrap(), moment) else { panic!("a state") };
        table.join(&mut [state]).unwrap();
        table
            .update(
                ids,
                |_| Shown::default(),
                |at, weights, state| {
                    weights[0] += 1.0;
                    state[1] += at as f32 + 1.0;
                },
            )
            .unwrap();
    }

    #[test]
    fn states_join_rows_that_were_read_before() {
        let (weights, mut moment) = (table(), TableVar::state(2, 0.5));
        let mut first = [0.0; 4];
        weights.table().unwrap().read(&[7, -7], &mut first, Missing::Create).unwrap();
        step(&weights, &mut moment, &[-7, 7]);
        let rows = weights.to_rows().unwrap();
        assert_eq!(rows.rows, [-7, 7]);
        assert_eq!(rows.value.data::<f32>().unwrap(), [first[2] + 1.0, first[3], first[0] + 1.0, first[1]]);
        assert_eq!(moment.to_rows().unwrap().value.data::<f32>().unwrap(), [0.5, 1.5, 0.5, 2.5]);
    }

    #[test]
    fn saved_rows_are_loaded_in_any_order() {
        let (weights, mut moment) = (table(), TableVar::state(2, 0.5));
        step(&weights, &mut moment, &[1, 2]);
        let saved = (weights.to_rows().unwrap(), moment.to_rows().unwrap());
        let fresh = || (table(), TableVar::state(2, 0.5));
        let (mut early, mut early_moment) = fresh();
        early.load(saved.0.clone()).unwrap();
        early_moment.load(saved.1.clone()).unwrap();
        step(&early, &mut early_moment, &[3]);
        let (mut late, mut late_moment) = fresh();
        step(&late, &mut late_moment, &[3, 9]);
        late_moment.load(saved.1.clone()).unwrap();
        late.load(saved.0.clone()).unwrap();
        step(&late, &mut late_moment, &[3]);
        step(&weights, &mut moment, &[3]);
        for (var, other) in [(&weights, &early), (&weights, &late), (&moment, &early_moment), (&moment, &late_moment)] {
            assert_eq!(var.to_rows().unwrap(), other.to_rows().unwrap());
        }
    }

    #[test]
    fn a_step_of_a_local_table_can_be_rolled_back() {
        let (weights, mut moment) = (table(), TableVar::state(2, 0.0));
        step(&weights, &mut moment, &[1]);
        let before = (weights.to_rows().unwrap(), moment.to_rows().unwrap());
        weights.table().unwrap().begin();
        step(&weights, &mut moment, &[1, 2]);
        weights.table().unwrap().undo();
        assert_eq!((weights.to_rows().unwrap(), moment.to_rows().unwrap()), before);
    }

    /// Rows that the step took away come back, and it is no update.
    #[test]
    fn a_step_that_evicted_rows_can_be_rolled_back() {
        let (weights, mut moment) = (table(), TableVar::state(2, 0.0));
        let kept = weights.table().unwrap();
        kept.follow(&RowPolicy::parse("", "unseen=2").unwrap()).unwrap();
        step(&weights, &mut moment, &[1]);
        step(&weights, &mut moment, &[2]);
        let before = (weights.to_rows().unwrap(), moment.to_rows().unwrap());
        for _ in 0..2 {
            kept.begin();
            step(&weights, &mut moment, &[3]);
            assert_eq!((weights.to_rows().unwrap().rows, kept.memory().evicted), (vec![2, 3], 1));
            kept.undo();
            assert_eq!((weights.to_rows().unwrap(), moment.to_rows().unwrap()), before);
            assert_eq!(kept.memory().evicted, 0);
        }
        step(&weights, &mut moment, &[3]);
        assert_eq!(weights.to_rows().unwrap().rows, [2, 3]);
    }

    #[test]
    fn a_full_table_says_so_before_anything_changes() {
        let weights = table();
        let full = weights.table().unwrap().reserve(&[1, 2, 3, 4, 5]).unwrap_err();
        assert!(full.to_string().starts_with("table `emb` holds 4 rows, which is its limit"), "{full}");
        let mut wrong = table();
        let three = Tensor::zeros(crate::DType::F32, [1, 3]);
        let error = wrong.load(SelectedRows { rows: vec![1], height: 1, value: three }).unwrap_err();
        assert_eq!(error.to_string(), "table `emb`: its rows have 2 elements, and those that were saved are [1, 3]");
    }
}
