//! Gradients of gradients: how the operators that compute them are made, and all of those that work element by element.
//!
//! For an operator with inputs X and Y and result Out, `DDX` and `DDY` are the gradients that reach `X@GRAD` and `Y@GRAD` of its
//! gradient operator. An operator's file gives the formulas ([`DoubleGradient`]); everything else is here.

use std::marker::PhantomData;

use oarlock_ir::{AttrView, EMPTY, Grad, In, Infer, Io, Kernel, Op, OpDef, Out, Prepare, Result, Sig, VarKind};
use oarlock_ir::{by_float, grad_name, kernel};
use oarlock_tensor::{Dims, Float, Tensor};

use crate::broadcast::{Spread, spread};

/// The slots of a gradient operator's gradient, by where their variables come from.
pub struct Places<'a> {
    /// Its inputs: inputs of the gradient operator, or its outputs.
    pub reads: &'a [(&'a str, &'a str)],
    /// The gradients it reads: those of outputs of the gradient operator.
    pub grads: &'a [(&'a str, &'a str)],
    /// Its outputs: gradients of inputs of the gradient operator.
    pub writes: &'a [(&'a str, &'a str)],
}

/// Emits the gradient of the gradient operator `g` is asked for, with its attributes.
pub fn emit_from(g: &mut Grad<'_>, op_type: &str, places: &Places<'_>) -> Result<()> {
    let first = g.op();
    let mut op = Op::new(op_type);
    op.attrs = first.attrs.clone();
    op.site = first.site.clone();
    for (slot, from) in places.reads {
        let args = match first.inputs.get(from) {
            [] => first.outputs.get(from),
            args => args,
        };
        op.inputs.set(*slot, args.to_vec());
    }
    for (slot, of) in places.grads {
        op.inputs.set(*slot, first.outputs.get(of).iter().map(|n| grad_name(n)).collect());
    }
    for (slot, of) in places.writes {
        let mut grads = g.input_grads(of);
        grads.retain(|n| *n != EMPTY);
        op.outputs.set(*slot, grads);
    }
    g.push(op)
}

/// The values that belong to one element of the result; 0 where an operator does not read a slot or it is empty.
#[derive(Clone, Copy)]
pub struct Point<T> {
    /// An element of `X`.
    pub x: T,
    /// An element of `Y`.
    pub y: T,
    /// An element of `Out`.
    pub out: T,
    /// Gradient of `Out`.
    pub dout: T,
    /// Gradient of `X`.
    pub dx: T,
    /// Gradient of the gradient of `X`.
    pub ddx: T,
    /// Gradient of the gradient of `Y`.
    pub ddy: T,
    /// Attribute `alpha`, where the operator has one.
    pub alpha: T,
}

/// A tensor that an element belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Of {
    /// `X`.
    X,
    /// `Y`.
    Y,
    /// The result.
    Out,
}

/// The gradient of a gradient operator.
pub trait DoubleGradient: Send + Sync + 'static {
    /// Its type.
    const TYPE: &'static str;
    /// The formula, for the documentation.
    const DOC: &'static str;
    /// Its inputs besides `DDX` and `DDY`: some of `X`, `Y`, `Out`, `DOut` and `DX`.
    const READS: &'static [&'static str];
    /// Its outputs, and of which tensor's size that is.
    const WRITES: &'static [(&'static str, Of)];
    /// Has Y and `DDY`.
    const BINARY: bool = false;
    /// The attribute that is `Point::alpha`.
    const ALPHA: Option<f32> = None;

    /// The terms that one element of the result adds to each of `WRITES`.
    fn values<T: Float>(p: Point<T>) -> [T; 3];
}

/// The tensor that a slot is of.
fn of(slot: &str) -> Of {
    match slot {
        "X" | "DX" | "DDX" => Of::X,
        "Y" | "DDY" => Of::Y,
        _ => Of::Out,
    }
}

/// Emits the operator for a gradient operator that reads `X`, `Y`, `Out`, `Out@GRAD` and writes `X@GRAD`, `Y@GRAD`.
pub fn emit<S: DoubleGradient>(g: &mut Grad<'_>) -> Result<()> {
    let read = |slot: &&'static str| match *slot {
        "DOut" => ("DOut", "Out@GRAD"),
        "DX" => ("DX", "X@GRAD"),
        other => (other, other),
    };
    let reads: Vec<_> = S::READS.iter().map(read).collect();
    let grads = [("DDX", "X@GRAD"), ("DDY", "Y@GRAD")];
    let write = |(slot, _): &(&'static str, Of)| {
        let input = match *slot {
            "DDOut" => "Out@GRAD",
            "DOut" => "Out",
            "DX" => "X",
            other => other.strip_suffix("@GRAD").unwrap_or(other),
        };
        (*slot, input)
    };
    let writes: Vec<_> = S::WRITES.iter().map(write).collect();
    emit_from(g, S::TYPE, &Places { reads: &reads, grads: &grads[..if S::BINARY { 2 } else { 1 }], writes: &writes })
}

/// The operator of such formulas.
pub struct GradGrad<S>(PhantomData<S>);

impl<S> GradGrad<S> {
    /// It.
    pub const OP: GradGrad<S> = GradGrad(PhantomData);
}

impl<S: DoubleGradient> OpDef for GradGrad<S> {
    fn sig(&self) -> Sig {
        let mut sig = Sig::new(S::TYPE, S::DOC);
        for slot in S::READS {
            sig = sig.input(slot, "of the forward and the gradient operator");
        }
        sig = sig.optional_input("DDX", "gradient of the gradient of `X`");
        if S::BINARY {
            sig = sig.optional_input("DDY", "gradient of the gradient of `Y`");
            sig = sig.attr("axis", -1, "of the forward operator").hints(&["x_data_format", "y_data_format"]);
        }
        for (slot, _) in S::WRITES {
            sig = sig.optional_output(slot, "gradient of what the gradient operator reads");
        }
        match S::ALPHA {
            Some(alpha) => sig.attr("alpha", alpha, "of the forward operator"),
            None => sig,
        }
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        for (written, place) in S::WRITES {
            let known = S::READS.iter().chain(&["DDX", "DDY"]).find(|slot| of(slot) == *place && cx.has(slot));
            // An unary result is like X; of a binary one something of its size is always read.
            let like = known.copied().unwrap_or("DDX");
            if cx.has(like) {
                let ty = cx.input(like)?.with_kind(VarKind::Tensor);
                cx.set(written, ty);
            }
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let slots = Slots::new::<S>(p)?;
        let first = S::READS.first().copied().unwrap_or("DDX");
        by_float!(p.float(first)?, T => kernel(move |io| slots.run::<S, T>(io)))
    }
}

/// The variables of such an operator.
struct Slots {
    x: Option<In>,
    y: Option<In>,
    out: Option<In>,
    dout: Option<In>,
    dx: Option<In>,
    ddx: Option<In>,
    ddy: Option<In>,
    writes: Vec<(Option<Out>, Of)>,
    axis: i64,
    alpha: f32,
}

impl Slots {
    fn new<S: DoubleGradient>(p: &Prepare<'_>) -> Result<Slots> {
        let mut writes = Vec::new();
        for (slot, place) in S::WRITES {
            writes.push((p.maybe_output(slot)?, *place));
        }
        let attrs: AttrView<'_> = p.attrs();
        Ok(Slots {
            x: p.maybe_input("X")?,
            y: p.maybe_input("Y")?,
            out: p.maybe_input("Out")?,
            dout: p.maybe_input("DOut")?,
            dx: p.maybe_input("DX")?,
            ddx: p.maybe_input("DDX")?,
            ddy: p.maybe_input("DDY")?,
            writes,
            axis: if S::BINARY { attrs.int("axis")? } else { -1 },
            alpha: if S::ALPHA.is_some() { attrs.f32("alpha")? } else { 0.0 },
        })
    }

    /// A variable of X's size: one of those that are, else one of the result's, which X then has.
    fn like_x(&self) -> Option<In> {
        self.x.or(self.dx).or(self.ddx).or(self.dout).or(self.out)
    }

    fn run<S: DoubleGradient, T: Float>(&self, io: &Io<'_>) -> Result<()> {
        let Some(x_slot) = self.like_x() else { return Ok(()) };
        let y_slot = self.y.or(self.ddy).unwrap_or(x_slot);
        let (x_dims, y_dims) = (*io.dense(x_slot)?.dims(), *io.dense(y_slot)?.dims());
        let s = spread(io, x_slot, &x_dims, y_slot, &y_dims, self.axis)?;
        let sizes = |place: Of| match place {
            Of::X => x_dims,
            Of::Y => y_dims,
            Of::Out => s.out,
        };
        let open = |slot: Option<In>, place: Of| Operand::<T>::open(io, slot, sizes(place));
        let (x, y, out) = (open(self.x, Of::X)?, open(self.y, Of::Y)?, open(self.out, Of::Out)?);
        let (dout, dx) = (open(self.dout, Of::Out)?, open(self.dx, Of::X)?);
        let (ddx, ddy) = (open(self.ddx, Of::X)?, open(self.ddy, Of::Y)?);
        let alpha = T::of(self.alpha.into());
        for (n, (to, place)) in self.writes.iter().enumerate() {
            let Some(to) = *to else { continue };
            let mut tensor: std::cell::RefMut<'_, Tensor> = io.out_sized(to, T::DTYPE, sizes(*place))?;
            let data = io.data_mut::<T>(to, &mut tensor)?;
            data.fill(T::ZERO);
            each(&s, |o, i, j| {
                let p = Point {
                    x: x.at(i),
                    y: y.at(j),
                    out: out.at(o),
                    dout: dout.at(o),
                    dx: dx.at(i),
                    ddx: ddx.at(i),
                    ddy: ddy.at(j),
                    alpha,
                };
                let at = match place {
                    Of::X => i,
                    Of::Y => j,
                    Of::Out => o,
                };
                data[at] += S::values(p)[n];
            });
        }
        Ok(())
    }
}

/// The elements of an input that may be missing: zeros then.
struct Operand<T>(Vec<T>);

impl<T: Float> Operand<T> {
    fn open(io: &Io<'_>, slot: Option<In>, dims: Dims) -> Result<Operand<T>> {
        let Some(slot) = slot else { return Ok(Operand(Vec::new())) };
        let tensor = io.dense(slot)?;
        Ok(Operand(crate::checks::sized::<T>(io, slot, &tensor, dims.numel())?.to_vec()))
    }

    fn at(&self, i: usize) -> T {
        self.0.get(i).copied().unwrap_or(T::ZERO)
    }
}

/// Calls `f` with the places in the result, in X and in Y of each element of the result.
fn each(s: &Spread, mut f: impl FnMut(usize, usize, usize)) {
    s.runs(|o, i, j| {
        for k in 0..s.run {
            f(o + k, if s.x_moves { i + k } else { i }, if s.y_moves { j + k } else { j });
        }
    });
}
