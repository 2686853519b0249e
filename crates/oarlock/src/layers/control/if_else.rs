//! `IfElse`: each row of a batch goes through one of two branches.

use oarlock_ir::{Error, Kind, Op, Result, fail};
use oarlock_tensor::DType;

use super::CondBlock;
use crate::{Net, VarRef};

/// `IfElse(cond, name=None)`: rows where `cond`, a bool `[batch, 1]`, is true go through the true block, the others through the
/// false block; outputs are merged in the old order.
#[derive(Debug)]
pub struct IfElse {
    cond: VarRef,
    prefix: String,
    /// Rows of an input for the true and for the false block.
    inputs: Vec<(VarRef, [VarRef; 2])>,
    /// Outputs of the true and of the false block.
    outputs: [Vec<VarRef>; 2],
    side: Option<Side>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    True = 0,
    False = 1,
}

impl IfElse {
    /// Without blocks yet.
    pub fn new(net: &mut Net, cond: &VarRef) -> IfElse {
        let prefix = net.next_name.take().unwrap_or_else(|| net.names.generate("ifelse"));
        IfElse { cond: cond.clone(), prefix, inputs: Vec::new(), outputs: Default::default(), side: None }
    }

    /// Builds the block of rows for which the condition holds.
    #[track_caller]
    pub fn true_block(&mut self, net: &mut Net, body: impl FnOnce(&mut Net, &mut IfElse) -> Result<()>) -> Result<()> {
        let block = self.enter_true(net);
        self.body(block, net, body)
    }

    /// Builds the block of the other rows.
    #[track_caller]
    pub fn false_block(&mut self, net: &mut Net, body: impl FnOnce(&mut Net, &mut IfElse) -> Result<()>) -> Result<()> {
        let block = self.enter_false(net);
        self.body(block, net, body)
    }

    #[track_caller]
    fn body(
        &mut self,
        block: CondBlock,
        net: &mut Net,
        body: impl FnOnce(&mut Net, &mut IfElse) -> Result<()>,
    ) -> Result<()> {
        let outer = net.parent_block();
        net.inside(outer, |net| body(net, self))?;
        self.leave(block, net)
    }

    /// Begins the true block.
    pub fn enter_true(&mut self, net: &mut Net) -> CondBlock {
        self.enter(net, Side::True)
    }

    /// Begins the false block.
    pub fn enter_false(&mut self, net: &mut Net) -> CondBlock {
        self.enter(net, Side::False)
    }

    fn enter(&mut self, net: &mut Net, side: Side) -> CondBlock {
        self.side = Some(side);
        let mut block = CondBlock::unless_empty(net, &self.cond);
        block.enter(net);
        block
    }

    /// Ends a block.
    #[track_caller]
    pub fn leave(&mut self, block: CondBlock, net: &mut Net) -> Result<()> {
        let side = self.current()?;
        self.side = None;
        if self.outputs[side as usize].is_empty() {
            fail!(Kind::Argument, "a block of an `IfElse` must set output");
        }
        block.leave(net)
    }

    fn current(&self) -> Result<Side> {
        self.side.ok_or_else(|| Error::new(Kind::Argument, "this belongs inside a block of an `IfElse`"))
    }

    /// The rows of `x` that go through the current block.
    #[track_caller]
    pub fn input(&mut self, net: &mut Net, x: &VarRef) -> Result<VarRef> {
        let side = self.current()?;
        if let Some((_, rows)) = self.inputs.iter().find(|(of, _)| of == x) {
            return Ok(rows[side as usize].clone());
        }
        let dtype = net.dtype(x)?;
        let key = format!("ifelse_input{}", self.prefix);
        let (cond, rows) = (self.cond.clone(), net.in_parent(|net| [(); 2].map(|()| net.unique(&key, dtype))));
        let op = Op::new("split_lod_tensor").input("X", [x]).input("Mask", [&cond]);
        let op = op.output("OutTrue", [&rows[0]]).output("OutFalse", [&rows[1]]).attr("level", 0);
        net.in_parent(|net| net.append_op(op))?;
        let chosen = rows[side as usize].clone();
        self.inputs.push((x.clone(), rows));
        Ok(chosen)
    }

    /// Adds outputs of the current block.
    #[track_caller]
    pub fn output(&mut self, net: &mut Net, outs: &[&VarRef]) -> Result<()> {
        let side = self.current()?;
        for out in outs {
            let dtype: DType = net.dtype(out)?;
            let key = format!("{}_output", self.prefix);
            let outside = net.in_parent(|net| net.unique(&key, dtype));
            net.assign_into(out, &outside)?;
            self.outputs[side as usize].push(outside);
        }
        Ok(())
    }

    /// The outputs of both blocks, merged row by row.
    #[track_caller]
    pub fn merge(self, net: &mut Net) -> Result<Vec<VarRef>> {
        let [trues, falses] = self.outputs;
        if trues.is_empty() || falses.is_empty() {
            return Ok(if trues.is_empty() { falses } else { trues });
        }
        if trues.len() != falses.len() {
            let (t, f) = (trues.len(), falses.len());
            fail!(Kind::Argument, "the blocks of an `IfElse` have {t} and {f} outputs; they must have as many");
        }
        let mut merged = Vec::new();
        for (t, f) in trues.iter().zip(&falses) {
            let mut layer = net.layer("merge_lod_tensor");
            let dtype = layer.dtype(t)?;
            let op = Op::new("merge_lod_tensor").input("X", [&self.cond]).input("Mask", [&self.cond]);
            merged.push(layer.out(dtype, op.input("InTrue", [t]).input("InFalse", [f]).attr("level", 0))?);
        }
        Ok(merged)
    }
}
