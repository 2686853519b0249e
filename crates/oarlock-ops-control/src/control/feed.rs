//! `feed`: stands for what the user feeds, in saved inference programs. The executor does its work.

use oarlock_ir::{Error, Infer, Kernel, OpDef, Port, Prepare, Result, Sig, Traits};

pub(crate) const OPS: &[&dyn OpDef] = &[&Feed];

struct Feed;

impl OpDef for Feed {
    fn sig(&self) -> Sig {
        Sig::new("feed", "Out = the value fed for it")
            .input("X", "the list of feeds")
            .output("Out", "a variable to feed")
            .required_attr("col", "index in the list")
    }

    // The variable is declared with the type the user must feed.
    fn infer(&self, _cx: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, _p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        Err(Error::internal("`feed` reached a plan; the executor takes feeds out"))
    }

    fn traits(&self) -> Traits {
        Traits { port: Some(Port::Feed), ..Traits::GRADIENT_FREE }
    }
}
