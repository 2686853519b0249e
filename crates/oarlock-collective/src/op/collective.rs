//! The operators by which collective workers exchange values: `c_allreduce_sum` and its like, `c_broadcast`, `c_allgather`,
//! `c_reducescatter`, and the older `allreduce` and `broadcast`. They share one file because they differ in one word.

use std::sync::Arc;

use oarlock_ir::{Dim, In, Infer, Io, Kernel, Kind, Op, OpDef, Out, Prepare, Result, Sig, Traits, fail, kernel};
use oarlock_tensor::Value;
use oarlock_transpile::ops::{WAITS, WEIGHT};

use super::EXCHANGES;
use crate::{Groups, Item, Reduce, Stream};

pub(super) const OPS: &[&dyn OpDef] = &[
    &Exchange {
        op_type: "c_allreduce_sum",
        does: Does::Reduce(Reduce::Sum),
        doc: "Out = the sum of X over all workers",
    },
    &Exchange {
        op_type: "c_allreduce_prod",
        does: Does::Reduce(Reduce::Prod),
        doc: "Out = the product of X over all workers",
    },
    &Exchange {
        op_type: "c_allreduce_max",
        does: Does::Reduce(Reduce::Max),
        doc: "Out = the largest X of all workers",
    },
    &Exchange {
        op_type: "c_allreduce_min",
        does: Does::Reduce(Reduce::Min),
        doc: "Out = the smallest X of all workers",
    },
    &Exchange { op_type: "allreduce", does: Does::ReduceByNumber, doc: "Out = X of all workers, joined" },
    &Exchange { op_type: "c_broadcast", does: Does::Broadcast, doc: "Out = X of the worker `root`" },
    &Exchange { op_type: "broadcast", does: Does::Broadcast, doc: "Out = X of the worker `root`" },
    &Exchange { op_type: "c_allgather", does: Does::Gather, doc: "Out = X of all workers, one after the other" },
    &Exchange {
        op_type: "c_reducescatter",
        does: Does::Scatter,
        doc: "Out = this worker's slice of the sum of X over all workers",
    },
];

/// A plain sum, whether or not workers have data.
const PLAIN: f32 = -1.0;

struct Exchange {
    op_type: &'static str,
    does: Does,
    doc: &'static str,
}

#[derive(Clone, Copy)]
enum Does {
    Reduce(Reduce),
    /// As the attribute `reduce_type` says.
    ReduceByNumber,
    Broadcast,
    Gather,
    Scatter,
}

impl OpDef for Exchange {
    fn sig(&self) -> Sig {
        let sig = Sig::new(self.op_type, self.doc).input("X", "any tensor");
        let hints = ["use_calc_stream", "use_model_parallel", "sync_mode"];
        let ring = |sig: Sig| sig.attr("ring_id", 0, "which ring").hints(&hints);
        match self.does {
            Does::Reduce(_) => ring(sig.output("Out", "like `X`")).attr(
                WEIGHT,
                PLAIN,
                "the weight of this worker's X; a sum is scaled up for workers of weight 0. Below 0: a plain sum",
            ),
            Does::ReduceByNumber => ring(sig.output("Out", "like `X`")).attr(
                "reduce_type",
                0,
                "0: sum, 1: product, 2: largest, 3: smallest",
            ),
            Does::Broadcast => ring(sig.output("Out", "like `X`")).attr("root", 0, "the rank that has the value"),
            Does::Gather => ring(sig.output("Out", "as many rows as all workers have"))
                .required_attr("nranks", "how many workers there are"),
            Does::Scatter => {
                ring(sig.output("Out", "the rows of one worker")).attr("nranks", 1, "how many workers there are")
            }
        }
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ranks = match self.does {
            Does::Gather | Does::Scatter => cx.attrs().count("nranks")?.max(1),
            _ => return cx.same("Out", "X"),
        };
        let mut ty = cx.input("X")?;
        if let Some(Dim::Is(rows)) = ty.shape.0.first_mut() {
            match self.does {
                Does::Gather => *rows *= ranks,
                _ if rows.is_multiple_of(ranks) => *rows /= ranks,
                _ => fail!(Kind::Shape, "`{}` cannot split {rows} rows into {ranks} slices", self.op_type),
            }
        }
        cx.set("Out", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let args = Args::new(p)?;
        match self.does {
            Does::Reduce(how) => reduce(p, args, how),
            Does::ReduceByNumber => {
                let how = match p.attrs().int("reduce_type")? {
                    0 => Reduce::Sum,
                    1 => Reduce::Prod,
                    2 => Reduce::Max,
                    3 => Reduce::Min,
                    other => fail!(Kind::Argument, "`allreduce` has the reduce_type {other}, which is none of 0 to 3"),
                };
                kernel(move |io| args.reduce_now(io, how))
            }
            Does::Broadcast => {
                let root = p.attrs().count("root")?;
                kernel(move |io| args.broadcast(io, root))
            }
            Does::Gather => kernel(move |io| args.gather(io)),
            Does::Scatter => kernel(move |io| args.scatter(io)),
        }
    }

    fn traits(&self) -> Traits {
        match self.does {
            Does::Gather | Does::Scatter => EXCHANGES,
            _ => EXCHANGES.in_place(&[("X", "Out")]),
        }
    }
}

/// A sum may go on beside the computation if the next operator that touches the variable waits for it.
fn reduce(p: &Prepare<'_>, args: Args, how: Reduce) -> Result<Box<dyn Kernel>> {
    let weight = Some(p.attrs().f32(WEIGHT)?).filter(|weight| *weight >= 0.0);
    if is_awaited(p) {
        return kernel(move |io| {
            let stream = args.stream(io)?;
            let mut value = io.write(args.out)?;
            let Value::Dense(tensor) = std::mem::take(&mut *value) else {
                return Err(io.error(Kind::Argument, args.x, "is no tensor, and only tensors are summed over workers"));
            };
            let item = Item { place: args.out.0, name: args.name.clone(), tensor, weighted: weight.is_some() };
            stream.put(item, how, weight)
        });
    }
    kernel(move |io| args.reduce_now(io, how))
}

/// Is the variable next read by the operator that waits for exchanges?
fn is_awaited(p: &Prepare<'_>) -> bool {
    let op = p.op();
    let Some([name]) = Some(op.inputs.get("X")).filter(|x| *x == op.outputs.get("Out")) else { return false };
    let same = |other: &Op| other.op_type == op.op_type && other.inputs.get("X") == op.inputs.get("X");
    let found = p.program().blocks().iter().find_map(|block| Some((&block.ops, block.ops.iter().position(same)?)));
    let Some((ops, at)) = found else { return false };
    let touches = |other: &&Op| {
        other.inputs.args().chain(other.outputs.args()).any(|arg| arg == name) || !other.sub_blocks().is_empty()
    };
    ops[at + 1..].iter().find(touches).is_some_and(|next| next.op_type == WAITS)
}

/// The arguments of every exchange.
struct Args {
    x: In,
    out: Out,
    ring: i32,
    name: String,
}

impl Args {
    fn new(p: &Prepare<'_>) -> Result<Args> {
        let name = p.op().inputs.get("X").first().map(ToString::to_string).unwrap_or_default();
        Ok(Args { x: p.input("X")?, out: p.output("Out")?, ring: p.attrs().int("ring_id")? as i32, name })
    }

    fn stream(&self, io: &Io<'_>) -> Result<Arc<Stream>> {
        Groups::of(io.runtime()).ring(self.ring)
    }

    /// The stream, once it is idle: an exchange of this thread must not come in between.
    fn quiet(&self, io: &Io<'_>) -> Result<Arc<Stream>> {
        let stream = self.stream(io)?;
        stream.drain()?;
        Ok(stream)
    }

    fn reduce_now(&self, io: &Io<'_>, how: Reduce) -> Result<()> {
        let stream = self.quiet(io)?;
        let mut data = io.update(self.x, self.out)?;
        let dtype = data.dtype();
        stream.group().all_reduce_bytes(&self.name, dtype, data.bytes_mut(), how)
    }

    fn broadcast(&self, io: &Io<'_>, root: usize) -> Result<()> {
        if Groups::of(io.runtime()).is_behind() {
            // The others are at work already: before the first step this rank gets their variables.
            return io.update(self.x, self.out).map(drop);
        }
        let stream = self.quiet(io)?;
        let mut data = io.update(self.x, self.out)?;
        let dtype = data.dtype();
        stream.group().broadcast_bytes(&self.name, dtype, data.bytes_mut(), root)
    }

    fn gather(&self, io: &Io<'_>) -> Result<()> {
        let stream = self.quiet(io)?;
        let own = io.dense(self.x)?;
        let rows = own.rows() * stream.group().world();
        let mut all = io.out_sized(self.out, own.dtype(), own.dims().with_rows(rows))?;
        stream.group().all_gather_bytes(&self.name, own.dtype(), own.bytes(), all.bytes_mut())
    }

    fn scatter(&self, io: &Io<'_>) -> Result<()> {
        let stream = self.quiet(io)?;
        let (all, world) = (io.dense(self.x)?, stream.group().world());
        if !all.rows().is_multiple_of(world) {
            let what = format!("has {} rows, which are not {world} slices", all.rows());
            return Err(io.error(Kind::Shape, self.x, what));
        }
        let mut own = io.out_sized(self.out, all.dtype(), all.dims().with_rows(all.rows() / world))?;
        let dtype = all.dtype();
        stream.group().reduce_scatter_bytes(&self.name, dtype, all.bytes(), own.bytes_mut(), Reduce::Sum)
    }
}
