//! `Switch`: the first case whose condition holds.

use oarlock_ir::{Kind, Result, fail};

use super::super::Compare;
use super::CondBlock;
use crate::{Net, VarRef};

/// `Switch(name=None)`: cases are tried in order; at most one runs.
#[derive(Debug, Default)]
pub struct Switch {
    /// True if no case before holds.
    none_yet: Option<VarRef>,
}

impl Switch {
    /// A switch without cases.
    pub fn new() -> Switch {
        Switch::default()
    }

    /// A case, as a block that is not entered yet.
    #[track_caller]
    pub fn begin_case(&mut self, net: &mut Net, cond: &VarRef) -> Result<CondBlock> {
        let not = net.logical_not(cond, Compare::new())?;
        let (holds, none_yet) = match &self.none_yet {
            None => (cond.clone(), not),
            Some(before) => {
                let none = net.logical_and(before, &not, Compare::new())?;
                (net.logical_and(before, cond, Compare::new())?, none)
            }
        };
        self.none_yet = Some(none_yet);
        CondBlock::when(net, &holds)
    }

    /// The block that runs if no case does; it is not entered yet.
    pub fn begin_default(&mut self, net: &mut Net) -> Result<CondBlock> {
        match &self.none_yet {
            Some(none_yet) => CondBlock::when(net, none_yet),
            None => fail!(Kind::Argument, "a switch needs a case before its default"),
        }
    }

    /// A case with its contents.
    #[track_caller]
    pub fn case(&mut self, net: &mut Net, cond: &VarRef, body: impl FnOnce(&mut Net) -> Result<()>) -> Result<()> {
        self.begin_case(net, cond)?.block(net, body)
    }

    /// Builds the block that runs if no case does.
    #[track_caller]
    pub fn default_case(&mut self, net: &mut Net, body: impl FnOnce(&mut Net) -> Result<()>) -> Result<()> {
        self.begin_default(net)?.block(net, body)
    }
}
