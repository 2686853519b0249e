//! Gradient operators as values: what they read and write, and their kernel; the rest follows from the forward operator.

use crate::def::{OpDef, Sig, SlotSig, Traits};
use crate::error::Result;
use crate::grad::Grad;
use crate::infer::Infer;
use crate::kernel::{Kernel, Prepare};

/// A gradient operator. The registry makes it the gradient of its forward operator, unless that defines [`OpDef::grad`].
///
/// ```text
/// const GRAD: GradOp = GradOp::of(&Relu, "relu_grad(Out, Out@GRAD) -> X@GRAD")
///     .doc("X@GRAD = Out@GRAD where Out > 0, else 0")
///     .infer(|cx| cx.same("X@GRAD", "Out"))
///     .kernel(|p| ...);
/// ```
pub struct GradOp {
    forward: &'static dyn OpDef,
    call: &'static str,
    doc: &'static str,
    positional: bool,
    traits: Traits,
    infer: fn(&mut Infer<'_>) -> Result<()>,
    grad: fn(&mut Grad<'_>) -> Result<()>,
    kernel: fn(&Prepare<'_>) -> Result<Box<dyn Kernel>>,
}

impl GradOp {
    /// A gradient operator of `forward`. `call` is its type with its slots, as in `relu_grad(Out, Out@GRAD) -> X@GRAD`; they
    /// mean what [`Sig::grad_of`] says.
    pub const fn of(forward: &'static dyn OpDef, call: &'static str) -> GradOp {
        GradOp {
            forward,
            call,
            doc: "",
            positional: false,
            traits: Traits::NONE,
            infer: |cx| cx.infer_grads(),
            grad: |g| g.emit_gradient(),
            kernel: |p| Err(crate::Error::internal(format!("`{}` has no kernel", p.op().op_type))),
        }
    }

    /// With its formula, for the documentation.
    pub const fn doc(self, doc: &'static str) -> GradOp {
        GradOp { doc, ..self }
    }

    /// The forward operator leaves `@EMPTY@` for gradients that are not needed, because their positions in a slot matter.
    pub const fn positional(self) -> GradOp {
        GradOp { positional: true, ..self }
    }

    /// With what passes may assume of it.
    pub const fn traits(self, traits: Traits) -> GradOp {
        GradOp { traits, ..self }
    }

    /// With inference of its own; without it, each `S@GRAD` is like the `S` that the operator reads.
    pub const fn infer(self, infer: fn(&mut Infer<'_>) -> Result<()>) -> GradOp {
        GradOp { infer, ..self }
    }

    /// With a gradient of its own that is not a `GradOp`.
    pub const fn grad(self, grad: fn(&mut Grad<'_>) -> Result<()>) -> GradOp {
        GradOp { grad, ..self }
    }

    /// The type of the operator whose gradient it is.
    pub(crate) fn forward_type(&self) -> &'static str {
        self.forward.sig().op_type
    }

    /// Emits it for the forward operator of `g`.
    pub(crate) fn emit(&self, g: &mut Grad<'_>) -> Result<()> {
        if !self.positional {
            return g.emit_for(self);
        }
        let sig = self.sig();
        let names = |slots: &[SlotSig]| slots.iter().map(|s| s.name).collect::<Vec<_>>();
        g.emit_keeping(sig.op_type, &names(&sig.inputs), &names(&sig.outputs))
    }

    /// With its kernel, see [`OpDef::prepare`].
    pub const fn kernel(self, kernel: fn(&Prepare<'_>) -> Result<Box<dyn Kernel>>) -> GradOp {
        GradOp { kernel, ..self }
    }
}

impl OpDef for GradOp {
    fn sig(&self) -> Sig {
        let (head, writes) = self.call.split_once(") -> ").unwrap_or((self.call, ""));
        let (op_type, reads) = head.split_once('(').unwrap_or((head, ""));
        let names = |list: &'static str| list.split(',').map(str::trim).filter(|n| !n.is_empty()).collect::<Vec<_>>();
        Sig::new(op_type, self.doc).grad_of(&self.forward.sig(), &names(reads), &names(writes)).traits(self.traits)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        (self.infer)(cx)
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        (self.kernel)(p)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        (self.grad)(g)
    }

    fn as_gradient(&'static self) -> Option<&'static GradOp> {
        Some(self)
    }
}
