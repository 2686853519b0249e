//! `fake_init`: declares a table that lives on servers; nothing is allocated.

use oarlock_ir::{Infer, Kernel, Kind, OpDef, Prepare, Result, Traits, fail, kernel, sig};
use oarlock_tensor::{DType, Dims};

pub(super) const OPS: &[&dyn OpDef] = &[&FakeInit];

struct FakeInit;

impl OpDef for FakeInit {
    sig! {
        "fake_init": "Out = no rows of a table of these sizes: they are on the servers";
        out "Out": "a table";
        attr "shape": "the sizes of the table";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (out, shape) = (p.output("Out")?, p.attrs().ints("shape")?);
        let sizes: Option<Vec<usize>> = shape.iter().skip(1).map(|size| usize::try_from(*size).ok()).collect();
        let (Some(height), Some(sizes)) = (shape.first().copied(), sizes) else {
            fail!(Kind::Shape, "`fake_init` needs the sizes of a table, but `shape` is {shape:?}");
        };
        let dims = Dims::new(&[&[0][..], &sizes[..]].concat());
        let dtype = p.out_dtype("Out").unwrap_or(DType::F32);
        kernel(move |io| {
            let mut value = io.write(out)?;
            let rows = value.rows_mut();
            rows.height = height;
            rows.rows.clear();
            rows.value.resize(dtype, dims);
            Ok(())
        })
    }
}
