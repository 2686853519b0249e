//! `send`: sends variables, gradients as a rule, to the servers that hold them.
//!
//! Nothing leaves before all is there: what is sent waits until `send_barrier`, or until the last `send` of a program without
//! one, and then goes out as one exchange per server.

use oarlock_ir::{Error, In, Infer, Io, Kernel, Kind, Name, OpDef, Out, Prepare, Result, checked_kernel, kernel, sig};
use oarlock_tensor::{SelectedRows, Tensor, Value};

use super::{COMMUNICATES, wants};
use crate::client::{Client, Step};
use crate::communicator::Communicator;
use oarlock_transpile::ops::LATEST;
use oarlock_transpile::placement::server_of_id;

pub(super) const OPS: &[&dyn OpDef] = &[&Send];

/// A variable is split where it is queued, and not by a communicator: the program split it before.
pub(crate) const SPLIT_HERE: &str = "oarlock_split_here";

/// No operator reads a variable behind its `send`: it is moved to a communicator instead of copied.
pub(crate) const MOVE_INPUT: &str = "oarlock_move_input";

struct Send;

impl OpDef for Send {
    sig! {
        "send": "sends each variable of X to its endpoint";
        in*? "X": "tensors or selected rows; none if only a communicator wants to know that a step ended";
        out*? "Out": "holds nothing; what reads it comes after the send";
        attr "epmap" = vec!["127.0.0.1:6164".to_string()], "the endpoint of each variable, or of each section";
        attr "send_varnames" = Vec::<String>::new(), "the names on the servers, if X is split while it is sent";
        attr "sections" = Vec::<i64>::new(), "the rows of each section, if X is split while it is sent";
        attr "trainer_id" = 0, "who sends";
        attr "num" = 0, "not used";
        attr "merge_add" = false, "add up what waits to be sent, rather than average it";
        attr "counts" = 0, "how many numbers at the end of each row are added up even where what waits is averaged";
        attr "use_send_handler" = true, "send as a variable; otherwise as a notice that the server acts upon";
        attr LATEST = false, "send the latest of what waits to be sent, rather than add it up or average it";
        attr SPLIT_HERE = false, "X is split where it is queued, not by a communicator";
        attr MOVE_INPUT = false, "no operator reads X behind this";
        traits COMMUNICATES;
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let sends = Sends::new(p)?;
        let trainer = p.attrs().count("trainer_id")? as u32;
        let flush = is_last_without_barrier(p).then(|| wants(p.program()));
        if sends.endpoints.is_empty() {
            return checked_kernel(check_ids(&sends), move |io| match Communicator::of(io.runtime()) {
                Some(communicator) => communicator.take(io, &sends),
                // Only a communicator would want to know.
                None => Ok(()),
            });
        }
        kernel(move |io| {
            let communicator = Communicator::of(io.runtime());
            if let Some(communicator) = communicator.filter(|c| sends.is_for_communicator() || c.is_sync()) {
                return communicator.take(io, &sends);
            }
            let client = Client::of(io.runtime());
            sends.queue(io, &mut client.step().lock())?;
            match &flush {
                Some(wants) => client.exchange(trainer, None, wants, &client.prefetch(io.runtime())),
                None => Ok(()),
            }
        })
    }
}

/// A step that a communicator only counts stands behind the optimizers, and what can fail there would make parameters be
/// kept for undoing: with this check it cannot.
fn check_ids(sends: &Sends) -> impl Fn(&Io<'_>) -> Result<()> + std::marker::Send + use<> {
    let ids: Vec<In> = if sends.starts() { Vec::new() } else { sends.inputs.iter().map(|(x, _)| *x).collect() };
    move |io| ids.iter().try_for_each(|x| io.data::<i64>(*x, &*io.dense(*x)?).map(drop))
}

/// The variables that a `send` sends, and their servers.
#[derive(Debug, Clone)]
pub(crate) struct Sends {
    pub(crate) inputs: Vec<(In, Name)>,
    pub(crate) endpoints: Vec<String>,
    /// The names on the servers, if X is split while it is sent.
    pub(crate) names: Vec<String>,
    sections: Vec<i64>,
    pub(crate) adds: bool,
    /// Of several that wait the latest counts.
    pub(crate) latest: bool,
    split_here: bool,
    move_input: bool,
    /// The numbers at the end of a row that are added up in any case.
    pub(crate) counts: usize,
    /// A count, or a learning rate, that every server wants to know.
    pub(crate) to_all: bool,
}

impl Sends {
    fn new(p: &Prepare<'_>) -> Result<Sends> {
        let attrs = p.attrs();
        let inputs: Vec<(In, Name)> = p.inputs("X")?.into_iter().zip(p.op().inputs.get("X").iter().cloned()).collect();
        let sends = Sends {
            endpoints: attrs.strs("epmap")?.to_vec(),
            names: attrs.strs("send_varnames")?.to_vec(),
            sections: attrs.ints("sections")?,
            adds: attrs.bool("merge_add")?,
            latest: attrs.bool(LATEST)?,
            split_here: attrs.bool(SPLIT_HERE)?,
            move_input: attrs.bool(MOVE_INPUT)?,
            counts: attrs.count("counts")?,
            to_all: !attrs.bool("use_send_handler")?,
            inputs,
        };
        sends.check()?;
        Ok(sends)
    }

    fn check(&self) -> Result<()> {
        let (x, to, names, sections) = (self.inputs.len(), self.endpoints.len(), self.names.len(), self.sections.len());
        let fits = match () {
            _ if to == 0 || self.to_all => true,
            _ if names == 0 => x == to,
            _ => x == 1 && names == to && (sections == 0 || sections == to),
        };
        if fits {
            return Ok(());
        }
        let what = format!("`send` has {x} variables, {to} endpoints, {names} names and {sections} sections");
        Err(Error::new(Kind::Argument, what)
            .help("give one endpoint per variable, or a name and an endpoint per section"))
    }

    /// Is it a communicator that sends it, or that counts steps by it?
    fn is_for_communicator(&self) -> bool {
        self.is_split() && !self.split_here || self.endpoints.is_empty()
    }

    /// Gives a communicator the variable that is split; `held` is memory for it.
    pub(crate) fn give(&self, io: &Io<'_>, held: &mut Value) -> Result<()> {
        let x = self.inputs[0].0;
        if self.move_input {
            std::mem::swap(&mut *io.write(Out(x.0))?, held);
            return Ok(());
        }
        copy(&*io.value(x)?, held)
    }

    /// Does it say that parameters are in place, rather than which rows a step looked up?
    pub(crate) fn starts(&self) -> bool {
        self.names.iter().any(|name| name == "param_init")
    }

    /// Is a variable split while it is sent?
    pub(crate) fn is_split(&self) -> bool {
        !self.names.is_empty()
    }

    fn queue(&self, io: &Io<'_>, step: &mut Step) -> Result<()> {
        let values = self.inputs.iter().map(|(x, _)| io.value(*x)).collect::<Result<Vec<_>>>()?;
        self.queue_values(&values.iter().map(|value| &**value).collect::<Vec<_>>(), step)
    }

    /// Lays variables, one for each input, aside for their servers.
    pub(crate) fn queue_values(&self, values: &[&Value], step: &mut Step) -> Result<()> {
        if self.to_all {
            let name = self.names.first().map_or(self.inputs[0].1.as_str(), String::as_str);
            return self.endpoints.iter().try_for_each(|to| step.put(to, name, |slot| copy(values[0], slot)));
        }
        if self.is_split() {
            return self.queue_value(values[0], step);
        }
        let mut each = self.inputs.iter().zip(values).zip(&self.endpoints);
        each.try_for_each(|(((_, name), value), to)| step.put(to, name, |slot| copy(value, slot)))
    }

    /// Queues the parts of a variable that is split for their servers.
    pub(crate) fn queue_value(&self, value: &Value, step: &mut Step) -> Result<()> {
        if self.to_all {
            return self.endpoints.iter().try_for_each(|to| step.put(to, &self.names[0], |slot| copy(value, slot)));
        }
        self.split(value, |part, fill| step.put(&self.endpoints[part], &self.names[part], fill))
    }

    /// Hands out each part of a value; `put` says where it goes.
    fn split(
        &self,
        value: &Value,
        mut put: impl FnMut(usize, &mut dyn FnMut(&mut Value) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let servers = self.endpoints.len();
        let mut first = 0;
        for part in 0..servers {
            let rows = self.sections.get(part).copied().unwrap_or(0);
            let range = first..first + rows;
            put(part, &mut |slot| match value {
                Value::Rows(all) if self.sections.is_empty() => {
                    rows_where(all, slot, |id| (server_of_id(id, servers) == part).then_some(id))
                }
                Value::Rows(all) if servers == 1 => rows_where(all, slot, Some),
                Value::Rows(all) if all.rows.is_sorted() => rows_between(all, range.clone(), slot),
                Value::Rows(all) => {
                    rows_where(all, slot, |id| range.contains(&id).then(|| id - range.start))?;
                    slot.rows_mut().height = range.end - range.start;
                    Ok(())
                }
                Value::Dense(all) if servers == 1 => copy_dense(all, slot),
                Value::Dense(all) => rows_of(all, range.clone(), slot),
                other => Err(Error::new(Kind::Argument, format!("{} cannot be sent", other.kind()))),
            })?;
            first += rows;
        }
        Ok(())
    }
}

pub(crate) fn copy(value: &Value, into: &mut Value) -> Result<()> {
    into.copy_from(value).map_err(|e| Error::new(Kind::Argument, format!("a variable that is sent {e}")))
}

fn copy_dense(all: &Tensor, into: &mut Value) -> Result<()> {
    into.dense_mut().copy_from(all);
    Ok(())
}

/// Some rows of a dense tensor.
fn rows_of(all: &Tensor, range: std::ops::Range<i64>, into: &mut Value) -> Result<()> {
    let (rows, bytes) = (all.rows(), all.bytes());
    if range.end as usize > rows {
        let what = format!("rows up to {} of a gradient are sent, which has {rows}", range.end);
        return Err(Error::new(Kind::Shape, what).help("transpile the program that is run"));
    }
    let row = bytes.len().checked_div(rows).unwrap_or(0);
    let to = into.dense_mut();
    to.resize(all.dtype(), all.dims().with_rows((range.end - range.start) as usize));
    to.bytes_mut().copy_from_slice(&bytes[range.start as usize * row..range.end as usize * row]);
    Ok(())
}

/// The rows of a range, which stand together.
fn rows_between(all: &SelectedRows, range: std::ops::Range<i64>, into: &mut Value) -> Result<()> {
    let [from, to] = [range.start, range.end].map(|end| all.rows.partition_point(|id| *id < end));
    let row = all.value.bytes().len().checked_div(all.rows.len()).unwrap_or(0);
    let part = into.rows_mut();
    part.height = range.end - range.start;
    part.rows.clear();
    part.rows.extend(all.rows[from..to].iter().map(|id| id - range.start));
    part.value.resize(all.value.dtype(), all.value.dims().with_rows(to - from));
    part.value.bytes_mut().copy_from_slice(&all.value.bytes()[from * row..to * row]);
    Ok(())
}

/// The rows that `name` gives a name to.
fn rows_where(all: &SelectedRows, into: &mut Value, name: impl Fn(i64) -> Option<i64>) -> Result<()> {
    let to = into.rows_mut();
    to.height = all.height;
    to.rows.clear();
    to.rows.extend(all.rows.iter().filter_map(|id| name(*id)));
    to.value.resize(all.value.dtype(), all.value.dims().with_rows(to.rows.len()));
    let row = all.value.bytes().len().checked_div(all.rows.len()).unwrap_or(0);
    let from = all.value.bytes();
    let wanted = all.rows.iter().enumerate().filter(|(_, id)| name(**id).is_some()).map(|(at, _)| at);
    for (at, to) in wanted.zip(to.value.bytes_mut().chunks_mut(row.max(1))) {
        to.copy_from_slice(&from[at * row..][..row]);
    }
    Ok(())
}

/// Is nothing sent after this, and no barrier waited for?
fn is_last_without_barrier(p: &Prepare<'_>) -> bool {
    let ops = &p.program().global().ops;
    let barrier = ops.iter().any(|op| op.op_type == "send_barrier");
    let last = ops.iter().rev().find(|op| op.op_type == "send");
    !barrier && last.is_some_and(|last| last.outputs.get("Out") == p.op().outputs.get("Out"))
}
