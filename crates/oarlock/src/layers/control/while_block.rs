//! `While` and `while_loop`.

use oarlock_ir::{Attr, Kind, Op, Result, fail};

use crate::{Net, VarRef};

/// `While(cond, is_test=False, name=None)`: runs its block as long as a condition holds, which the block must update.
#[derive(Debug)]
pub struct While {
    cond: VarRef,
    is_test: bool,
    outer: usize,
}

impl While {
    /// A loop that is not entered yet.
    pub fn new(net: &mut Net, cond: &VarRef) -> Result<While> {
        net.check_condition("a loop", cond)?;
        Ok(While::unchecked(net, cond))
    }

    /// A loop whose condition is written only when it is entered.
    pub(super) fn unchecked(net: &mut Net, cond: &VarRef) -> While {
        net.next_name.take();
        While { cond: cond.clone(), is_test: false, outer: net.block() }
    }

    /// Keeps nothing for a gradient.
    #[must_use]
    pub fn is_test(mut self, is_test: bool) -> While {
        self.is_test = is_test;
        self
    }

    /// Begins the block.
    pub fn enter(&mut self, net: &mut Net) {
        self.outer = net.block();
        net.open_block();
    }

    /// Ends the block and appends the loop.
    #[track_caller]
    pub fn leave(self, net: &mut Net) -> Result<()> {
        let sub_block = net.block();
        let flow = net.flow(&[&self.cond]);
        let (reads, writes) = (net.known_outside(&flow.reads), net.known_outside(&flow.writes));
        net.set_block(self.outer);
        let scopes = net.step_scopes();
        let op = Op::new("while")
            .input("X", &reads)
            .input("Condition", [&self.cond])
            .output("Out", &writes)
            .output("StepScopes", [&scopes])
            .attr("sub_block", Attr::Block(sub_block))
            .attr("is_test", self.is_test);
        net.append_op(op)
    }

    /// The loop with a body.
    #[track_caller]
    pub fn block(mut self, net: &mut Net, body: impl FnOnce(&mut Net) -> Result<()>) -> Result<()> {
        self.enter(net);
        let outer = self.outer;
        net.inside(outer, body)?;
        self.leave(net)
    }
}

impl Net {
    /// `while_loop(cond, body, loop_vars)`: as long as `cond` of the variables holds, `body` makes new values of them. The variables
    /// themselves are updated and returned.
    #[track_caller]
    pub fn while_loop(
        &mut self,
        mut cond: impl FnMut(&mut Net, &[VarRef]) -> Result<VarRef>,
        body: impl FnOnce(&mut Net, &[VarRef]) -> Result<Vec<VarRef>>,
        loop_vars: &[VarRef],
    ) -> Result<Vec<VarRef>> {
        if loop_vars.is_empty() {
            fail!(Kind::Argument, "`while_loop` needs variables that change");
        }
        let holds = cond(self, loop_vars)?;
        While::new(self, &holds)?.block(self, |net| {
            let new = body(net, loop_vars)?;
            if new.len() != loop_vars.len() {
                fail!(
                    Kind::Argument,
                    "the body of `while_loop` returns {} variables for {}",
                    new.len(),
                    loop_vars.len()
                );
            }
            let still = cond(net, &new)?;
            for (value, var) in new.iter().zip(loop_vars) {
                net.assign_into(value, var)?;
            }
            net.assign_into(&still, &holds)
        })?;
        Ok(loop_vars.to_vec())
    }
}
