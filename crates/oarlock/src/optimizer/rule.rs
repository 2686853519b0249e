//! The definition of an update rule.

use oarlock_ir::Attr;
use oarlock_tensor::DType;

/// How an optimizer updates a parameter: an operator, its attributes and what it remembers.
pub trait Rule: Send {
    /// The operator.
    fn op_type(&self) -> &'static str;

    /// The state of each parameter.
    fn states(&self) -> Vec<State> {
        Vec::new()
    }

    /// Attributes of the operator that updates this parameter.
    fn attrs(&self, param: &str) -> Vec<(&'static str, Attr)>;

    /// Does the operator read the learning rate?
    fn reads_rate(&self) -> bool {
        true
    }

    /// Does the operator take row-sparse gradients?
    fn takes_rows(&self) -> bool {
        true
    }

    /// Can it train a table of which no one sees all rows, because each row depends on itself alone?
    fn trains_rows_alone(&self) -> bool {
        self.takes_rows()
    }

    /// The change of a state after all updates.
    fn advance(&self) -> Option<Advance> {
        None
    }
}

impl Rule for Box<dyn Rule> {
    fn op_type(&self) -> &'static str {
        (**self).op_type()
    }

    fn states(&self) -> Vec<State> {
        (**self).states()
    }

    fn attrs(&self, param: &str) -> Vec<(&'static str, Attr)> {
        (**self).attrs(param)
    }

    fn reads_rate(&self) -> bool {
        (**self).reads_rate()
    }

    fn takes_rows(&self) -> bool {
        (**self).takes_rows()
    }

    fn trains_rows_alone(&self) -> bool {
        (**self).trains_rows_alone()
    }

    fn advance(&self) -> Option<Advance> {
        (**self).advance()
    }
}

/// Something an optimizer remembers of a parameter.
#[derive(Debug, Clone)]
pub struct State {
    /// Part of the variable's name: `velocity` gives `fc_0.w_0_velocity_0`.
    pub kind: &'static str,
    /// The slot that reads it.
    pub slot: &'static str,
    /// The slot that writes it, if the operator does.
    pub out: Option<&'static str>,
    /// Its first value.
    pub first: f64,
    /// One number, not one per element of the parameter.
    pub single: bool,
    /// Its element type; `None` for the parameter's.
    pub dtype: Option<DType>,
}

impl State {
    /// As large as the parameter, first zero.
    pub(crate) fn like_param(kind: &'static str, slot: &'static str, out: &'static str) -> State {
        State { kind, slot, out: Some(out), first: 0.0, single: false, dtype: None }
    }

    /// One number.
    pub(crate) fn one(kind: &'static str, slot: &'static str, out: Option<&'static str>, first: f64) -> State {
        State { kind, slot, out, first, single: true, dtype: None }
    }

    /// With another first value.
    pub(crate) fn starting_at(self, first: f64) -> State {
        State { first, ..self }
    }
}

/// A state that is multiplied after all updates, by operators of their own.
#[derive(Debug, Clone, Copy)]
pub struct Advance {
    /// Which state.
    pub kind: &'static str,
    /// By what.
    pub factor: f64,
    /// The name scope of the operators.
    pub scope: &'static str,
}
