//! The building context: programs, names, roles. What Fluid keeps in globals, a [`Net`] owns.

use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;

use oarlock_ir::{Error, Kind, Name, Op, Program, Registry, Result, Role, Shape, Var, VarKind, VarType, fail};
use oarlock_tensor::DType;

use crate::names::NameScopes;
use crate::{CallSite, Initializer, UniqueNames, VarRef};

/// A network being built: a main program with the network itself, a startup program that gives parameters their first values,
/// and everything needed to add to them.
///
/// Layers are methods. What Fluid requires of a layer are its arguments; what Fluid gives a default is set on the layer's options:
///
/// ```
/// # use oarlock::prelude::*;
/// # fn main() -> Result<()> {
/// let mut net = Net::new();
/// let x = net.data("x", Data::shape([13]))?;
/// let hidden = net.fc(&x, Fc::size(8).act("relu"))?;
/// let y = net.fc(&hidden, Fc::size(1))?;
/// assert_eq!(y.name().as_str(), "fc_1.tmp_1");
/// # Ok(())
/// # }
/// ```
pub struct Net {
    /// The network.
    pub main: Program,
    /// Gives parameters and counters their first values; run once before training.
    pub startup: Program,
    /// Numbers layers and variables.
    pub names: UniqueNames,
    registry: Arc<Registry>,
    /// The block of the main program to which operators are appended.
    block: usize,
    role: Role,
    role_var: Vec<String>,
    scopes: NameScopes,
    /// The user's line that is building now; set while a layer that calls other layers runs.
    pub(crate) site: Option<CallSite>,
    /// The user's name for the next layer.
    pub(crate) next_name: Option<String>,
    /// Limits on gradients of variables that are not parameters.
    pub(crate) error_clips: HashMap<Name, (f32, f32)>,
}

impl Net {
    /// Empty programs, with all operators of this crate's [`registry`](crate::registry).
    pub fn new() -> Net {
        Net::with_registry(Arc::new(crate::registry()))
    }

    /// Empty programs, with these operators.
    pub fn with_registry(registry: Arc<Registry>) -> Net {
        Net {
            main: Program::new(),
            startup: Program::new(),
            names: UniqueNames::new(),
            registry,
            block: 0,
            role: Role::FORWARD,
            role_var: Vec::new(),
            scopes: NameScopes::new(),
            site: None,
            next_name: None,
            error_clips: HashMap::new(),
        }
    }

    /// The operators it knows.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Sets the `random_seed` of both programs; 0 means random.
    pub fn seed(&mut self, seed: i32) {
        self.main.random_seed = seed;
        self.startup.random_seed = seed;
    }

    /// The block to which operators are appended.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Builds elsewhere in the main program from now on.
    pub fn set_block(&mut self, block: usize) {
        self.block = block;
    }

    /// Builds in other programs until the end of `build`, as `fluid.program_guard` does.
    pub fn with_programs<T>(
        &mut self,
        main: &mut Program,
        startup: &mut Program,
        build: impl FnOnce(&mut Net) -> T,
    ) -> T {
        std::mem::swap(&mut self.main, main);
        std::mem::swap(&mut self.startup, startup);
        let block = std::mem::replace(&mut self.block, 0);
        let result = build(self);
        self.block = block;
        std::mem::swap(&mut self.main, main);
        std::mem::swap(&mut self.startup, startup);
        result
    }

    /// Names with another generator until the end of `build`, as `fluid.unique_name.guard` does.
    pub fn with_names<T>(&mut self, names: UniqueNames, build: impl FnOnce(&mut Net) -> T) -> T {
        let outer = std::mem::replace(&mut self.names, names);
        let result = build(self);
        self.names = outer;
        result
    }

    /// Marks the operators of `build` with a scope, as `fluid.name_scope` does; names of variables do not change.
    pub fn name_scope<T>(&mut self, name: &str, build: impl FnOnce(&mut Net) -> T) -> T {
        let outer = self.enter_scope(name);
        let result = build(self);
        self.leave_scope(outer);
        result
    }

    /// Begins a scope of operators; returns what [`Net::leave_scope`] needs. For front ends with blocks of their own.
    pub fn enter_scope(&mut self, name: &str) -> String {
        self.scopes.enter(name)
    }

    /// Ends a scope of operators.
    pub fn leave_scope(&mut self, outer: String) {
        self.scopes.leave(outer);
    }

    /// Gives the operators of `build` a role, and says on which parameter and gradient they work.
    pub fn with_role<T>(&mut self, role: Role, role_var: Vec<String>, build: impl FnOnce(&mut Net) -> T) -> T {
        let outer = (std::mem::replace(&mut self.role, role), std::mem::replace(&mut self.role_var, role_var));
        let result = build(self);
        (self.role, self.role_var) = outer;
        result
    }

    /// Names the next layer: its temporaries and parameters start with this name instead of a numbered layer type.
    pub fn named(&mut self, name: impl Into<String>) -> &mut Net {
        self.next_name = Some(name.into());
        self
    }

    /// Forgets a name that no layer took. For front ends: a layer that names nothing must not name the next one.
    pub fn take_name(&mut self) {
        self.next_name = None;
    }

    /// Records this place as the maker of the operators that follow, instead of the line that calls a layer. For front ends.
    pub fn set_call_site(&mut self, site: Option<CallSite>) {
        self.site = site;
    }

    /// Records the caller as the maker of everything that `build` appends: closures do not see through to their caller.
    #[track_caller]
    pub(crate) fn located<T>(&mut self, build: impl FnOnce(&mut Net) -> T) -> T {
        self.located_at(Location::caller(), build)
    }

    /// Records a place as the maker of everything that `build` appends.
    pub(crate) fn located_at<T>(&mut self, here: &Location<'_>, build: impl FnOnce(&mut Net) -> T) -> T {
        let outer = self.site.clone();
        self.site.get_or_insert_with(|| here.into());
        let result = build(self);
        self.site = outer;
        result
    }

    /// The variable behind a handle.
    pub fn var(&self, var: &VarRef) -> Result<&Var> {
        self.main.expect_var(var.block(), var.name())
    }

    /// The variable behind a handle, to change.
    pub fn var_mut(&mut self, var: &VarRef) -> Result<&mut Var> {
        self.main.expect_var(var.block(), var.name())?;
        self.main.find_var_mut(var.block(), var.name()).ok_or_else(|| Error::internal("the variable was found before"))
    }

    /// The element type of a variable.
    pub fn dtype(&self, var: &VarRef) -> Result<DType> {
        Ok(self.var(var)?.ty().dtype)
    }

    /// The sizes of a variable.
    pub fn shape(&self, var: &VarRef) -> Result<Shape> {
        Ok(self.var(var)?.shape.clone())
    }

    /// A handle on the variable that `name` means where building is now.
    pub fn find(&self, name: &str) -> Result<VarRef> {
        match self.main.resolve(self.block, name) {
            Some(block) => Ok(VarRef::new(name, block)),
            None => fail!(Kind::Unknown, "there is no variable `{name}` in block {} or around it", self.block),
        }
    }

    /// No gradient flows into `var` from now on (`var.stop_gradient = True`).
    pub fn stop_gradient(&mut self, var: &VarRef) -> Result<()> {
        self.var_mut(var)?.meta.stop_gradient = true;
        Ok(())
    }

    /// Declares a variable in the current block.
    pub fn declare(&mut self, var: Var) -> VarRef {
        let handle = VarRef::new(&var.name, self.block);
        self.main.block_mut(self.block).set_var(var);
        handle
    }

    /// Declares a variable without a layer: `_generated_var_0`, ...
    pub(crate) fn generated(&mut self, ty: VarType) -> VarRef {
        let name = self.names.generate("_generated_var");
        self.declare(Var::new(name, ty))
    }

    /// Declares a variable of no known size: `key_0`, `key_1`, ... Inference sets its sizes.
    pub(crate) fn unique(&mut self, key: &str, dtype: DType) -> VarRef {
        let name = self.names.generate(key);
        self.declare(Var::new(name, VarType::tensor(dtype, Shape::default())))
    }

    /// Declares a variable that outlives a run in block 0 of both programs, and puts the operator of its first value in front of
    /// the startup program. A parameter that several layers share is initialised once.
    pub(crate) fn global(&mut self, mut var: Var, first: &Initializer) -> Result<VarRef> {
        var.persistable = true;
        let handle = VarRef::new(&var.name, 0);
        let shared = var.meta.is_parameter && self.is_initialized(&var.name);
        let op = first.op(&var, self.startup.random_seed)?;
        self.main.global_mut().set_var(var.clone());
        self.startup.global_mut().set_var(var);
        if !shared {
            self.prepend_to_startup(op)?;
        }
        Ok(handle)
    }

    fn is_initialized(&self, name: &Name) -> bool {
        self.startup.global().ops.iter().any(|op| op.outputs.args().any(|n| n == name))
    }

    fn prepend_to_startup(&mut self, op: Op) -> Result<()> {
        let op = self.stamp(op, Role::FORWARD, Vec::new());
        oarlock_ir::insert_op(&mut self.startup, 0, 0, op, &self.registry)
    }

    /// Appends an operator to the startup program.
    pub(crate) fn append_to_startup(&mut self, op: Op) -> Result<()> {
        let op = self.stamp(op, Role::FORWARD, Vec::new());
        oarlock_ir::append_op(&mut self.startup, 0, op, &self.registry)
    }

    /// Appends an operator to the current block; sets the types of its outputs.
    #[track_caller]
    pub fn append_op(&mut self, op: Op) -> Result<()> {
        self.insert_op(self.main.block(self.block).ops.len(), op)
    }

    /// Inserts an operator into the current block; sets the types of its outputs.
    #[track_caller]
    pub fn insert_op(&mut self, at: usize, op: Op) -> Result<()> {
        let here = Location::caller();
        let outer = self.site.clone();
        self.site.get_or_insert_with(|| here.into());
        let op = self.stamp(op, self.role, self.role_var.clone());
        self.site = outer;
        oarlock_ir::insert_op(&mut self.main, self.block, at, op, &self.registry)
    }

    /// Adds the attributes every operator carries.
    fn stamp(&self, mut op: Op, role: Role, role_var: Vec<String>) -> Op {
        op.attrs.set("op_role", role.0);
        op.attrs.set("op_role_var", role_var);
        op.attrs.set("op_namescope", self.scopes.path());
        op.attrs.set("op_callstack", self.site.as_ref().map_or(Vec::new(), CallSite::callstack));
        op.attrs.set("op_device", "");
        op.site = self.site.as_ref().map(|s| s.to_string().into());
        op
    }
}

impl Default for Net {
    fn default() -> Net {
        Net::new()
    }
}

/// The kinds of variables that only operators understand have no sizes and no elements; f32 stands in their declaration.
pub(crate) fn opaque(kind: VarKind) -> VarType {
    VarType::tensor(DType::F32, Shape::default()).with_kind(kind)
}
