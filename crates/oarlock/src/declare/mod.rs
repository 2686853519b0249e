//! Declarations of layers: Fluid's signature, the documentation of every argument, an example, and the function that builds it.
//!
//! A declaration stands beside its layer in `layers/`, in the form
//!
//! ```text
//! declare! {
//!     /// What it computes, in a sentence.
//!     ///
//!     /// Args:
//!     ///     x (Variable): any shape.
//!     ///
//!     /// Returns:
//!     ///     Variable: like ``x``.
//!     ///
//!     /// Example:
//!     ///     >>> fluid.layers.relu(fluid.data("x", [None, 3])).shape
//!     ///     (-1, 3)
//!     "nn.relu(x, name=None)" => |net, a| net.relu(&a.var("x")?);
//! }
//! ```
//!
//! `cargo xtask codegen` writes the Python functions, their types and `docs/api/` from it. Front ends find a layer by its name
//! ([`find`]) and pass [`Args`]: they know no layer themselves.

mod arg;
mod args;

use std::collections::HashMap;
use std::sync::OnceLock;

use oarlock_ir::Result;

pub use arg::{Arg, Predicate};
pub use args::Args;

use crate::{Net, VarRef};

/// A layer that front ends can call by name.
pub struct Declaration {
    /// Module and signature in Python, such as `nn.relu(x, name=None)`; the module is relative to `fluid.layers`.
    pub signature: &'static str,
    /// Documentation: a summary, `Args:`, `Returns:` and an `Example:`.
    pub doc: &'static str,
    /// Appends its operators.
    pub build: fn(&mut Net, &Args) -> Result<Made>,
}

impl Declaration {
    /// Module and name: `nn.relu`.
    pub fn path(&self) -> &'static str {
        self.signature.split('(').next().unwrap_or_default()
    }

    /// The name by which front ends call it: `relu`, or `fluid.data` for a function outside `fluid.layers`.
    pub fn name(&self) -> &'static str {
        let path = self.path();
        match path.strip_prefix("fluid.") {
            Some(_) => path,
            None => path.rsplit('.').next().unwrap_or_default(),
        }
    }

    /// Builds the layer. An argument `name` names the layer, unless its declaration reads it as the name of a variable.
    #[track_caller]
    pub fn call(&self, net: &mut Net, args: &Args) -> Result<Made> {
        if let Some(name) = args.opt_str("name")?.filter(|_| self.takes_name()) {
            net.named(name);
        }
        let made = (self.build)(net, args);
        net.take_name();
        let made = made?;
        if let (Made::One(made), Some(stop)) = (&made, args.opt("stop_gradient", Args::bool)?) {
            net.var_mut(made)?.meta.stop_gradient = stop;
        }
        match (made, args.opt_var("out")?) {
            // Layers that read `out` themselves return it.
            (Made::One(made), Some(out)) if made != out => {
                net.assign_into(&made, &out)?;
                Ok(Made::One(out))
            }
            (made, _) => Ok(made),
        }
    }

    fn takes_name(&self) -> bool {
        !matches!(self.name(), "data" | "fluid.data")
    }
}

/// The variables that a layer returns.
#[derive(Debug, Clone)]
pub enum Made {
    /// None.
    Nothing,
    /// One.
    One(VarRef),
    /// Several, each with its meaning.
    Tuple(Vec<Made>),
    /// A list of any length.
    List(Vec<VarRef>),
}

impl From<VarRef> for Made {
    fn from(v: VarRef) -> Made {
        Made::One(v)
    }
}

impl From<()> for Made {
    fn from((): ()) -> Made {
        Made::Nothing
    }
}

impl From<Vec<VarRef>> for Made {
    fn from(v: Vec<VarRef>) -> Made {
        Made::List(v)
    }
}

impl<const N: usize> From<[VarRef; N]> for Made {
    fn from(vars: [VarRef; N]) -> Made {
        Made::Tuple(vars.into_iter().map(Made::One).collect())
    }
}

impl From<(VarRef, VarRef)> for Made {
    fn from((a, b): (VarRef, VarRef)) -> Made {
        [a, b].into()
    }
}

impl From<(VarRef, VarRef, VarRef)> for Made {
    fn from((a, b, c): (VarRef, VarRef, VarRef)) -> Made {
        [a, b, c].into()
    }
}

/// All layers, in the order of the files.
pub fn all() -> impl Iterator<Item = &'static Declaration> {
    crate::layers::DECLARED.iter().copied().flatten().chain(crate::lr::DECLARED)
}

/// The layer of this name.
pub fn find(name: &str) -> Option<&'static Declaration> {
    static BY_NAME: OnceLock<HashMap<&'static str, &'static Declaration>> = OnceLock::new();
    BY_NAME.get_or_init(|| all().map(|layer| (layer.name(), layer)).collect()).get(name).copied()
}

/// References to variables, as layers of several inputs take them.
pub(crate) fn refs(vars: &[VarRef]) -> Vec<&VarRef> {
    vars.iter().collect()
}

/// Declares layers: documentation, signature and build function, separated by semicolons. See the [module](self).
macro_rules! declare {
    ($($(#[doc = $doc:literal])+ $signature:literal => |$net:ident, $a:ident| $body:expr;)*) => {
        /// The layers of this file.
        pub(crate) const DECLARED: &[$crate::declare::Declaration] = &[$(
            $crate::declare::Declaration {
                signature: $signature,
                doc: concat!($($doc, "\n"),+),
                build: |$net, $a| Ok($crate::declare::Made::from($body?)),
            }
        ),*];
    };
}
pub(crate) use declare;
