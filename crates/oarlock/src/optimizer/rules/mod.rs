//! The update rules, one file each, and functions that make optimizers of them. A declaration beside each rule is the class
//! that Python has of it; `cargo xtask codegen` writes it.

use oarlock_ir::{Kind, Result, fail};

use super::Rule;
use crate::declare::Args;

/// Defines a rule's struct with setters on its [`Optimizer`](super::Optimizer), and the function that makes one.
macro_rules! rule {
    (
        $(#[$meta:meta])*
        $ctor:ident ( $($req:ident : $reqty:ty),* ) -> $name:ident
        { $( $(#[$fmeta:meta])* $field:ident : $ty:ty = $default:expr ),* $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone)]
        pub struct $name {
            $( #[allow(missing_docs, reason = "a required argument of the function that makes it")] pub $req: $reqty, )*
            $( $(#[$fmeta])* pub $field: $ty, )*
        }

        $(#[$meta])*
        pub fn $ctor(
            learning_rate: impl Into<$crate::lr::LearningRate>,
            $($req: $reqty),*
        ) -> $crate::optimizer::Optimizer<$name> {
            $crate::optimizer::Optimizer::new($name { $($req,)* $($field: $default),* }, learning_rate)
        }

        impl $crate::optimizer::Optimizer<$name> {
            $(
                $(#[$fmeta])*
                #[must_use]
                pub fn $field(mut self, $field: $ty) -> Self {
                    self.rule.$field = $field;
                    self
                }
            )*
        }
    };
}

/// An update rule that front ends make by its name.
pub struct Declaration {
    /// The name of the rule: the type of its operator.
    pub rule: &'static str,
    /// The class in Python with its arguments: `SGDOptimizer(learning_rate, ...)`.
    pub signature: &'static str,
    /// Documentation, in the form of a layer's.
    pub doc: &'static str,
    /// Makes the rule; the arguments that all optimizers have are read elsewhere.
    pub build: fn(&Args) -> Result<Box<dyn Rule>>,
}

/// Declares a rule: documentation, signature and the rule that its arguments make.
macro_rules! declare {
    ($(#[doc = $doc:literal])+ $name:ident : $signature:literal => |$a:tt| $rule:expr) => {
        /// The class of this rule in Python.
        pub(super) const DECLARED: $crate::optimizer::rules::Declaration = $crate::optimizer::rules::Declaration {
            rule: stringify!($name),
            signature: $signature,
            doc: concat!($($doc, "\n"),+),
            build: |$a| Ok(Box::new($rule)),
        };
    };
}

mod adadelta;
mod adagrad;
mod adam;
mod adamax;
mod decayed_adagrad;
mod dpsgd;
mod ftrl;
mod lamb;
mod lars_momentum;
mod momentum;
mod rmsprop;
mod sgd;

pub use adadelta::{Adadelta, adadelta};
pub use adagrad::{Adagrad, adagrad};
pub use adam::{Adam, adam};
pub use adamax::{Adamax, adamax};
pub use decayed_adagrad::{DecayedAdagrad, decayed_adagrad};
pub use dpsgd::{Dpsgd, dpsgd};
pub use ftrl::{Ftrl, ftrl};
pub use lamb::{Lamb, lamb};
pub use lars_momentum::{LarsMomentum, lars_momentum};
pub use momentum::{Momentum, momentum};
pub use rmsprop::{RmsProp, rmsprop};
pub use sgd::{Sgd, sgd};

/// All rules.
pub const DECLARED: &[Declaration] = &[
    adadelta::DECLARED,
    adagrad::DECLARED,
    adam::DECLARED,
    adamax::DECLARED,
    decayed_adagrad::DECLARED,
    dpsgd::DECLARED,
    ftrl::DECLARED,
    lamb::DECLARED,
    lars_momentum::DECLARED,
    momentum::DECLARED,
    rmsprop::DECLARED,
    sgd::DECLARED,
];

/// The rule of this name, with its settings.
pub fn declared(name: &str, args: &Args) -> Result<Box<dyn Rule>> {
    match DECLARED.iter().find(|declared| declared.rule == name) {
        Some(declared) => (declared.build)(args),
        None => fail!(Kind::Unknown, "there is no optimizer `{name}`"),
    }
}
