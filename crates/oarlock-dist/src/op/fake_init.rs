//! `fake_init`: declares a table that lives on servers; nothing is allocated.

use oarlock_ir::{Infer, Kernel, Name, Op, OpDef, Prepare, Result, Sig, Traits, kernel};

pub(super) const OPS: &[&dyn OpDef] = &[&FakeInit];

/// Stands in a trainer's startup program where the table's initializer stood.
pub(crate) fn fake_init(table: &Name, shape: Vec<i64>) -> Op {
    Op::new("fake_init").output("Out", [table]).attr("shape", shape)
}

struct FakeInit;

impl OpDef for FakeInit {
    fn sig(&self) -> Sig {
        Sig::new("fake_init", "Out stays without a value: its rows are on the servers")
            .output("Out", "a table")
            .required_attr("shape", "the sizes of the table")
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, _: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        kernel(|_| Ok(()))
    }

    fn traits(&self) -> Traits {
        Traits::GRADIENT_FREE
    }
}
