//! `trainer_mean`: the mean of all trainers' gradients, for what looks at gradients as a whole, such as their global norm.

use std::cell::Ref;

use oarlock_ir::{Error, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, kernel, sig};
use oarlock_tensor::{DType, SelectedRows, Tensor, Value};

use super::{COMMUNICATES, copy, fingerprint};
use crate::client::Client;
use crate::communicator::{Communicator, add, divide};

pub(super) const OPS: &[&dyn OpDef] = &[&TrainerMean];

struct TrainerMean;

impl OpDef for TrainerMean {
    sig! {
        "trainer_mean": "Out[k] = the mean of X[k] over the trainers of a step; of rows, all that are listed";
        in* "X": "gradients, dense or row-sparse";
        out* "Out": "like `X`";
        attr "endpoints": "all servers";
        attr "trainer_id" = 0, "who asks";
        traits COMMUNICATES;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        for (n, ty) in cx.inputs("X")?.into_iter().enumerate() {
            cx.set_nth("Out", n, ty);
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let mean = Mean {
            pairs: p.inputs("X")?.into_iter().zip(p.outputs("Out")?.into_iter().flatten()).collect(),
            servers: p.attrs().strs("endpoints")?.to_vec(),
            trainer: p.attrs().count("trainer_id")? as u32,
            fingerprint: fingerprint(p.program()),
        };
        kernel(move |io| mean.run(io))
    }
}

struct Mean {
    pairs: Vec<(In, Out)>,
    servers: Vec<String>,
    trainer: u32,
    fingerprint: String,
}

impl Mean {
    fn run(&self, io: &Io<'_>) -> Result<()> {
        // Threads of a trainer come one by one: each sees its own gradient.
        if Communicator::of(io.runtime()).is_some_and(|c| c.threads() > 1) {
            return self.pairs.iter().try_for_each(|(x, out)| copy(&*io.value(*x)?, &mut *io.write(*out)?));
        }
        let client = Client::of(io.runtime());
        client.resume(self.trainer, &self.servers, &self.fingerprint)?;
        let Some(server) = self.servers.first() else { return Err(io.op_error(Kind::Argument, "names no server")) };
        let own: Vec<Ref<'_, Value>> = self.pairs.iter().map(|(x, _)| io.value(*x)).collect::<Result<_>>()?;
        let gathered = client.all_gather_in_step(self.trainer, server, "the norm of all gradients", &pack(&own)?)?;
        let mut parts: Vec<Unpack<'_>> = gathered.iter().map(|part| Unpack(part.bytes())).collect();
        for ((_, out), own) in self.pairs.iter().zip(&own) {
            let mut mean = io.write(*out)?;
            for (nth, part) in parts.iter_mut().enumerate() {
                let value = part.like(own)?;
                if nth == 0 { *mean = value } else { add(&mut mean, &value)? }
            }
            divide(&mut mean, gathered.len(), 0);
        }
        Ok(())
    }
}

/// Gradients as bytes, one after the other: of rows their number and ids first. Sizes are those that all trainers have.
fn pack(values: &[Ref<'_, Value>]) -> Result<Tensor> {
    let mut bytes = Vec::new();
    for value in values {
        match &**value {
            Value::Rows(rows) => {
                bytes.extend_from_slice(&(rows.rows.len() as u64).to_le_bytes());
                bytes.extend(rows.rows.iter().flat_map(|id| id.to_le_bytes()));
                bytes.extend_from_slice(rows.value.bytes());
            }
            other => {
                let dense = other.dense().map_err(|e| Error::new(Kind::Argument, format!("a gradient {e}")))?;
                bytes.extend_from_slice(dense.bytes());
            }
        }
    }
    let mut packed = Tensor::zeros(DType::U8, [bytes.len()]);
    packed.bytes_mut().copy_from_slice(&bytes);
    Ok(packed)
}

/// The rest of a trainer's gradients.
struct Unpack<'a>(&'a [u8]);

impl<'a> Unpack<'a> {
    /// The next one, which is of the same kind and width as this trainer's own.
    fn like(&mut self, own: &Value) -> Result<Value> {
        let Value::Rows(own) = own else {
            let own = own.dense().map_err(|e| Error::new(Kind::Argument, format!("a gradient {e}")))?;
            let mut dense = Tensor::zeros(own.dtype(), *own.dims());
            dense.bytes_mut().copy_from_slice(self.take(own.bytes().len())?);
            return Ok(Value::Dense(dense));
        };
        let count = u64::from_le_bytes(self.array()?);
        // No more than there are bytes for: what came from another machine is not trusted.
        let count = usize::try_from(count).ok().filter(|n| *n <= self.0.len() / 8).ok_or_else(truncated)?;
        let rows = (0..count).map(|_| Ok(i64::from_le_bytes(self.array()?))).collect::<Result<Vec<i64>>>()?;
        let row = own.width() * own.value.dtype().size();
        let bytes = self.take(count.checked_mul(row).ok_or_else(truncated)?)?;
        let mut value = Tensor::zeros(own.value.dtype(), own.value.dims().with_rows(count));
        value.bytes_mut().copy_from_slice(bytes);
        Ok(Value::Rows(SelectedRows { rows, height: own.height, value }))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array(&mut self) -> Result<[u8; 8]> {
        self.take(8)?.try_into().map_err(|_| truncated())
    }
}

#[cold]
fn truncated() -> Error {
    Error::new(Kind::Shape, "the gradients of another trainer are smaller than this one's")
        .help("all trainers of a job must train the same program")
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn gradients_survive_the_way() {
        let rows = SelectedRows { rows: vec![7, -1], height: 9, value: Tensor::zeros(DType::F32, [2, 3]) };
        let values = [Value::Dense(Tensor::scalar(2.5f32)), Value::Rows(rows)];
        let cells = values.map(RefCell::new);
        let refs: Vec<Ref<'_, Value>> = cells.iter().map(RefCell::borrow).collect();
        let packed = pack(&refs).unwrap();
        let mut unpack = Unpack(packed.bytes());
        assert_eq!(unpack.like(&refs[0]).unwrap().dense().unwrap(), refs[0].dense().unwrap());
        assert_eq!(unpack.like(&refs[1]).unwrap().rows().unwrap(), refs[1].rows().unwrap());
        let short = Unpack(&packed.bytes()[..20]).like(&refs[1]).unwrap_err();
        assert!(short.to_string().contains("the gradients of another trainer are smaller"), "{short}");
    }
}
