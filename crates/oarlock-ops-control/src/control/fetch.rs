//! `fetch`: stands for what the user fetches, in saved inference programs. The executor does its work.

use oarlock_ir::{Error, Infer, Kernel, OpDef, Port, Prepare, Result, Traits, sig};

pub(crate) const OPS: &[&dyn OpDef] = &[&Fetch];

struct Fetch;

impl OpDef for Fetch {
    sig! {
        "fetch": "the value of X goes to the user";
        in "X": "a variable to fetch";
        out "Out": "the list of fetches";
        attr "col": "index in the list";
        hints ["data_type"];
        traits Traits { port: Some(Port::Fetch), ..Traits::GRADIENT_FREE.side_effect() };
    }

    fn infer(&self, _cx: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, _p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        Err(Error::internal("`fetch` reached a plan; the executor takes fetches out"))
    }
}
