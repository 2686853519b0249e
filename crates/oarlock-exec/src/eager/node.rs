//! Recorded operators: what a backward pass needs of each.

use std::sync::{Arc, Weak};

use oarlock_ir::{Name, Result};
use oarlock_tensor::{DType, Dims};
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::grad_plan::GradPlan;
use super::memory::Held;
use super::tensor::{EagerTensor, Inner};

/// Called with the gradient of a tensor; returns another one, or `None` to leave it.
pub type Hook = Arc<dyn Fn(&EagerTensor) -> Result<Option<EagerTensor>> + Send + Sync>;

/// A gradient that is no operator's: a Python function, a program.
pub trait CustomGradient: Send + Sync {
    /// Computes the gradients of the inputs from those of the outputs; `None` stands for zeros.
    fn backward(&self, grads: Vec<Option<EagerTensor>>) -> Result<Vec<Option<EagerTensor>>>;
}

/// Where a gradient goes.
#[derive(Clone)]
pub(crate) enum Edge {
    /// To an output of a recorded operator.
    Node(Arc<Node>, usize),
    /// Into the gradient of a tensor that no recorded operator computed.
    Leaf(EagerTensor),
}

/// A recorded operator.
pub(crate) struct Node {
    /// Ascends as operators are recorded, so an operator's number is above those of all it depends on.
    pub(crate) number: u64,
    pub(crate) op_type: Name,
    /// The user's line that called it, where known.
    pub(crate) site: Option<Name>,
    /// Its outputs, as long as something holds them: they receive their gradients.
    pub(crate) outputs: Mutex<SmallVec<[Weak<Inner>; 1]>>,
    pub(crate) hooks: Mutex<Vec<(usize, Hook)>>,
    /// `None` once a backward pass that does not retain the graph went through.
    pub(crate) links: Mutex<Option<Links>>,
}

/// The links of a recorded operator.
#[derive(Clone)]
pub(crate) struct Links {
    pub(crate) work: Work,
    /// By input: where its gradient goes, if it is needed.
    pub(crate) edges: SmallVec<[Option<Edge>; 4]>,
}

/// How the gradients of the inputs are computed.
#[allow(clippy::large_enum_variant, reason = "nearly all are of the large kind, and a box is an allocation per call")]
#[derive(Clone)]
pub(crate) enum Work {
    /// By gradient operators.
    Ops { plan: Arc<GradPlan>, saved: SmallVec<[Saved; 4]>, shapes: SmallVec<[(DType, Dims); 1]> },
    /// By a function.
    Custom(Arc<dyn CustomGradient>),
}

/// An input or output that gradient operators read.
#[derive(Clone)]
pub(crate) struct Saved {
    pub(crate) held: Held,
    /// The tensor and its version, to notice changes in place before the backward pass; `None` where only sizes are read.
    pub(crate) watched: Option<(Weak<Inner>, u32)>,
}

impl Drop for Node {
    /// Drops what only this operator holds of the graph, without recursion: a graph may be a chain of a million operators.
    fn drop(&mut self) {
        let mut edges: Vec<Option<Edge>> = self.links.get_mut().take().into_iter().flat_map(|l| l.edges).collect();
        while let Some(edge) = edges.pop() {
            if let Some(Edge::Node(node, _)) = edge
                && let Some(mut node) = Arc::into_inner(node)
            {
                edges.extend(node.links.get_mut().take().into_iter().flat_map(|l| l.edges));
            }
        }
    }
}
