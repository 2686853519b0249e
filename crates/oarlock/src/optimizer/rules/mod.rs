//! The update rules, one file each, and functions that make optimizers of them.

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
