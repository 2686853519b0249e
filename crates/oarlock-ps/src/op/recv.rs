//! `recv`: fetches variables, parameters as a rule, from the servers that hold them.
//!
//! In a step of training they have come already, with the reply to what was sent; a startup program asks for them.

use std::collections::HashMap;

use oarlock_ir::{
    Error, In, Infer, Io, Kernel, Kind, Name, Op, OpDef, Out, Prepare, Result, Var, VarKind, VarType, kernel, sig,
};
use oarlock_tensor::Value;

use super::{COMMUNICATES, fingerprint, servers};
use crate::client::{Client, ReceivedVars};
use crate::communicator::Communicator;

pub(super) const OPS: &[&dyn OpDef] = &[&Recv];

struct Recv;

impl OpDef for Recv {
    sig! {
        "recv": "fetches each variable of Out from its endpoint";
        in*? "X": "is not read: what writes it comes before";
        out* "Out": "tensors as declared";
        attr "epmap" = Vec::<String>::new(), "the endpoint of each variable, or of each section";
        attr "recv_varnames" = Vec::<String>::new(), "the names on the servers, if Out is joined while it is fetched";
        attr "varnames" = Vec::<String>::new(), "not used";
        attr "trainer_id" = 0, "who asks";
        attr "with_barrier" = true, "wait until the servers finished the step";
        attr "do_not_run" = 0, "1: a communicator fetches in its own time, and this operator does nothing";
        traits COMMUNICATES;
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let attrs = p.attrs();
        let outs: Vec<Out> = p.outputs("Out")?.into_iter().flatten().collect();
        let joined = !attrs.strs("recv_varnames")?.is_empty();
        let names = remote_names(p.op());
        let endpoints = attrs.strs("epmap")?.to_vec();
        if names.len() != endpoints.len() || joined && outs.len() != 1 {
            let what = format!("`recv` fetches {} variables from {} endpoints", names.len(), endpoints.len());
            return Err(Error::new(Kind::Argument, what).help("give one endpoint per variable or section"));
        }
        let declared: Vec<VarType> = p.out_vars("Out").into_iter().flatten().map(Var::ty).collect();
        let trainer = attrs.count("trainer_id")? as u32;
        let (disabled, all) = (attrs.int("do_not_run")? != 0, servers(p.program()));
        let fingerprint = fingerprint(p.program());
        // A startup program fetches whatever a communicator does.
        let trains = p.program().global().ops.iter().any(|op| op.op_type == "send");
        let mut pulled = HashMap::new();
        kernel(move |io| {
            if disabled {
                return Ok(());
            }
            let client = Client::of(io.runtime());
            let step = client.step();
            let mut step = step.lock();
            if let Some(communicator) = Communicator::of(io.runtime()).filter(|c| joined && trains && c.is_running())
                && communicator.latest(&names, &mut step.received)?
                && !names.iter().all(|name| step.received.has(name))
            {
                // Nothing newer than what is here already.
                return Ok(());
            }
            let missing: Vec<(String, String)> = endpoints
                .iter()
                .zip(&names)
                .filter(|(_, name)| !step.received.has(name))
                .map(|(to, name)| (to.clone(), name.clone()))
                .collect();
            if !missing.is_empty() {
                io.runtime().set_label(|| format!("trainer {trainer}"));
                client.resume(trainer, &all, &fingerprint)?;
                client.pull(trainer, &missing, &mut step.received)?;
            }
            if joined {
                join(io, outs[0], &names, &mut step.received, &mut pulled)?;
            } else {
                take(io, &outs, &names, &mut step.received)?;
            }
            outs.iter().zip(&declared).try_for_each(|(out, ty)| check(io, *out, ty))
        })
    }
}

/// The names of what a `recv` fetches, as servers know them.
pub(super) fn remote_names(op: &Op) -> Vec<String> {
    match op.attrs.get("recv_varnames") {
        Some(oarlock_ir::Attr::Strings(names)) if !names.is_empty() => names.clone(),
        _ => op.outputs.get("Out").iter().map(Name::to_string).collect(),
    }
}

/// A server of another program may know the same name.
fn check(io: &Io<'_>, out: Out, declared: &VarType) -> Result<()> {
    let value = io.value(In(out.0))?;
    let Value::Dense(tensor) = &*value else { return Ok(()) };
    if declared.kind != VarKind::Tensor || declared.dtype == tensor.dtype() && declared.shape.fits(tensor.dims()) {
        return Ok(());
    }
    let what = format!("arrived as {}{}, but is declared {declared}", tensor.dtype(), tensor.dims());
    Err(io
        .error(Kind::Shape, In(out.0), what)
        .help("the server serves another program: start all processes of a job with the same script and settings"))
}

fn take(io: &Io<'_>, outs: &[Out], names: &[String], received: &mut ReceivedVars) -> Result<()> {
    for (out, name) in outs.iter().zip(names) {
        if !received.take(name, &mut *io.write(*out)?) {
            return Err(io.op_error(Kind::Missing, format!("asked for `{name}`, and the reply does not contain it")));
        }
    }
    Ok(())
}

/// Puts sections one after the other.
fn join(
    io: &Io<'_>,
    out: Out,
    names: &[String],
    received: &mut ReceivedVars,
    parts: &mut HashMap<String, Value>,
) -> Result<()> {
    if let [name] = names {
        return take(io, &[out], std::slice::from_ref(name), received);
    }
    let (mut rows, mut bytes) = (0, 0);
    for name in names {
        let part = parts.entry(name.clone()).or_default();
        if !received.take(name, part) {
            return Err(io.op_error(Kind::Missing, format!("asked for `{name}`, and the reply does not contain it")));
        }
        let part = part.dense().map_err(|e| io.op_error(Kind::Argument, format!("fetched `{name}`, which {e}")))?;
        rows += part.rows();
        bytes += part.bytes().len();
    }
    let Some(first) = parts[&names[0]].dense().ok() else { return Ok(()) };
    let (dtype, dims) = (first.dtype(), first.dims().with_rows(rows));
    let mut whole = io.out(out)?;
    whole.resize(dtype, dims);
    if whole.bytes().len() != bytes {
        return Err(io.op_error(Kind::Shape, "fetched sections that do not belong together"));
    }
    let mut at = 0;
    for part in names.iter().filter_map(|name| parts[name].dense().ok()) {
        whole.bytes_mut()[at..at + part.bytes().len()].copy_from_slice(part.bytes());
        at += part.bytes().len();
    }
    Ok(())
}
