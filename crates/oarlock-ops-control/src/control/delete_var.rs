//! `delete_var`: says that variables are not needed any more.

use oarlock_ir::{Infer, Kernel, OpDef, Prepare, Result, Traits, kernel, sig};

pub(crate) const OPS: &[&dyn OpDef] = &[&DeleteVar];

struct DeleteVar;

impl OpDef for DeleteVar {
    sig! {
        "delete_var": "nothing: plans reuse the memory of variables after their last use anyway";
        in*? "X": "variables that are not read any more";
        traits Traits::GRADIENT_FREE.maybe_empty(&["X"]).shape_only(&["X"]);
    }

    fn infer(&self, _cx: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, _p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        kernel(|_| Ok(()))
    }
}
