//! `coalesce_tensor`: several tensors one after the other in one.

use oarlock_ir::{Dim, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType, fail, kernel, sig};
use oarlock_tensor::{Dims, Element, by_element};

pub(crate) const OPS: &[&dyn OpDef] = &[&CoalesceTensor];

struct CoalesceTensor;

impl OpDef for CoalesceTensor {
    sig! {
        "coalesce_tensor":
            "Output[i] = Input[i], or `constant`; FusedOutput = the elements of all Output, one after the other. \
             They do not share memory: what is written to one later does not change the other";
        in* "Input": "tensors of one dtype";
        out* "Output": "like `Input`";
        out "FusedOutput": "one row of all elements";
        attr "copy_data" = false, "outputs are copies of inputs";
        attr "set_constant" = false, "outputs are filled with `constant`";
        attr "constant" = 0.0f32, "see `set_constant`";
        attr "dtype": "the dtype of all";
        hints ["check_name"];
        traits Traits { gradient_free: true, ..Traits::NONE }.in_place(&[("Input", "Output")]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        check_attrs(&cx.attrs())?;
        let dtype = cx.attrs().dtype("dtype")?;
        let mut total = Some(0);
        for (i, ty) in cx.inputs("Input")?.into_iter().enumerate() {
            total = total.zip(oarlock_ir::product(&ty.shape[..]).known()).map(|(sum, n)| sum + n);
            cx.set_nth("Output", i, ty);
        }
        cx.set("FusedOutput", VarType::tensor(dtype, vec![total.map_or(Dim::Any, Dim::Is)]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        check_attrs(&p.attrs())?;
        let (inputs, outputs, fused) = (p.inputs("Input")?, p.outputs("Output")?, p.output("FusedOutput")?);
        let dtype = p.attrs().dtype("dtype")?;
        let fill = if p.attrs().bool("set_constant")? { Some(p.attrs().f32("constant")?) } else { None };
        kernel(move |io| by_element!(dtype, T => run::<T>(io, &inputs, &outputs, fused, fill)))
    }
}

fn check_attrs(attrs: &oarlock_ir::AttrView<'_>) -> Result<()> {
    if attrs.bool("copy_data")? && attrs.bool("set_constant")? {
        fail!(Kind::Argument, "`coalesce_tensor` cannot both copy data and set a constant");
    }
    Ok(())
}

fn run<T: Element>(io: &Io<'_>, inputs: &[In], outputs: &[Option<Out>], fused: Out, fill: Option<f32>) -> Result<()> {
    let mut total = 0;
    for &x in inputs {
        let t = io.dense(x)?;
        io.data::<T>(x, &t)?;
        total += t.numel();
    }
    let mut all = io.out_sized(fused, T::DTYPE, Dims::from([total]))?;
    let mut rest = io.data_mut::<T>(fused, &mut all)?;
    for (&x, out) in inputs.iter().zip(outputs) {
        let part = match out {
            Some(out) => {
                let mut t = io.update(x, *out)?;
                let data = io.data_mut::<T>(*out, &mut t)?;
                if let Some(value) = fill {
                    data.fill(T::from_f64(value.into()));
                }
                let (part, left) = rest.split_at_mut(data.len());
                part.copy_from_slice(data);
                left
            }
            None => rest,
        };
        rest = part;
    }
    Ok(())
}

#[test]
fn coalesce_tensor() {
    use crate::testing::{check, tensor};
    use oarlock_tensor::DType;
    let tensors = || {
        let inputs = vec![tensor([2, 1], &[1.0, 2.0]), tensor([1], &[3.0])];
        check("coalesce_tensor").inputs("Input", inputs).attr("dtype", DType::F32.proto())
    };
    tensors()
        .attr("copy_data", true)
        .outputs("Output", vec![tensor([2, 1], &[1.0, 2.0]).into(), tensor([1], &[3.0]).into()])
        .output("FusedOutput", tensor([3], &[1.0, 2.0, 3.0]))
        .run();
    tensors()
        .attr("set_constant", true)
        .attr("constant", 7.0f32)
        .outputs("Output", vec![tensor([2, 1], &[7.0; 2]).into(), tensor([1], &[7.0]).into()])
        .output("FusedOutput", tensor([3], &[7.0; 3]))
        .run();
}
