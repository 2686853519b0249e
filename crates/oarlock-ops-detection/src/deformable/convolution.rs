//! The kernels of `deformable_conv` and `deformable_conv_v1`, with and without factors of the points.

use oarlock_ir::{In, Io, Kernel, Out, Prepare, Result, by_float, kernel, slots};
use oarlock_tensor::Dims;
use oarlock_tensor::gemm::GemmElem;

use super::sampling::{Batch, ImageGrads, Inputs, Params, Tensors};
use crate::sizes;

fn inputs(p: &Prepare<'_>) -> Result<Inputs> {
    Ok(Inputs {
        input: p.input("Input")?,
        offset: p.input("Offset")?,
        mask: p.maybe_input("Mask")?,
        filter: p.input("Filter")?,
    })
}

/// Gives `run` the checked inputs.
fn with_batch<T: GemmElem>(
    io: &Io<'_>,
    slots: &Inputs,
    params: Params,
    run: impl FnOnce(&Batch<'_, T>) -> Result<()>,
) -> Result<()> {
    let (input, offset, filter) = (io.dense(slots.input)?, io.dense(slots.offset)?, io.dense(slots.filter)?);
    let mask = slots.mask.map(|slot| io.dense(slot)).transpose()?;
    let tensors = Tensors { input: &input, offset: &offset, mask: mask.as_deref(), filter: &filter };
    run(&Batch::new(io, slots, &tensors, params)?)
}

/// The kernel of the operator.
pub(crate) fn forward(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let (slots, out, params) = (inputs(p)?, p.output("Output")?, Params::new(&p.attrs())?);
    by_float!(p.float("Input")?, T => kernel(move |io| with_batch::<T>(io, &slots, params, |batch| {
        let dims = Dims::from([batch.images, batch.filters, batch.out[0], batch.out[1]]);
        let mut t = io.out_sized(out, <T as oarlock_tensor::Element>::DTYPE, dims)?;
        io.pool().pieces(io.data_mut::<T>(out, &mut t)?, batch.out_len(), |i, out| batch.forward(i, out));
        Ok(())
    })))
}

slots! {
    /// Where gradients go.
    #[derive(Clone, Copy)]
    struct Grads(p) {
        input: maybe_output "Input@GRAD",
        offset: maybe_output "Offset@GRAD",
        mask: maybe_output "Mask@GRAD",
        filter: maybe_output "Filter@GRAD",
    }
}

/// The kernel of the gradient operator.
pub(crate) fn backward(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let (slots, dout, params) = (inputs(p)?, p.input("Output@GRAD")?, Params::new(&p.attrs())?);
    let grads = Grads::new(p)?;
    by_float!(p.float("Input")?, T => kernel(move |io| {
        with_batch::<T>(io, &slots, params, |batch| grads.run(io, &slots, dout, batch))
    }))
}

impl Grads {
    fn run<T: GemmElem>(&self, io: &Io<'_>, slots: &Inputs, dout: In, batch: &Batch<'_, T>) -> Result<()> {
        let dout_tensor = io.dense(dout)?;
        let d = sizes::counted::<T>(io, dout, &dout_tensor, batch.images * batch.out_len())?;
        let image_d = |i: usize| &d[i * batch.out_len()..][..batch.out_len()];
        let sized = |out: Option<Out>, like: Option<In>| match (out, like) {
            (Some(out), Some(like)) => io.out_sized(out, T::DTYPE, *io.dense(like)?.dims()).map(|t| Some((out, t))),
            _ => Ok(None),
        };
        if let Some((out, mut t)) = sized(self.filter, Some(slots.filter))? {
            let to = io.data_mut::<T>(out, &mut t)?;
            to.fill(T::ZERO);
            (0..batch.images).for_each(|i| batch.add_filter_grad(i, image_d(i), to));
        }
        let mut tensors = [
            sized(self.input, Some(slots.input))?,
            sized(self.offset, Some(slots.offset))?,
            sized(self.mask, slots.mask)?,
        ];
        if tensors.iter().all(Option::is_none) || batch.images == 0 {
            return Ok(());
        }
        let mut parts: Vec<Vec<Option<&mut [T]>>> = Vec::new();
        for tensor in &mut tensors {
            let Some((out, t)) = tensor else {
                parts.push((0..batch.images).map(|_| None).collect());
                continue;
            };
            let data = io.data_mut::<T>(*out, t)?;
            data.fill(T::ZERO);
            let len = data.len() / batch.images;
            parts.push(data.chunks_mut(len.max(1)).map(Some).collect());
        }
        let mut parts = parts.into_iter().map(Vec::into_iter);
        let [Some(inputs), Some(offsets), Some(masks)] = [parts.next(), parts.next(), parts.next()] else {
            return Ok(());
        };
        let images = inputs.zip(offsets).zip(masks).enumerate();
        io.pool().each(batch.images, images, |(i, ((input, offset), mask))| {
            batch.backward(i, image_d(i), ImageGrads { input, offset, mask });
        });
        Ok(())
    }
}
