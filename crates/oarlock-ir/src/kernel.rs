//! Kernels: how one is made ([`Prepare`]) and what it sees while it runs ([`Io`]).

use std::cell::{Ref, RefMut};

use oarlock_tensor::{DType, Dims, Element, Pool, RankTable, SelectedRows, Tensor, TensorArray, Value};

use crate::attr_view::AttrView;
use crate::def::Sig;
use crate::error::{Error, Kind, Result};
use crate::frame::Frame;
use crate::runtime::Runtime;
use crate::{EMPTY, Name, Op, Program, Var, fail};

/// An input of a kernel: the index of a value in the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct In(pub usize);

/// An output of a kernel: the index of a value in the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Out(pub usize);

impl Out {
    /// Does the output overwrite this input?
    pub fn is(self, input: In) -> bool {
        self.0 == input.0
    }
}

/// A block that a kernel can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRef(pub usize);

/// The computation of an operator, ready to run. Kernels may keep scratch memory from run to run.
pub trait Kernel: Send {
    /// Does it.
    fn run(&mut self, io: &Io<'_>) -> Result<()>;

    /// Can the kernel be checked beforehand, and then cannot fail? An optimizer can, so that a run changes either all
    /// parameters or none.
    fn can_check(&self) -> bool {
        false
    }

    /// Checks the inputs without writing anything; only asked of a kernel that [can](Kernel::can_check).
    fn check(&self, _io: &Io<'_>) -> Result<()> {
        Ok(())
    }
}

struct FnKernel<F>(F);

impl<F: FnMut(&Io<'_>) -> Result<()> + Send> Kernel for FnKernel<F> {
    fn run(&mut self, io: &Io<'_>) -> Result<()> {
        (self.0)(io)
    }
}

/// A kernel of one function.
pub fn kernel(run: impl FnMut(&Io<'_>) -> Result<()> + Send + 'static) -> Result<Box<dyn Kernel>> {
    Ok(Box::new(FnKernel(run)))
}

struct CheckedKernel<C, F>(C, F);

impl<C, F> Kernel for CheckedKernel<C, F>
where
    C: Fn(&Io<'_>) -> Result<()> + Send,
    F: FnMut(&Io<'_>) -> Result<()> + Send,
{
    fn run(&mut self, io: &Io<'_>) -> Result<()> {
        (self.0)(io)?;
        (self.1)(io)
    }

    fn can_check(&self) -> bool {
        true
    }

    fn check(&self, io: &Io<'_>) -> Result<()> {
        (self.0)(io)
    }
}

/// A kernel that checks its inputs first and then cannot fail.
pub fn checked_kernel(
    check: impl Fn(&Io<'_>) -> Result<()> + Send + 'static,
    run: impl FnMut(&Io<'_>) -> Result<()> + Send + 'static,
) -> Result<Box<dyn Kernel>> {
    Ok(Box::new(CheckedKernel(check, run)))
}

/// Where a plan put the variables of a program.
pub trait Layout {
    /// The program, as it is planned.
    fn program(&self) -> &Program;
    /// The slot of the variable that `name` means in `block`.
    fn slot(&self, block: usize, name: &str) -> Option<usize>;
    /// The declaration of the variable that `name` means in `block`.
    fn var(&self, block: usize, name: &str) -> Option<&Var>;
    /// The slots of the variables declared in `block` itself.
    fn locals(&self, block: usize) -> Vec<usize>;
}

/// The view of `OpDef::prepare`: the operator, its attributes, and where its variables are.
pub struct Prepare<'a> {
    op: &'a Op,
    sig: &'a Sig,
    block: usize,
    layout: &'a dyn Layout,
    redirect: &'a [(Name, usize)],
}

impl<'a> Prepare<'a> {
    /// For an operator of `block`. `redirect` sends outputs that are also inputs to other slots.
    pub fn new(
        op: &'a Op,
        sig: &'a Sig,
        block: usize,
        layout: &'a dyn Layout,
        redirect: &'a [(Name, usize)],
    ) -> Prepare<'a> {
        Prepare { op, sig, block, layout, redirect }
    }

    /// The same place for another operator over the same variables: one of those that a fused operator stands for.
    pub fn of<'b>(&'b self, op: &'b Op, sig: &'b Sig) -> Prepare<'b> {
        Prepare { op, sig, ..*self }
    }

    /// The operator.
    pub fn op(&self) -> &'a Op {
        self.op
    }

    /// The attributes, with defaults.
    pub fn attrs(&self) -> AttrView<'a> {
        self.sig.attrs(self.op)
    }

    /// The program, as it is planned.
    pub fn program(&self) -> &'a Program {
        self.layout.program()
    }

    fn slot_of(&self, name: &Name) -> Result<usize> {
        self.layout.slot(self.block, name).ok_or_else(|| Error::internal(format!("`{name}` has no slot in the plan")))
    }

    /// The one variable of an input slot.
    pub fn input(&self, slot: &str) -> Result<In> {
        match self.maybe_input(slot)? {
            Some(i) => Ok(i),
            None => fail!(Kind::Missing, "`{}` needs input `{slot}`", self.sig.op_type),
        }
    }

    /// The variable of an input slot that may be left out.
    pub fn maybe_input(&self, slot: &str) -> Result<Option<In>> {
        match self.op.inputs.get(slot).first() {
            Some(name) if *name != EMPTY => Ok(Some(In(self.slot_of(name)?))),
            _ => Ok(None),
        }
    }

    /// The variables of an input slot.
    pub fn inputs(&self, slot: &str) -> Result<Vec<In>> {
        self.op.inputs.get(slot).iter().filter(|n| **n != EMPTY).map(|n| Ok(In(self.slot_of(n)?))).collect()
    }

    /// The variables of an input slot by position; `None` for `@EMPTY@`.
    pub fn inputs_by_position(&self, slot: &str) -> Result<Vec<Option<In>>> {
        let find = |n: &Name| if *n == EMPTY { Ok(None) } else { Ok(Some(In(self.slot_of(n)?))) };
        self.op.inputs.get(slot).iter().map(find).collect()
    }

    /// The one variable of an output slot.
    pub fn output(&self, slot: &str) -> Result<Out> {
        match self.maybe_output(slot)? {
            Some(o) => Ok(o),
            None => fail!(Kind::Missing, "`{}` needs output `{slot}`", self.sig.op_type),
        }
    }

    /// The variable of an output slot, if it is wanted.
    pub fn maybe_output(&self, slot: &str) -> Result<Option<Out>> {
        Ok(self.outputs(slot)?.into_iter().next().flatten())
    }

    /// The variables of an output slot by position; `None` where none is wanted.
    pub fn outputs(&self, slot: &str) -> Result<Vec<Option<Out>>> {
        let find = |n: &Name| {
            if *n == EMPTY {
                return Ok(None);
            }
            let redirected = self.redirect.iter().find(|(r, _)| r == n).map(|(_, s)| *s);
            Ok(Some(Out(redirected.map_or_else(|| self.slot_of(n), Ok)?)))
        };
        self.op.outputs.get(slot).iter().map(find).collect()
    }

    /// The declared element type of the first variable of an input slot.
    pub fn dtype(&self, slot: &str) -> Result<DType> {
        self.declared(self.op.inputs.get(slot).first(), slot)
    }

    /// The declared element type of the first variable of an output slot.
    pub fn out_dtype(&self, slot: &str) -> Result<DType> {
        self.declared(self.op.outputs.get(slot).first(), slot)
    }

    fn declared(&self, name: Option<&Name>, slot: &str) -> Result<DType> {
        let var = name.and_then(|n| self.layout.var(self.block, n));
        match var {
            Some(v) => Ok(v.ty().dtype),
            None => fail!(Kind::Missing, "`{}` needs `{slot}`", self.sig.op_type),
        }
    }

    /// The declared element type of an input that must hold f32 or f64.
    pub fn float(&self, slot: &str) -> Result<DType> {
        match self.dtype(slot)? {
            d @ (DType::F32 | DType::F64) => Ok(d),
            d => fail!(
                Kind::DType,
                "`{}` computes in f32 or f64, but `{slot}` = {} is {d}",
                self.sig.op_type,
                self.op.inputs.get(slot)[0]
            ),
        }
    }

    /// The declaration of the first variable of an input slot.
    pub fn var(&self, slot: &str) -> Option<&Var> {
        self.layout.var(self.block, self.op.inputs.get(slot).first()?)
    }

    /// The declarations of the variables of an output slot, by position.
    pub fn out_vars(&self, slot: &str) -> Vec<Option<&'a Var>> {
        self.op.outputs.get(slot).iter().map(|name| self.layout.var(self.block, name)).collect()
    }

    /// A block the operator runs.
    pub fn block(&self, attr: &str) -> Result<BlockRef> {
        Ok(BlockRef(self.attrs().block(attr)?))
    }

    /// The slot of a variable as a sub-block sees it, for operators that name such variables in attributes.
    pub fn in_block(&self, block: BlockRef, name: &str) -> Result<usize> {
        match self.maybe_in_block(block, name) {
            Some(s) => Ok(s),
            None => {
                fail!(Kind::Unknown, "`{}` names `{name}`, which block {} does not know", self.sig.op_type, block.0)
            }
        }
    }

    /// The slot of a variable as a sub-block sees it, if there is such a variable.
    pub fn maybe_in_block(&self, block: BlockRef, name: &str) -> Option<usize> {
        self.layout.slot(block.0, name)
    }

    /// The slots of the variables declared in a sub-block.
    pub fn locals(&self, block: BlockRef) -> Vec<usize> {
        self.layout.locals(block.0)
    }
}

/// Runs blocks of a plan; control flow kernels call it.
pub trait BlockRunner {
    /// Empties the variables that a block must not find from an earlier run.
    fn clear_block(&self, block: usize, frame: &Frame);
    /// Runs the operators of a block, once.
    fn run_block(&self, block: usize, frame: &Frame) -> Result<()>;
}

/// Variables of an operator by slot, for messages.
pub struct OpNames<'a> {
    /// The operator.
    pub op: &'a Op,
    /// Where each variable is.
    pub slots: &'a [(Name, usize)],
}

impl OpNames<'_> {
    /// `` input `X` = fc_0.tmp_0 ``
    fn describe(&self, slot: usize) -> String {
        let name = self.slots.iter().find(|(_, s)| *s == slot).map(|(n, _)| n);
        let Some(name) = name else { return format!("value {slot}") };
        let side = |slots: &crate::Slots, word: &str| {
            slots.iter().find(|(_, args)| args.contains(name)).map(|(s, _)| format!("{word} `{s}` = `{name}`"))
        };
        side(&self.op.inputs, "input")
            .or_else(|| side(&self.op.outputs, "output"))
            .unwrap_or_else(|| format!("`{name}`"))
    }
}

/// The view of a kernel while it runs: values, threads and names.
pub struct Io<'a> {
    frame: &'a Frame,
    blocks: &'a dyn BlockRunner,
    runtime: &'a Runtime,
    names: OpNames<'a>,
}

impl<'a> Io<'a> {
    /// For one operator of a run.
    pub fn new(frame: &'a Frame, blocks: &'a dyn BlockRunner, runtime: &'a Runtime, names: OpNames<'a>) -> Io<'a> {
        Io { frame, blocks, runtime, names }
    }

    /// The values of the run.
    pub fn frame(&self) -> &'a Frame {
        self.frame
    }

    /// Threads and other resources.
    pub fn runtime(&self) -> &'a Runtime {
        self.runtime
    }

    /// Threads to compute with.
    pub fn pool(&self) -> &'a Pool {
        self.runtime.pool()
    }

    /// Runs a block.
    pub fn run_block(&self, block: BlockRef) -> Result<()> {
        self.run_block_with(block, || Ok(()))
    }

    /// Runs a block of which some variables are given values first.
    pub fn run_block_with(&self, block: BlockRef, give: impl FnOnce() -> Result<()>) -> Result<()> {
        self.blocks.clear_block(block.0, self.frame);
        give()?;
        self.blocks.run_block(block.0, self.frame)
    }

    /// Any value.
    pub fn value(&self, input: In) -> Result<Ref<'a, Value>> {
        match self.frame.read(input.0) {
            Some(v) => Ok(v),
            None => Err(self.clash(input.0)),
        }
    }

    /// A dense tensor.
    pub fn dense(&self, input: In) -> Result<Ref<'a, Tensor>> {
        self.project(input, Value::dense)
    }

    /// Selected rows.
    pub fn rows(&self, input: In) -> Result<Ref<'a, SelectedRows>> {
        self.project(input, Value::rows)
    }

    /// A tensor array.
    pub fn array(&self, input: In) -> Result<Ref<'a, TensorArray>> {
        self.project(input, Value::array)
    }

    /// A rank table.
    pub fn rank_table(&self, input: In) -> Result<Ref<'a, RankTable>> {
        self.project(input, Value::rank_table)
    }

    fn project<T>(&self, input: In, get: impl Fn(&Value) -> oarlock_tensor::Result<&T>) -> Result<Ref<'a, T>> {
        let value = self.value(input)?;
        match Ref::filter_map(value, |v| get(v).ok()) {
            Ok(found) => Ok(found),
            Err(value) => Err(self.unusable(input.0, &value, get)),
        }
    }

    #[cold]
    fn unusable<T>(&self, slot: usize, value: &Value, get: impl Fn(&Value) -> oarlock_tensor::Result<&T>) -> Error {
        let var = self.names.describe(slot);
        match (value, get(value)) {
            (Value::Empty, _) => Error::new(
                Kind::Missing,
                format!("`{}` reads {var}, but nothing has written it", self.names.op.op_type),
            )
            .help("feed it, or run the startup program that initialises it"),
            (_, Err(e)) => Error::new(Kind::Argument, format!("`{}`: {var} {e}", self.names.op.op_type)),
            (_, Ok(_)) => Error::internal("a value changed while it was read"),
        }
    }

    #[cold]
    fn clash(&self, slot: usize) -> Error {
        let op = &self.names.op.op_type;
        Error::internal(format!("`{op}` uses {} in two ways at once", self.names.describe(slot)))
    }

    /// Any value, to write. The old value is still there.
    pub fn write(&self, output: Out) -> Result<RefMut<'a, Value>> {
        match self.frame.write(output.0) {
            Some(v) => Ok(v),
            None => Err(self.clash(output.0)),
        }
    }

    /// A dense tensor, to write; its old contents may be there or not.
    pub fn out(&self, output: Out) -> Result<RefMut<'a, Tensor>> {
        Ok(RefMut::map(self.write(output)?, Value::dense_mut))
    }

    /// A dense tensor of this type and these sizes, to write; contents are arbitrary.
    pub fn out_sized(&self, output: Out, dtype: DType, dims: Dims) -> Result<RefMut<'a, Tensor>> {
        let mut t = self.out(output)?;
        t.resize(dtype, dims);
        Ok(t)
    }

    /// A dense tensor to update: its contents are those of `input`, copied there unless both are one variable already.
    pub fn update(&self, input: In, output: Out) -> Result<RefMut<'a, Tensor>> {
        if output.is(input) {
            let value = self.write(output)?;
            return match RefMut::filter_map(value, |v| if let Value::Dense(t) = v { Some(t) } else { None }) {
                Ok(t) => Ok(t),
                Err(value) => Err(self.unusable(input.0, &value, Value::dense)),
            };
        }
        let from = self.dense(input)?;
        let mut to = self.out(output)?;
        to.copy_from(&from);
        Ok(to)
    }

    /// The elements of a tensor; the error names the variable.
    pub fn data<'t, T: Element>(&self, input: In, tensor: &'t Tensor) -> Result<&'t [T]> {
        tensor.data().map_err(|e| self.about(input.0, e))
    }

    /// The elements of a tensor, to write; the error names the variable.
    pub fn data_mut<'t, T: Element>(&self, output: Out, tensor: &'t mut Tensor) -> Result<&'t mut [T]> {
        tensor.data_mut().map_err(|e| self.about(output.0, e))
    }

    /// The first element of a tensor, as f64: a learning rate, a condition, an index.
    pub fn scalar(&self, input: In) -> Result<f64> {
        self.first(input, |t| oarlock_tensor::by_element!(t.dtype(), T => Some(t.data::<T>().ok()?.first()?.to_f64())))
    }

    /// The element of a one-element integer or bool tensor.
    pub fn index(&self, input: In) -> Result<i64> {
        self.first(input, |t| oarlock_tensor::by_element!(t.dtype(), T => Some(t.data::<T>().ok()?.first()?.to_i64())))
    }

    fn first<R>(&self, input: In, of: impl FnOnce(&Tensor) -> Option<R>) -> Result<R> {
        let first = of(&*self.dense(input)?);
        first.ok_or_else(|| self.error(Kind::Shape, input, "has no elements, but one is needed"))
    }

    /// Puts an error about one tensor into words: which operator, which variable.
    #[cold]
    pub fn about(&self, slot: usize, e: oarlock_tensor::Error) -> Error {
        let kind = match e {
            oarlock_tensor::Error::DType { .. } => Kind::DType,
            oarlock_tensor::Error::Lod { .. } => Kind::Lod,
            oarlock_tensor::Error::Count { .. } | oarlock_tensor::Error::Rank(_) => Kind::Shape,
            _ => Kind::Argument,
        };
        Error::new(kind, format!("`{}`: {} {e}", self.names.op.op_type, self.names.describe(slot)))
    }

    /// An error about one input: `` `mul`: input `X` = x {what} ``.
    #[cold]
    pub fn error(&self, kind: Kind, input: In, what: impl std::fmt::Display) -> Error {
        Error::new(kind, format!("`{}`: {} {what}", self.names.op.op_type, self.names.describe(input.0)))
    }

    /// `` input `X` = fc_0.tmp_0 ``: an input as messages name it.
    #[cold]
    pub fn describe(&self, input: In) -> String {
        self.names.describe(input.0)
    }

    /// An error about the operator as a whole.
    #[cold]
    pub fn op_error(&self, kind: Kind, what: impl std::fmt::Display) -> Error {
        Error::new(kind, format!("`{}` {what}", self.names.op.op_type))
    }
}

/// Runs an expression with `$T` standing for f32 or f64, as a plan-time choice: `by_float!(p.float("X")?, T => ...)`.
#[macro_export]
macro_rules! by_float {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            oarlock_tensor::DType::F64 => {
                type $T = f64;
                $body
            }
            _ => {
                type $T = f32;
                $body
            }
        }
    };
}

/// Writes a struct and its `new`, which a definition calls in `prepare`. A row names a field and the slot or attribute that it
/// holds (`input`, `maybe_input`, `inputs`, `output`, `maybe_output`, `outputs`; `bool`, `count`, `f32`, `int`), or gives a type
/// and a value:
///
/// ```text
/// slots! {
///     struct Search(p) {
///         ids: maybe_input "ids",
///         scores: input "scores",
///         beam: count "beam_size",
///         sizes: Vec<i64> = p.attrs().ints("sizes")?,
///     }
/// }
/// ```
#[macro_export]
macro_rules! slots {
    ($(#[$about:meta])* $vis:vis struct $name:ident($p:ident) { $($rows:tt)* }) => {
        $crate::slots!(@rows [$(#[$about])* $vis struct $name] $p {} {} $($rows)*);
    };
    (@rows [$(#[$about:meta])* $vis:vis struct $name:ident] $p:ident { $($fields:tt)* } { $($values:tt)* }) => {
        $(#[$about])*
        $vis struct $name { $($fields)* }

        impl $name {
            /// Reads the slots and attributes of an operator.
            $vis fn new($p: &$crate::Prepare<'_>) -> $crate::Result<$name> {
                Ok($name { $($values)* })
            }
        }
    };
    (
        @rows $head:tt $p:ident { $($fields:tt)* } { $($values:tt)* }
        $(#[$about:meta])* $vis:vis $field:ident: $kind:ident $slot:literal, $($rows:tt)*
    ) => {
        $crate::slots!(
            @rows $head $p
            { $($fields)* $(#[$about])* $vis $field: $crate::slots!(@type $kind), }
            { $($values)* $field: $crate::slots!(@value $kind $p $slot), }
            $($rows)*
        );
    };
    (
        @rows $head:tt $p:ident { $($fields:tt)* } { $($values:tt)* }
        $(#[$about:meta])* $vis:vis $field:ident: $type:ty = $value:expr, $($rows:tt)*
    ) => {
        $crate::slots!(
            @rows $head $p
            { $($fields)* $(#[$about])* $vis $field: $type, }
            { $($values)* $field: $value, }
            $($rows)*
        );
    };
    (@type input) => { $crate::In };
    (@type maybe_input) => { Option<$crate::In> };
    (@type inputs) => { Vec<$crate::In> };
    (@type output) => { $crate::Out };
    (@type maybe_output) => { Option<$crate::Out> };
    (@type outputs) => { Vec<Option<$crate::Out>> };
    (@type bool) => { bool };
    (@type count) => { usize };
    (@type f32) => { f32 };
    (@type int) => { i64 };
    (@value bool $p:ident $name:literal) => { $p.attrs().bool($name)? };
    (@value count $p:ident $name:literal) => { $p.attrs().count($name)? };
    (@value f32 $p:ident $name:literal) => { $p.attrs().f32($name)? };
    (@value int $p:ident $name:literal) => { $p.attrs().int($name)? };
    (@value $kind:ident $p:ident $slot:literal) => { $p.$kind($slot)? };
}
