//! `recv_save`: fetches the blocks of a variable from the servers and writes them to one file.

use std::path::PathBuf;

use oarlock_io::write_tensor_file;
use oarlock_ir::{Error, Infer, Kernel, Kind, Name, OpDef, Prepare, Result, kernel, sig};
use oarlock_tensor::{Dims, Value};

use super::COMMUNICATES;
use crate::client::{Client, ReceivedVars};
use crate::saving::join;

pub(super) const OPS: &[&dyn OpDef] = &[&RecvSave];

struct RecvSave;

impl OpDef for RecvSave {
    sig! {
        "recv_save": "one file with the whole variable, of blocks that live on servers";
        attr "endpoints": "the server of each block";
        attr "remote_varnames": "the blocks";
        attr "slice_shapes": "the sizes of each block, such as `50,8`";
        attr "shape": "the sizes of the whole";
        attr "file_path": "the file";
        attr "overwrite" = true, "replace a file that exists";
        attr "is_sparse" = false, "the variable is a table";
        attr "is_distributed" = false, "the table is hashed";
        attr "trainer_id" = 0, "who asks";
        hints ["dtype", "pserver_num", "with_barrier"];
        traits COMMUNICATES;
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let attrs = p.attrs();
        let endpoints = attrs.strs("endpoints")?.to_vec();
        let names = attrs.strs("remote_varnames")?.to_vec();
        let dims: Vec<usize> = attrs.ints("shape")?.iter().map(|d| usize::try_from(*d).unwrap_or(0)).collect();
        let path = PathBuf::from(attrs.str("file_path")?);
        let (trainer, overwrite) = (attrs.count("trainer_id")? as u32, attrs.bool("overwrite")?);
        if endpoints.len() != names.len() || names.is_empty() {
            let what = format!("`recv_save` fetches {} blocks from {} endpoints", names.len(), endpoints.len());
            return Err(Error::new(Kind::Argument, what).help("give one endpoint per block"));
        }
        kernel(move |io| {
            if !overwrite && path.exists() {
                let what = format!("was told not to overwrite {}, which exists", path.display());
                return Err(io.op_error(Kind::Io, what));
            }
            let client = Client::of(io.runtime());
            let mut parts = Vec::new();
            for (endpoint, name) in endpoints.iter().zip(&names) {
                // Servers may use one name for different blocks: each is asked alone.
                let (mut received, mut value) = (ReceivedVars::default(), Value::Empty);
                client.pull(trainer, &[(endpoint.clone(), name.clone())], &mut received)?;
                received.take(name, &mut value);
                parts.push(value);
            }
            if dims == [1] {
                // Every server has it: a step count, say.
                parts.truncate(1);
            }
            let whole = join(&Name::from(names[0].as_str()), parts)?;
            if *whole.dims() != Dims::new(&dims) {
                let what = format!("fetched {} of {}, which is declared {}", names[0], whole.dims(), Dims::new(&dims));
                return Err(io.op_error(Kind::Shape, what));
            }
            write_tensor_file(&path, &whole)
        })
    }
}
