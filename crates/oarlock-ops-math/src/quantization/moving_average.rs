//! Scales that follow max |X| by a moving average; shared by the operators that learn them.

use oarlock_ir::{Dim, In, Infer, Io, Kind, Out, Prepare, Result, Sig, Traits, VarType, fail};
use oarlock_tensor::Float;

use crate::quantization::levels;

/// What passes may assume of these operators.
pub(crate) const TRAITS: Traits = Traits::GRADIENT_FREE
    .in_place(&[("InScale", "OutScale"), ("InAccum", "OutAccum"), ("InState", "OutState")])
    // A test does not read them.
    .maybe_empty(&["InAccum", "InState"])
    .whole_tensor();

/// Adds slots and attributes of the average to a signature.
pub(crate) fn with_average(sig: Sig) -> Sig {
    sig.optional_input("InAccum", "[1], the weighted sum of max |X| of earlier steps; needed in training")
        .optional_input("InState", "[1], the sum of their weights; needed in training")
        .output("OutScale", "[1], OutAccum / OutState")
        .optional_output("OutState", "[1], moving_rate * InState + 1; usually `InState` itself")
        .optional_output("OutAccum", "[1], moving_rate * InAccum + max |X|; usually `InAccum` itself")
        .attr("moving_rate", 0.9f32, "how much of the earlier steps counts in the next one")
        .attr("is_test", false, "leave the scale as it is")
}

/// Inference of the slots of the average.
pub(crate) fn infer(cx: &mut Infer<'_>) -> Result<()> {
    let x = cx.float("X")?;
    for slot in ["OutScale", "OutState", "OutAccum"] {
        cx.set(slot, VarType::tensor(x.dtype, vec![Dim::Is(1)]));
    }
    cx.set("Out", x);
    Ok(())
}

/// The average of one operator in training.
pub(crate) struct Average {
    accum: (In, Out),
    state: (In, Out),
    scale: Out,
    rate: f32,
}

impl Average {
    /// That of an operator; `None` in a test.
    pub(crate) fn new(p: &Prepare<'_>) -> Result<Option<Average>> {
        if p.attrs().bool("is_test")? {
            return Ok(None);
        }
        let inputs = (p.maybe_input("InAccum")?, p.maybe_input("InState")?);
        let outputs = (p.maybe_output("OutAccum")?, p.maybe_output("OutState")?);
        let ((Some(accum), Some(state)), (Some(accum_out), Some(state_out))) = (inputs, outputs) else {
            let op = &p.op().op_type;
            fail!(Kind::Missing, "`{op}` needs `InAccum`, `InState`, `OutAccum` and `OutState` in training");
        };
        let (scale, rate) = (p.output("OutScale")?, p.attrs().f32("moving_rate")?);
        Ok(Some(Average { accum: (accum, accum_out), state: (state, state_out), scale, rate }))
    }

    /// Takes one more tensor into the average; returns the scale.
    pub(crate) fn add<T: Float>(&self, io: &Io<'_>, x: &[T]) -> Result<T> {
        let rate = T::of(self.rate.into());
        let state = rate * levels::scale::<T>(io, self.state.0)? + T::ONE;
        let accum = rate * levels::scale::<T>(io, self.accum.0)? + levels::abs_max(x);
        let scale = accum / state;
        for (out, value) in [(self.state.1, state), (self.accum.1, accum), (self.scale, scale)] {
            levels::set(io, out, value)?;
        }
        Ok(scale)
    }
}
