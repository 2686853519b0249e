//! Common to optimizers and the wrappers around them.

use oarlock_ir::Result;

use super::ParamGrad;
use crate::{Net, VarRef};

/// Something that minimizes a loss: an optimizer, or a wrapper around one. Wrappers can be put around each other.
pub trait Minimize {
    /// Appends the gradient of a loss; returns parameters with their gradients. With checkpoints only those are kept from the
    /// forward pass, and what lies between them is computed again.
    fn backward_from(&mut self, net: &mut Net, loss: &VarRef, checkpoints: &[VarRef]) -> Result<Vec<ParamGrad>>;

    /// Appends what updates parameters by their gradients.
    fn apply_gradients(&mut self, net: &mut Net, pairs: Vec<ParamGrad>) -> Result<()>;

    /// The variable that holds the learning rate in the program that is being built, once there is one.
    fn learning_rate_var(&self, net: &Net) -> Option<&VarRef>;

    /// Appends the gradient of a loss and the updates of all its parameters; returns the parameters with the gradients that were
    /// computed for them.
    #[track_caller]
    fn minimize(&mut self, net: &mut Net, loss: &VarRef) -> Result<Vec<ParamGrad>> {
        let pairs = self.backward_from(net, loss, &[])?;
        self.apply_gradients(net, pairs.clone())?;
        Ok(pairs)
    }
}

impl Minimize for Box<dyn Minimize + Send> {
    fn backward_from(&mut self, net: &mut Net, loss: &VarRef, checkpoints: &[VarRef]) -> Result<Vec<ParamGrad>> {
        (**self).backward_from(net, loss, checkpoints)
    }

    fn apply_gradients(&mut self, net: &mut Net, pairs: Vec<ParamGrad>) -> Result<()> {
        (**self).apply_gradients(net, pairs)
    }

    fn learning_rate_var(&self, net: &Net) -> Option<&VarRef> {
        (**self).learning_rate_var(net)
    }
}
