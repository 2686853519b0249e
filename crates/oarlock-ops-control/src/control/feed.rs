//! `feed`: stands for what the user feeds, in saved inference programs. The executor does its work.

use oarlock_ir::{Error, Infer, Kernel, OpDef, Port, Prepare, Result, Traits, sig};

pub(crate) const OPS: &[&dyn OpDef] = &[&Feed];

struct Feed;

impl OpDef for Feed {
    sig! {
        "feed": "Out = the value fed for it";
        in "X": "the list of feeds";
        out "Out": "a variable to feed";
        attr "col": "index in the list";
        traits Traits { port: Some(Port::Feed), ..Traits::GRADIENT_FREE };
    }

    // The variable is declared with the type the user must feed.
    fn infer(&self, _cx: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, _p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        Err(Error::internal("`feed` reached a plan; the executor takes feeds out"))
    }
}
