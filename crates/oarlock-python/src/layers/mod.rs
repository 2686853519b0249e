//! The layers by name: each row converts the arguments of Fluid's signature and calls the layer.

mod dense;
mod image;
mod loss;
mod schedule;
mod sequence;
mod shape;

use oarlock::{Net, VarRef};
use pyo3::PyResult;

use crate::args::Args;
use crate::builder::Made;

/// A layer that Python can call.
pub(crate) struct Layer {
    /// Fluid's name.
    pub(crate) name: &'static str,
    /// Builds it.
    pub(crate) build: fn(&mut Net, &Args<'_>) -> PyResult<Made>,
}

/// `"fluid name" => |net, a| our call;` and so on.
macro_rules! layers {
    ($($name:literal => |$net:ident, $a:ident| $body:expr;)*) => {
        pub(super) const LAYERS: &[$crate::layers::Layer] = &[$(
            $crate::layers::Layer {
                name: $name,
                build: |$net, $a| {
                    use $crate::error::IntoPy;
                    Ok($body.py()?.into())
                },
            }
        ),*];
    };
}
use layers;

const FILES: [&[Layer]; 6] =
    [dense::LAYERS, image::LAYERS, loss::LAYERS, schedule::LAYERS, sequence::LAYERS, shape::LAYERS];

impl Layer {
    /// Does an argument `name` name the layer, and not a variable?
    pub(crate) fn takes_name(&self) -> bool {
        !matches!(self.name, "data" | "fluid.data")
    }
}

/// The layer of this name.
pub(crate) fn find(name: &str) -> Option<&'static Layer> {
    FILES.iter().copied().flatten().find(|layer| layer.name == name)
}

/// The names of all layers.
pub(crate) fn names() -> Vec<&'static str> {
    FILES.iter().copied().flatten().map(|layer| layer.name).collect()
}

/// A list of references, as layers of several inputs take them.
fn refs(vars: &[VarRef]) -> Vec<&VarRef> {
    vars.iter().collect()
}
