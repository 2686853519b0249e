//! Gradients of the gradients of convolutions.

use std::cell::Ref;

use oarlock_ir::{In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Sig, by_float, kernel, slots};
use oarlock_ops_support::double_gradient::Places;
use oarlock_tensor::gemm::GemmElem;
use oarlock_tensor::{Tensor, simd};

use super::convolution::{Params, Variant};
use super::direct::sizes;
use super::product::Scratch;

/// Where its slots come from.
pub(crate) const PLACES: Places<'static> = Places {
    reads: &[("Input", "Input"), ("Filter", "Filter"), ("DOutput", "Output@GRAD")],
    grads: &[("DDInput", "Input@GRAD"), ("DDFilter", "Filter@GRAD")],
    writes: &[("DDOutput", "Output@GRAD"), ("DFilter", "Filter"), ("DInput", "Input")],
};

/// The gradient of the gradient of a convolution.
pub(crate) struct DirectGradGrad(pub(crate) Variant);

impl OpDef for DirectGradGrad {
    fn sig(&self) -> Sig {
        let doc = "DDOutput = DDInput * Filter + Input * DDFilter, where * is the convolution; DInput and DFilter are its \
                   gradients for DDFilter and DDInput";
        let sig = Sig::new(self.0.grad_grad_type.unwrap_or_default(), doc)
            .input("Input", "of the forward operator")
            .input("Filter", "of the forward operator")
            .input("DOutput", "gradient of `Output`")
            .optional_input("DDInput", "gradient of the gradient of `Input`")
            .optional_input("DDFilter", "gradient of the gradient of `Filter`")
            .optional_output("DDOutput", "gradient of `DOutput`")
            .optional_output("DFilter", "gradient of `Filter`")
            .optional_output("DInput", "gradient of `Input`");
        self.0.with_attrs(sig)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("DDOutput", "DOutput")?;
        cx.same("DFilter", "Filter")?;
        cx.same("DInput", "Input")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let slots = Slots::new(p)?;
        let params = Params::new(&self.0, &p.attrs())?;
        by_float!(p.float("Input")?, T => {
            let mut memory = Memory::<T>::default();
            kernel(move |io| slots.run(io, &params, &mut memory))
        })
    }
}

slots! {
    struct Slots(p) {
        input: input "Input",
        filter: input "Filter",
        dout: input "DOutput",
        ddinput: maybe_input "DDInput",
        ddfilter: maybe_input "DDFilter",
        ddout: maybe_output "DDOutput",
        dinput: maybe_output "DInput",
        dfilter: maybe_output "DFilter",
    }
}

/// Memory that stays from run to run: of the products, of batches with channels first, and one term of a sum.
struct Memory<T> {
    scratch: Scratch<T>,
    moved: [Vec<T>; 2],
    term: Vec<T>,
}

impl<T> Default for Memory<T> {
    fn default() -> Memory<T> {
        Memory { scratch: Scratch::default(), moved: Default::default(), term: Vec::new() }
    }
}

impl Slots {
    /// A missing input is zero, and so is every product with it.
    fn run<T: GemmElem>(&self, io: &Io<'_>, params: &Params, memory: &mut Memory<T>) -> Result<()> {
        let (image_tensor, filter_tensor, dout_tensor) =
            (io.dense(self.input)?, io.dense(self.filter)?, io.dense(self.dout)?);
        let conv = sizes(io, self.input, params, image_tensor.dims(), filter_tensor.dims())?;
        let ddinput = given(io, self.ddinput, &image_tensor)?;
        let ddfilter = given(io, self.ddfilter, &filter_tensor)?;
        let out_dims =
            params.format.dims(params.axes, conv.images, conv.groups * conv.filters, conv.sides.map(|s| s.out));
        if *dout_tensor.dims() != out_dims {
            let what = format_args!("has sizes {}, which are not those of the output", dout_tensor.dims());
            return Err(io.error(Kind::Shape, self.dout, what));
        }
        let Memory { scratch, moved: [moved_a, moved_b], term } = memory;
        let format = params.format;
        if let Some(out) = self.dinput {
            let d = format.channels_first(&out_dims, io.data::<T>(self.dout, &dout_tensor)?, moved_a);
            let mut t = io.out_sized(out, T::DTYPE, *image_tensor.dims())?;
            let to = io.data_mut::<T>(out, &mut t)?;
            match &ddfilter {
                None => to.fill(T::ZERO),
                Some((slot, tensor)) => {
                    let filters = io.data::<T>(*slot, tensor)?;
                    format.fill_channels_first(image_tensor.dims(), to, moved_b, |dx| {
                        conv.input_grad(io.pool(), filters, d, dx, scratch);
                    });
                }
            }
        }
        if let Some(out) = self.dfilter {
            let d = format.channels_first(&out_dims, io.data::<T>(self.dout, &dout_tensor)?, moved_a);
            let mut t = io.out_sized(out, T::DTYPE, *filter_tensor.dims())?;
            let to = io.data_mut::<T>(out, &mut t)?;
            match &ddinput {
                None => to.fill(T::ZERO),
                Some((slot, tensor)) => {
                    let images = format.channels_first(image_tensor.dims(), io.data::<T>(*slot, tensor)?, moved_b);
                    conv.filter_grad(io.pool(), images, d, to, scratch);
                }
            }
        }
        let Some(out) = self.ddout else { return Ok(()) };
        let mut t = io.out_sized(out, T::DTYPE, out_dims)?;
        let to = io.data_mut::<T>(out, &mut t)?;
        to.fill(T::ZERO);
        term.resize(to.len(), T::ZERO);
        let terms = [
            ddinput.as_ref().map(|image| ((image.0, &*image.1), (self.filter, &*filter_tensor))),
            ddfilter.as_ref().map(|filter| ((self.input, &*image_tensor), (filter.0, &*filter.1))),
        ];
        for ((image_slot, image), (filter_slot, filter)) in terms.into_iter().flatten() {
            let images = format.channels_first(image.dims(), io.data::<T>(image_slot, image)?, moved_a);
            let filters = io.data::<T>(filter_slot, filter)?;
            format.fill_channels_first(&out_dims, term, moved_b, |out| {
                conv.forward(io.pool(), images, filters, out, scratch);
            });
            simd::add_assign(to, term);
        }
        Ok(())
    }
}

/// An optional tensor, as large as another.
fn given<'a>(io: &Io<'a>, slot: Option<In>, like: &Tensor) -> Result<Option<(In, Ref<'a, Tensor>)>> {
    let Some(slot) = slot else { return Ok(None) };
    let tensor = io.dense(slot)?;
    if tensor.dims() != like.dims() {
        let what = format_args!("has sizes {}, not {}", tensor.dims(), like.dims());
        return Err(io.error(Kind::Shape, slot, what));
    }
    Ok(Some((slot, tensor)))
}
