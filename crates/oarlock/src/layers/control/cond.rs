//! `conditional_block`, and `cond`, `case`, `switch_case` made of it.

use oarlock_ir::{Attr, Kind, Op, Result, VarKind, fail};
use oarlock_tensor::DType;

use crate::{Net, VarRef};

use super::super::Compare;

/// A block that runs if a condition holds, or if tensors have elements.
#[derive(Debug)]
pub struct CondBlock {
    inputs: Vec<VarRef>,
    is_scalar_condition: bool,
    outer: usize,
}

impl CondBlock {
    /// Runs if `cond`, one bool, is true.
    pub fn when(net: &Net, cond: &VarRef) -> Result<CondBlock> {
        net.check_condition("a conditional block", cond)?;
        Ok(CondBlock { inputs: vec![cond.clone()], is_scalar_condition: true, outer: net.block() })
    }

    /// Runs if `input` has elements.
    pub fn unless_empty(net: &Net, input: &VarRef) -> CondBlock {
        CondBlock { inputs: vec![input.clone()], is_scalar_condition: false, outer: net.block() }
    }

    /// Begins the block.
    pub fn enter(&mut self, net: &mut Net) {
        self.outer = net.block();
        net.open_block();
    }

    /// Ends the block and appends the operator.
    #[track_caller]
    pub fn leave(self, net: &mut Net) -> Result<()> {
        let sub_block = net.block();
        let flow = net.flow(&[]);
        let (reads, writes) = (net.known_outside(&flow.reads), net.known_outside(&flow.writes));
        net.set_block(self.outer);
        let scopes = net.step_scopes();
        let op = Op::new("conditional_block")
            .input("Cond", &self.inputs)
            .input("Input", &reads)
            .output("Out", &writes)
            .output("Scope", [&scopes])
            .attr("sub_block", Attr::Block(sub_block))
            .attr("is_scalar_condition", self.is_scalar_condition);
        net.append_op(op)
    }

    /// The block with its contents.
    #[track_caller]
    pub fn block<T>(mut self, net: &mut Net, body: impl FnOnce(&mut Net) -> Result<T>) -> Result<T> {
        self.enter(net);
        let outer = self.outer;
        let result = net.inside(outer, body)?;
        self.leave(net)?;
        Ok(result)
    }
}

/// Builds a branch and returns its results.
pub type Branch<'a> = Box<dyn FnOnce(&mut Net) -> Result<Vec<VarRef>> + 'a>;

impl Net {
    /// `cond(pred, true_fn, false_fn)`: the results of one branch or of the other; both must return as many.
    #[track_caller]
    pub fn cond<'a>(
        &mut self,
        pred: &VarRef,
        true_fn: impl FnOnce(&mut Net) -> Result<Vec<VarRef>> + 'a,
        false_fn: impl FnOnce(&mut Net) -> Result<Vec<VarRef>> + 'a,
    ) -> Result<Vec<VarRef>> {
        let when_true = self.branch(pred, true_fn)?;
        let not = self.logical_not(pred, Compare::new())?;
        let when_false = self.branch(&not, false_fn)?;
        if when_true.len() != when_false.len() {
            let (t, f) = (when_true.len(), when_false.len());
            fail!(Kind::Argument, "the branches of `cond` return {t} and {f} variables; they must return as many");
        }
        if when_true.is_empty() {
            return Ok(Vec::new());
        }
        let mask = self.cast(pred, DType::I32)?;
        when_false.iter().zip(&when_true).map(|(f, t)| self.select_input(&[f, t], &mask)).collect()
    }

    /// A conditional block whose results are copied out of it.
    #[track_caller]
    fn branch(&mut self, pred: &VarRef, build: impl FnOnce(&mut Net) -> Result<Vec<VarRef>>) -> Result<Vec<VarRef>> {
        CondBlock::when(self, pred)?.block(self, |net| {
            let inner = build(net)?;
            let mut outer = Vec::new();
            for var in &inner {
                let ty = net.var(var)?.ty();
                let copy = net.in_parent(|net| net.generated(ty));
                net.assign_into(var, &copy)?;
                outer.push(copy);
            }
            Ok(outer)
        })
    }

    /// The variable among `inputs` that `mask`, an i32 `[1]`, names.
    #[track_caller]
    fn select_input(&mut self, inputs: &[&VarRef], mask: &VarRef) -> Result<VarRef> {
        let ty = self.var(inputs[0])?.ty();
        let is_array = ty.kind == VarKind::TensorArray;
        if is_array {
            fail!(Kind::Unsupported, "a branch cannot return an array of tensors; write the array inside the branch");
        }
        let out = self.generated(ty);
        let op = Op::new("select_input").input("X", inputs.iter().copied()).input("Mask", [mask]);
        self.append_op(op.output("Out", [&out]))?;
        Ok(out)
    }

    /// `case(pred_fn_pairs, default=None)`: the first branch whose condition holds; without `default`, the last one needs none.
    #[track_caller]
    pub fn case<'a>(
        &mut self,
        mut pairs: Vec<(VarRef, Branch<'a>)>,
        default: Option<Branch<'a>>,
    ) -> Result<Vec<VarRef>> {
        let Some(default) = default.or_else(|| pairs.pop().map(|(_, branch)| branch)) else {
            fail!(Kind::Argument, "`case` needs at least one branch");
        };
        let chain = pairs.into_iter().rev().fold(default, otherwise);
        chain(self)
    }

    /// `switch_case(branch_index, branch_fns, default=None)`: the branch with this number; without `default`, the one with the
    /// largest number stands for all others.
    #[track_caller]
    pub fn switch_case<'a>(
        &mut self,
        index: &VarRef,
        mut branches: Vec<(i64, Branch<'a>)>,
        default: Option<Branch<'a>>,
    ) -> Result<Vec<VarRef>> {
        let index = if self.dtype(index)? == DType::I64 { index.clone() } else { self.cast(index, DType::I64)? };
        let default = match default {
            Some(default) => default,
            None => {
                branches.sort_by_key(|(number, _)| *number);
                match branches.pop() {
                    Some((_, branch)) => branch,
                    None => fail!(Kind::Argument, "`switch_case` needs at least one branch"),
                }
            }
        };
        let mut pairs = Vec::new();
        for (number, branch) in branches {
            let number = self.fill_constant([1], DType::I64, number as f64)?;
            pairs.push((self.equal(&index, &number, Compare::new())?, branch));
        }
        let chain = pairs.into_iter().fold(default, otherwise);
        chain(self)
    }
}

/// A branch if a condition holds, else what was there before.
fn otherwise<'a>(rest: Branch<'a>, (pred, branch): (VarRef, Branch<'a>)) -> Branch<'a> {
    Box::new(move |net| net.cond(&pred, branch, rest))
}
