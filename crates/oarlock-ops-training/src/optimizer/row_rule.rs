//! The update of one row as a function, and how it is applied to dense and row-sparse gradients; shared by optimizers.
//!
//! The arithmetic of an optimizer exists once, as a [`RowRule`]. A dense gradient is one long row; a row-sparse one lists rows.
//! Optimizer kernels check everything first, without writing, and then cannot fail: a failed run changes no parameter.

use std::cell::{Ref, RefMut};

use oarlock_ir::{In, Infer, Io, Kernel, Kind, Out, Prepare, Result, VarKind, checked_kernel};
use oarlock_tensor::merge::RowMerger;
use oarlock_tensor::table::{LocalTable, SHOWN, Shown, TableState, TableVar};
use oarlock_tensor::{DType, Element, Float, SelectedRows, Tensor, Value, simd};

/// The update of a row of a parameter, with the scalars of this step (learning rate, ...) filled in.
/// `N` is how many states it keeps, each as large as the parameter. All slices are of one length.
pub trait RowRule<T, const N: usize> {
    /// Updates the row and its states, given its gradient.
    fn update(&self, param: &mut [T], state: [&mut [T]; N], grad: &[T]);
}

/// The meaning of a row-sparse gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sparse {
    /// The optimizer does not take one.
    Unsupported,
    /// Rows are updated as they are listed; a row that is listed twice is updated twice.
    EachListed,
    /// Repeated rows are summed, then the listed rows are updated.
    Listed,
    /// Repeated rows are summed, then every row is updated; those not listed with a gradient of zero. No row listed at all: nothing happens.
    /// In a hashed table only the listed rows are updated: the others are too many to go through in every step.
    Every,
    /// The same, and then the optimizer looks at the whole parameter: it must be a tensor.
    EveryOfTensor,
}

/// A variable that is read, and written back, perhaps under another name: `Param` and `ParamOut`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    from: In,
    to: Out,
}

impl Pair {
    /// The variables of these slots.
    pub(crate) fn new(p: &Prepare<'_>, (from, to): (&str, &str)) -> Result<Pair> {
        Ok(Pair { from: p.input(from)?, to: p.output(to)? })
    }

    /// Are both one variable?
    pub(crate) fn is_one(self) -> bool {
        self.to.is(self.from)
    }

    /// The input as messages name it.
    pub(crate) fn describe(self, io: &Io<'_>) -> String {
        io.describe(self.from)
    }

    /// The old value, a number.
    pub(crate) fn scalar(self, io: &Io<'_>) -> Result<f64> {
        io.scalar(self.from)
    }

    /// The old value, an integer.
    pub(crate) fn index(self, io: &Io<'_>) -> Result<i64> {
        io.index(self.from)
    }

    /// The old tensor, which must hold `T`.
    pub(crate) fn old<'a, T: Element>(self, io: &Io<'a>) -> Result<Ref<'a, Tensor>> {
        let t = io.dense(self.from)?;
        io.data::<T>(self.from, &t)?;
        Ok(t)
    }

    /// The tensor to write, holding the old values.
    pub(crate) fn update<'a>(self, io: &Io<'a>) -> Result<RefMut<'a, Tensor>> {
        io.update(self.from, self.to)
    }

    /// The elements of the tensor to write.
    pub(crate) fn data_mut<'t, T: Element>(self, io: &Io<'_>, tensor: &'t mut Tensor) -> Result<&'t mut [T]> {
        io.data_mut(self.to, tensor)
    }

    /// Can [`Pair::set`] work?
    pub(crate) fn check_number<T: Element>(self, io: &Io<'_>) -> Result<()> {
        self.scalar(io)?;
        self.old::<T>(io)?;
        Ok(())
    }

    /// Replaces the number of a tensor of one number.
    pub(crate) fn set<T: Element>(self, io: &Io<'_>, value: T) -> Result<()> {
        let mut t = self.update(io)?;
        self.data_mut::<T>(io, &mut t)?[0] = value;
        Ok(())
    }
}

/// The slots that every optimizer has.
pub const PARAM: (&str, &str) = ("Param", "ParamOut");

/// The variables of an optimizer: parameter, gradient, and `N` states as large as the parameter.
#[derive(Clone, Copy)]
pub struct Update<const N: usize> {
    param: Pair,
    states: [Pair; N],
    grad: In,
    sparse: Sparse,
}

/// The work of an optimizer operator in a step, apart from its [`Update`]: groups are made of these.
pub trait Step<const N: usize>: Copy + Send + Sync + 'static {
    /// The update of a row.
    type Rule<T: Float>: RowRule<T, N> + Sync;

    /// Of an operator.
    fn new(p: &Prepare<'_>) -> Result<(Update<N>, Self)>;

    /// The rule, with the scalars of this step.
    fn rule<T: Float>(&self, io: &Io<'_>) -> Result<Self::Rule<T>>;

    /// After this, neither [`Step::rule`] nor [`Step::finish`] can fail.
    fn check<T: Float>(&self, io: &Io<'_>) -> Result<()> {
        self.rule::<T>(io).map(drop)
    }

    /// The rest of the step when parameter and states are updated from a dense gradient.
    fn finish<T: Float>(&self, _io: &Io<'_>, _rule: &Self::Rule<T>) -> Result<()> {
        Ok(())
    }
}

/// Parameter, states and dense gradient of an optimizer.
pub struct Tensors<'a, const N: usize> {
    param: RefMut<'a, Tensor>,
    states: [RefMut<'a, Tensor>; N],
    grad: Ref<'a, Tensor>,
}

/// The elements of [`Tensors`]; all slices are of one length.
pub struct Slices<'t, T, const N: usize> {
    /// Of the parameter.
    pub param: &'t mut [T],
    /// Of each state.
    pub state: [&'t mut [T]; N],
    /// Of the gradient.
    pub grad: &'t [T],
}

impl<'t, T, const N: usize> Slices<'t, T, N> {
    /// Takes up to `len` elements off the front.
    pub fn take(&mut self, len: usize) -> Slices<'t, T, N> {
        fn front<'t, T>(slice: &mut &'t mut [T], len: usize) -> &'t mut [T] {
            let (front, rest) = std::mem::take(slice).split_at_mut(len);
            *slice = rest;
            front
        }
        let len = len.min(self.grad.len());
        let (grad, rest) = self.grad.split_at(len);
        self.grad = rest;
        Slices { param: front(&mut self.param, len), state: self.state.each_mut().map(|s| front(s, len)), grad }
    }
}

/// Memory that an optimizer's kernel keeps.
pub(crate) struct Scratch<T> {
    merger: RowMerger<T>,
    listed: Listed,
    /// The gradient of rows that are not listed.
    zeros: Vec<T>,
}

/// How many elements that are not listed are updated at once.
const ZEROS: usize = 4096;

impl<T: Float> Scratch<T> {
    pub(crate) fn new() -> Scratch<T> {
        Scratch { merger: RowMerger::default(), listed: Listed::default(), zeros: vec![T::ZERO; ZEROS] }
    }
}

/// Which rows a gradient lists, and where.
#[derive(Default)]
struct Listed {
    /// Each row once, ascending.
    ids: Vec<i64>,
    /// The places of the first row, then those of the second, and so on; each ascending.
    places: Vec<u32>,
    /// Where the places of each row begin, and where the last ones end.
    starts: Vec<usize>,
}

impl Listed {
    fn sort(&mut self, rows: &[i64]) -> &Listed {
        self.places.clear();
        self.places.extend(0..rows.len() as u32);
        self.places.sort_by_key(|&at| rows[at as usize]);
        self.ids.clear();
        self.starts.clear();
        for (at, &place) in self.places.iter().enumerate() {
            if self.ids.last() != Some(&rows[place as usize]) {
                self.ids.push(rows[place as usize]);
                self.starts.push(at);
            }
        }
        self.starts.push(rows.len());
        self
    }

    fn places(&self, row: usize) -> &[u32] {
        &self.places[self.starts[row]..self.starts[row + 1]]
    }
}

impl<const N: usize> Update<N> {
    /// The variables of the slots `Param`, `ParamOut`, `Grad` and of the states.
    pub(crate) fn new(p: &Prepare<'_>, states: [(&str, &str); N], sparse: Sparse) -> Result<Update<N>> {
        let states = all(states.map(|slots| Pair::new(p, slots)))?;
        Ok(Update { param: Pair::new(p, PARAM)?, states, grad: p.input("Grad")?, sparse })
    }

    /// Checks types and sizes and, of a row-sparse gradient, the rows. After this [`Update::apply`] cannot fail.
    pub fn check<T: Float>(&self, io: &Io<'_>) -> Result<()> {
        if let Value::Table(table) = &*io.value(self.param.from)? {
            return self.check_table::<T>(io, table);
        }
        let param = self.param.old::<T>(io)?;
        for state in self.states {
            self.check_dense::<T>(io, state.from, &param)?;
        }
        match &*io.value(self.grad)? {
            Value::Rows(rows) => self.check_rows::<T>(io, &param, rows),
            _ => self.check_dense::<T>(io, self.grad, &param),
        }
    }

    fn check_dense<T: Float>(&self, io: &Io<'_>, input: In, param: &Tensor) -> Result<()> {
        let t = io.dense(input)?;
        io.data::<T>(input, &t)?;
        if t.numel() == param.numel() {
            return Ok(());
        }
        let other = format!("is {}, but {} is {}", t.dims(), io.describe(self.param.from), param.dims());
        Err(io.error(Kind::Shape, input, other))
    }

    /// Checks an update of rows by id, and makes room for them.
    fn check_table<T: Float>(&self, io: &Io<'_>, table: &TableVar) -> Result<()> {
        let (Some(rows), true) = (table.table(), T::DTYPE == DType::F32) else {
            return Err(io.error(Kind::DType, self.param.from, "is no table of f32 weights"));
        };
        if matches!(self.sparse, Sparse::Unsupported | Sparse::EveryOfTensor) {
            let e = io.error(Kind::Unsupported, self.param.from, "is a table, whose rows this optimizer cannot update");
            return Err(e.help("set is_distributed=False, or use sgd, momentum, adam, adagrad, rmsprop or ftrl"));
        }
        for state in self.states {
            io.value(state.from)?.table().map_err(|e| io.about(state.from.0, e))?;
        }
        let grad = io.rows(self.grad)?;
        self.check_width::<T>(io, grad_width(table.width(), rows), &grad)?;
        rows.reserve(&grad.rows).map_err(|e| io.about(self.param.from.0, e))
    }

    fn check_rows<T: Float>(&self, io: &Io<'_>, param: &Tensor, g: &SelectedRows) -> Result<()> {
        if self.sparse == Sparse::Unsupported {
            let e = io.error(Kind::Unsupported, self.grad, "is row-sparse, which this optimizer does not take");
            return Err(e.help(
                "set is_sparse=False on the embedding, or use sgd, momentum, adam, adagrad, rmsprop, ftrl or lamb",
            ));
        }
        self.check_width::<T>(io, param.dims().matrix(1).1, g)?;
        let rows = param.rows();
        // Negative rows are out of range as well: they are huge when seen as unsigned.
        match g.rows.iter().position(|&r| r as u64 >= rows as u64) {
            None => Ok(()),
            Some(at) => {
                let what = format!(
                    "lists row {} (at position {at}), but {} has {rows} rows",
                    g.rows[at],
                    io.describe(self.param.from)
                );
                Err(io.error(Kind::Range, self.grad, what))
            }
        }
    }

    fn check_width<T: Float>(&self, io: &Io<'_>, width: usize, g: &SelectedRows) -> Result<()> {
        io.data::<T>(self.grad, &g.value)?;
        if g.value.numel() != g.rows.len() * width {
            let what = format!(
                "lists {} rows and holds {}, but a row of {} has {width} elements",
                g.rows.len(),
                g.value.dims(),
                io.describe(self.param.from),
            );
            return Err(io.error(Kind::Shape, self.grad, what));
        }
        Ok(())
    }

    /// The same with another gradient.
    pub(crate) fn with_grad(self, grad: In) -> Update<N> {
        Update { grad, ..self }
    }

    /// The same variables once more, after a first part of the step has written them.
    pub(crate) fn written(self) -> Update<N> {
        let again = |pair: Pair| Pair { from: In(pair.to.0), ..pair };
        Update { param: again(self.param), states: self.states.map(again), ..self }
    }

    /// The same for a rule that keeps no states.
    pub(crate) fn without_states(self) -> Update<0> {
        Update { param: self.param, states: [], grad: self.grad, sparse: self.sparse }
    }

    /// Is the gradient row-sparse?
    pub(crate) fn is_sparse(&self, io: &Io<'_>) -> Result<bool> {
        Ok(matches!(&*io.value(self.grad)?, Value::Rows(_)))
    }

    /// Is the gradient row-sparse and lists no row?
    pub(crate) fn is_empty(&self, io: &Io<'_>) -> Result<bool> {
        Ok(matches!(&*io.value(self.grad)?, Value::Rows(g) if g.rows.is_empty()))
    }

    /// Updates parameter and states by the rule.
    pub(crate) fn apply<T: Float>(&self, io: &Io<'_>, rule: &impl RowRule<T, N>, s: &mut Scratch<T>) -> Result<()> {
        if let Value::Table(table) = &*io.value(self.param.from)? {
            return self.apply_to_table(io, rule, s, table);
        }
        let grad = io.value(self.grad)?;
        let mut param = self.param.update(io)?;
        let mut states = all(self.states.map(|pair| Ok((pair, pair.update(io)?))))?;
        let width = param.dims().matrix(1).1;
        let mut state = all(states.each_mut().map(|(pair, t)| pair.data_mut::<T>(io, t)))?;
        let param = self.param.data_mut::<T>(io, &mut param)?;
        let Value::Rows(g) = &*grad else {
            let dense = grad.dense().map_err(|e| io.about(self.grad.0, e))?;
            rule.update(param, state, io.data::<T>(self.grad, dense)?);
            return Ok(());
        };
        let values = io.data::<T>(self.grad, &g.value)?;
        let mut table = Table { param, state: &mut state, width };
        if self.sparse == Sparse::EachListed {
            table.update_rows(rule, &g.rows, values);
            return Ok(());
        }
        let (rows, values) = s.merger.merge(&g.rows, values, width);
        match self.sparse {
            Sparse::Every | Sparse::EveryOfTensor if !rows.is_empty() => table.update_all(rule, rows, values, &s.zeros),
            _ => table.update_rows(rule, rows, values),
        }
        Ok(())
    }

    /// Updates the listed rows of a table, and their states, which lie beside them.
    fn apply_to_table<T: Float>(
        &self,
        io: &Io<'_>,
        rule: &impl RowRule<T, N>,
        s: &mut Scratch<T>,
        table: &TableVar,
    ) -> Result<()> {
        let Some(rows) = table.table() else { return Ok(()) };
        self.join_states(io, rows)?;
        let (grad, width) = (io.rows(self.grad)?, table.width());
        let values = io.data::<T>(self.grad, &grad.value)?;
        let of_grad = grad_width(width, rows);
        // What follows the gradient of a row says how often it was shown; otherwise its update is one show.
        let shown = |row: &[T]| match row[width..] {
            [show, click] => Shown { show: show.to_f64() as f32, click: click.to_f64() as f32 },
            _ => Shown { show: 1.0, click: 0.0 },
        };
        let update = |param: &mut [f32], states: &mut [f32], grad: &[T]| {
            let mut states = states.chunks_exact_mut(width);
            let state = std::array::from_fn(|_| bytemuck::cast_slice_mut(states.next().unwrap_or_default()));
            rule.update(bytemuck::cast_slice_mut(param), state, grad);
        };
        let done = if self.sparse == Sparse::EachListed {
            let listed = s.listed.sort(&grad.rows);
            let of = |row: u32| &values[row as usize * of_grad..][..of_grad];
            let all_shown = |at: usize| listed.places(at).iter().map(|row| shown(of(*row))).reduce(sum);
            rows.update(
                &listed.ids,
                |at| all_shown(at).unwrap_or_default(),
                |at, param, states| listed.places(at).iter().for_each(|row| update(param, states, &of(*row)[..width])),
            )
        } else {
            let (ids, sums) = s.merger.merge(&grad.rows, values, of_grad);
            let of = |at: usize| &sums[at * of_grad..][..of_grad];
            rows.update(ids, |at| shown(of(at)), |at, param, states| update(param, states, &of(at)[..width]))
        };
        done.map_err(|e| io.about(self.param.from.0, e))
    }

    /// States lie in the table's rows from the first update on.
    fn join_states(&self, io: &Io<'_>, table: &std::sync::Arc<LocalTable>) -> Result<()> {
        let mut values = all(self.states.map(|pair| io.write(pair.to)))?;
        let mut states: Vec<&mut TableState> = Vec::with_capacity(N);
        for value in &mut values {
            if let Value::Table(TableVar::State(state)) = &mut **value {
                states.push(state);
            }
        }
        table.join(&mut states).map_err(|e| io.about(self.param.from.0, e))
    }

    /// Borrows everything for a step with a dense gradient.
    pub fn tensors<'a>(&self, io: &Io<'a>) -> Result<Tensors<'a, N>> {
        let grad = io.dense(self.grad)?;
        Ok(Tensors { param: self.param.update(io)?, states: all(self.states.map(|pair| pair.update(io)))?, grad })
    }

    /// The elements of what [`Update::tensors`] borrowed.
    pub fn slices<'t, T: Float>(&self, io: &Io<'_>, t: &'t mut Tensors<'_, N>) -> Result<Slices<'t, T, N>> {
        let mut pairs = self.states.iter();
        let state = t.states.each_mut().map(|s| pairs.next().unwrap_or(&self.param).data_mut::<T>(io, s));
        let (param, grad) = (self.param.data_mut(io, &mut t.param)?, io.data(self.grad, &t.grad)?);
        Ok(Slices { param, state: all(state)?, grad })
    }

    /// Runs `work` on the whole parameter and its states, for steps that look at all elements together.
    pub(crate) fn whole<T: Float>(&self, io: &Io<'_>, work: impl FnOnce(&mut [T], [&mut [T]; N])) -> Result<()> {
        let mut param = self.param.update(io)?;
        let mut states = all(self.states.map(|pair| Ok((pair, pair.update(io)?))))?;
        let state = all(states.each_mut().map(|(pair, t)| pair.data_mut::<T>(io, t)))?;
        work(self.param.data_mut::<T>(io, &mut param)?, state);
        Ok(())
    }

    /// The norms of the parameter and of a dense gradient.
    pub(crate) fn norms<T: Float>(&self, io: &Io<'_>) -> Result<(T, T)> {
        let of = |input: In| Ok(simd::sum_of_squares(io.data::<T>(input, &*io.dense(input)?)?).sqrt());
        Ok((of(self.param.from)?, of(self.grad)?))
    }

    /// The kernel of an optimizer that consists of its rule; `rule` reads the scalars of the step.
    pub(crate) fn kernel<T: Float, R: RowRule<T, N>>(
        self,
        rule: impl Fn(&Io<'_>) -> Result<R> + Clone + Send + 'static,
    ) -> Result<Box<dyn Kernel>> {
        let mut scratch = Scratch::<T>::new();
        let scalars = rule.clone();
        checked_kernel(
            move |io| {
                scalars(io)?;
                self.check::<T>(io)
            },
            move |io| self.apply(io, &rule(io)?, &mut scratch),
        )
    }
}

/// How many numbers a gradient has for each row of a table.
fn grad_width(width: usize, table: &LocalTable) -> usize {
    if table.is_told_shows() { width + SHOWN } else { width }
}

/// The shows of a row that a gradient lists twice.
fn sum(one: Shown, other: Shown) -> Shown {
    Shown { show: one.show + other.show, click: one.click + other.click }
}

/// A parameter and its states as tables of rows.
struct Table<'a, 's, T, const N: usize> {
    param: &'a mut [T],
    state: &'a mut [&'s mut [T]; N],
    width: usize,
}

impl<T: Float, const N: usize> Table<'_, '_, T, N> {
    /// Updates the elements of `range`.
    fn update(&mut self, rule: &impl RowRule<T, N>, range: std::ops::Range<usize>, grad: &[T]) {
        let state = self.state.each_mut().map(|s| &mut s[range.clone()]);
        rule.update(&mut self.param[range], state, grad);
    }

    fn update_rows(&mut self, rule: &impl RowRule<T, N>, rows: &[i64], grad: &[T]) {
        for (i, &row) in rows.iter().enumerate() {
            if let Some(&soon) = rows.get(i + simd::AHEAD) {
                let start = soon as usize * self.width;
                simd::prefetch(self.param, start, self.width);
                self.state.iter().for_each(|s| simd::prefetch(s, start, self.width));
            }
            let start = row as usize * self.width;
            self.update(rule, start..start + self.width, &grad[i * self.width..][..self.width]);
        }
    }

    /// Updates the listed rows, which ascend, and all others with a gradient of zero.
    fn update_all(&mut self, rule: &impl RowRule<T, N>, rows: &[i64], grad: &[T], zeros: &[T]) {
        let mut done = 0;
        for (i, &row) in rows.iter().enumerate() {
            let start = row as usize * self.width;
            self.update_absent(rule, done..start, zeros);
            done = start + self.width;
            self.update(rule, start..done, &grad[i * self.width..][..self.width]);
        }
        self.update_absent(rule, done..self.param.len(), zeros);
    }

    fn update_absent(&mut self, rule: &impl RowRule<T, N>, range: std::ops::Range<usize>, zeros: &[T]) {
        let mut start = range.start;
        while start < range.end {
            let end = range.end.min(start + zeros.len());
            self.update(rule, start..end, &zeros[..end - start]);
            start = end;
        }
    }
}

/// All results, or the first error.
fn all<A, const N: usize>(results: [Result<A>; N]) -> Result<[A; N]> {
    let mut failed = None;
    let found = results.map(|r| r.map_err(|e| failed.get_or_insert(e).kind()).ok());
    match failed {
        Some(e) => Err(e),
        None => Ok(found.map(|a| a.expect("found, since nothing failed"))),
    }
}

/// Inference of an optimizer: each output is like its input; states and a dense gradient are as large as the parameter.
pub(crate) fn infer(cx: &mut Infer<'_>, states: &[(&str, &str)]) -> Result<()> {
    let param = cx.float("Param")?;
    let states_in = states.iter().map(|(from, _)| *from);
    for slot in states_in.chain(["Grad"]).filter(|s| cx.has(s)) {
        let ty = cx.input(slot)?;
        let known = ty.kind == VarKind::Tensor && ty.shape.rank() > 0 && param.shape.rank() > 0;
        let (a, b) = (&ty.shape, &param.shape);
        if known && !(a.rank() == b.rank() && a.iter().zip(b.iter()).all(|(a, b)| a.fits(*b))) {
            let what = format!("needs {} and {} of one shape", cx.describe(slot), cx.describe("Param"));
            return Err(cx.shape_error(what));
        }
    }
    for (from, to) in states.iter().chain([&PARAM]) {
        if cx.has(from) {
            cx.same(to, from)?;
        }
    }
    Ok(())
}
