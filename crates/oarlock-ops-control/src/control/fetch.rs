//! `fetch`: stands for what the user fetches, in saved inference programs. The executor does its work.

use oarlock_ir::{Error, Infer, Kernel, OpDef, Port, Prepare, Result, Sig, Traits};

pub(crate) const OPS: &[&dyn OpDef] = &[&Fetch];

struct Fetch;

impl OpDef for Fetch {
    fn sig(&self) -> Sig {
        Sig::new("fetch", "the value of X goes to the user")
            .input("X", "a variable to fetch")
            .output("Out", "the list of fetches")
            .required_attr("col", "index in the list")
            .hints(&["data_type"])
    }

    fn infer(&self, _cx: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, _p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        Err(Error::internal("`fetch` reached a plan; the executor takes fetches out"))
    }

    fn traits(&self) -> Traits {
        Traits { port: Some(Port::Fetch), ..Traits::GRADIENT_FREE.side_effect() }
    }
}
