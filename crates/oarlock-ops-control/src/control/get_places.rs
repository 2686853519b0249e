//! `get_places`: a list of devices, as programs from before data parallelism have it.

use oarlock_ir::{
    AttrView, Infer, Kernel, Kind, OpDef, Prepare, Result, Shape, Traits, VarKind, VarType, fail, kernel, sig,
};
use oarlock_tensor::{DType, Value};

pub(crate) const OPS: &[&dyn OpDef] = &[&GetPlaces];

struct GetPlaces;

/// A list of this number of CPU places. No operator of this version reads it.
#[derive(Debug, PartialEq, Eq)]
struct CpuPlaces(usize);

impl OpDef for GetPlaces {
    sig! {
        "get_places": "Out = a list of device_count CPU places, which are all the same; as many as there are threads if it is 0";
        out "Out": "a list of places";
        attr "device_count" = 0, "how many";
        attr "device_type" = "AUTO", "AUTO or CPU";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        check(&cx.attrs())?;
        cx.set("Out", VarType::tensor(DType::F32, Shape::default()).with_kind(VarKind::PlaceList));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (out, count) = (p.output("Out")?, check(&p.attrs())?);
        kernel(move |io| {
            let count = if count == 0 { io.pool().threads() } else { count };
            *io.write(out)? = Value::Opaque(Box::new(CpuPlaces(count)));
            Ok(())
        })
    }
}

fn check(attrs: &AttrView<'_>) -> Result<usize> {
    match attrs.str("device_type")? {
        "AUTO" | "CPU" => attrs.count("device_count"),
        "CUDA" => fail!(Kind::Unsupported, "`get_places` asks for GPUs, and this version computes on CPUs only"),
        other => fail!(Kind::Argument, "attribute `device_type` of `get_places` is `{other}`; it can be AUTO or CPU"),
    }
}

#[test]
fn gpus_are_refused() {
    use crate::testing::check;
    let e = check("get_places").attr("device_type", "CUDA").any_output("Out").error();
    assert!(e.contains("`get_places` asks for GPUs, and this version computes on CPUs only"), "{e}");
}
