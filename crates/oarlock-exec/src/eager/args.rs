//! Arguments of a call, by position in the operator's signature.

use oarlock_ir::{Attrs, Error, Kind, Op, Result, Sig, SlotSig, fail};
use smallvec::SmallVec;

use super::eager_engine::EagerEngine;
use super::tensor::EagerTensor;

/// Where an output goes.
#[derive(Clone)]
pub enum Target {
    /// Nobody wants it.
    Skip,
    /// Into a new tensor.
    New,
    /// Into this tensor; the operator works in place where it can.
    Into(EagerTensor),
}

/// The arguments of a call: those of all slots one after the other, and how many each slot of the signature has.
#[derive(Clone, Copy)]
pub struct Args<'a> {
    /// Input tensors; `None` for an argument that is left out although its position counts.
    pub inputs: &'a [Option<EagerTensor>],
    /// How many of them belong to each input slot.
    pub input_counts: &'a [u16],
    /// Where outputs go.
    pub outputs: &'a [Target],
    /// How many of them belong to each output slot.
    pub output_counts: &'a [u16],
}

/// The results of a call, by position; `None` for outputs that were skipped.
pub type Results = SmallVec<[Option<EagerTensor>; 2]>;

/// A call that names its slots: `engine.build("relu").input("X", &x).run()?`.
pub struct Call<'e> {
    engine: &'e EagerEngine,
    op: Op,
    inputs: Vec<(String, Vec<Option<EagerTensor>>)>,
    outputs: Vec<(String, Vec<Target>)>,
}

/// The results of a [`Call`], by slot.
pub struct SlotResults(Vec<(&'static str, Vec<Option<EagerTensor>>)>);

impl<'e> Call<'e> {
    pub(crate) fn new(engine: &'e EagerEngine, op_type: &str) -> Call<'e> {
        Call { engine, op: Op::new(op_type), inputs: Vec::new(), outputs: Vec::new() }
    }

    /// With this tensor in an input slot.
    pub fn input(self, slot: &str, tensor: &EagerTensor) -> Call<'e> {
        self.inputs(slot, [Some(tensor.clone())])
    }

    /// With these tensors in an input slot.
    pub fn inputs(mut self, slot: &str, tensors: impl IntoIterator<Item = Option<EagerTensor>>) -> Call<'e> {
        self.inputs.push((slot.into(), tensors.into_iter().collect()));
        self
    }

    /// With these targets of an output slot. Without any, each output slot that must be there gives one new tensor.
    pub fn outputs(mut self, slot: &str, targets: impl IntoIterator<Item = Target>) -> Call<'e> {
        self.outputs.push((slot.into(), targets.into_iter().collect()));
        self
    }

    /// With an attribute.
    pub fn attr(mut self, name: &str, value: impl Into<oarlock_ir::Attr>) -> Call<'e> {
        self.op = self.op.attr(name, value);
        self
    }

    /// With these attributes.
    pub fn attrs(mut self, attrs: Attrs) -> Call<'e> {
        self.op.attrs = attrs;
        self
    }

    /// Runs the operator.
    pub fn run(self) -> Result<SlotResults> {
        let handle = self.engine.op(&self.op.op_type, self.op.attrs)?;
        let sig = handle.sig();
        let (inputs, input_counts) = by_position(sig, "input", &sig.inputs, self.inputs, |_| Vec::new())?;
        let default = |slot: &SlotSig| if slot.optional || slot.many { Vec::new() } else { vec![Target::New] };
        let (outputs, output_counts) = by_position(sig, "output", &sig.outputs, self.outputs, default)?;
        let args =
            Args { inputs: &inputs, input_counts: &input_counts, outputs: &outputs, output_counts: &output_counts };
        let mut results = self.engine.call(&handle, args)?.into_iter();
        let take = |(slot, &n): (&SlotSig, &u16)| (slot.name, results.by_ref().take(n.into()).collect());
        Ok(SlotResults(sig.outputs.iter().zip(&output_counts).map(take).collect()))
    }

    /// Runs the operator and returns the first tensor of an output slot.
    pub fn get(self, slot: &str) -> Result<EagerTensor> {
        self.run()?.one(slot)
    }
}

impl SlotResults {
    /// The tensors of a slot.
    pub fn all(&self, slot: &str) -> &[Option<EagerTensor>] {
        self.0.iter().find(|(name, _)| *name == slot).map_or(&[], |(_, tensors)| tensors)
    }

    /// The first tensor of a slot.
    pub fn one(&self, slot: &str) -> Result<EagerTensor> {
        match self.all(slot).first() {
            Some(Some(tensor)) => Ok(tensor.clone()),
            _ => fail!(Kind::Missing, "the operator has no output `{slot}`"),
        }
    }
}

/// Puts arguments by slot into the order of the signature.
fn by_position<T>(
    sig: &Sig,
    side: &str,
    slots: &[SlotSig],
    mut given: Vec<(String, Vec<T>)>,
    default: impl Fn(&SlotSig) -> Vec<T>,
) -> Result<(Vec<T>, Vec<u16>)> {
    let (mut flat, mut counts) = (Vec::new(), Vec::new());
    for slot in slots {
        let args = match given.iter().position(|(name, _)| name == slot.name) {
            Some(at) => given.swap_remove(at).1,
            None => default(slot),
        };
        counts.push(u16::try_from(args.len()).map_err(|_| too_many(sig, slot))?);
        flat.extend(args);
    }
    match given.first() {
        Some((name, _)) => Err(Error::new(Kind::Unknown, format!("`{}` has no {side} `{name}`", sig.op_type))),
        None => Ok((flat, counts)),
    }
}

fn too_many(sig: &Sig, slot: &SlotSig) -> Error {
    Error::new(Kind::Argument, format!("`{}` takes at most 65,535 variables in `{}`", sig.op_type, slot.name))
}
