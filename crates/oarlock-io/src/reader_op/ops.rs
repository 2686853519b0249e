//! The operators of readers: those that make one in a startup program, and `read`.

use std::sync::Arc;

use oarlock_ir::{
    Error, In, Infer, Io, Kernel, Kind, Name, NextBatch, OpDef, Prepare, Result, Sig, Traits, Var, VarDType, VarType,
    kernel, sig,
};
use oarlock_tensor::{Tensor, Value};
use parking_lot::Mutex;

use super::batched::Batched;
use super::prefetch::{DoubleBuffer, PrefetchReader};
use super::record_files::RecordFiles;
use super::shuffled::Shuffled;
use super::tensor_queue::TensorQueue;
use super::{ReaderVar, TensorReader, WeakReader};

pub(crate) const OPS: [&dyn OpDef; 6] =
    [&ReadOp, &CreatePyReader, &OpenFiles, &CREATE_SHUFFLE, &CREATE_BATCH, &CREATE_DOUBLE_BUFFER];

const SIDE_EFFECT: Traits = Traits::GRADIENT_FREE.side_effect();

/// `read`.
struct ReadOp;

/// The next batch of a program's `read`.
struct Read {
    /// Not kept alive by this: a reader ends with its variable.
    reader: WeakReader,
    names: Vec<Name>,
}

impl NextBatch for Read {
    fn peek(&mut self, names: &[Name], look: &mut dyn FnMut(&[&Tensor])) {
        let (all, Some(mut reader)) = (&self.names, self.reader.get()) else { return };
        reader.peek(&mut |tensors| {
            let find = |name| all.iter().position(|n| n == name).and_then(|at| tensors.get(at));
            if let Some(found) = names.iter().map(find).collect::<Option<Vec<&Tensor>>>() {
                look(&found);
            }
        });
    }
}

impl OpDef for ReadOp {
    sig! {
        "read": "takes the next tensors of a reader; at the end of a pass the run fails with the kind `EndOfData`";
        in "Reader": "a reader variable";
        out* "Out": "as many variables as the reader has tensors";
        attr "throw_eof_exp" = true, "the end of a pass is an error; anything else is refused";
        attr "drop_last" = true, "no effect: batches come as they are made";
        attr "infer_out" = true, "no effect: types come from the reader variable";
        traits SIDE_EFFECT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let reads = reads_of(cx);
        let outs = cx.op().outputs.get("Out").len();
        if !reads.is_empty() && reads.len() != outs {
            let what = format!("`read` has {outs} outputs, but the reader has {} tensors", reads.len());
            return Err(Error::new(Kind::Argument, what));
        }
        for (i, ty) in reads.into_iter().enumerate() {
            cx.set_nth("Out", i, ty);
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        if !p.attrs().bool("throw_eof_exp")? {
            return Err(Error::new(Kind::Unsupported, "`read` without `throw_eof_exp` would train on nothing"));
        }
        let (reader, outs) = (p.input("Reader")?, p.outputs("Out")?);
        let names = p.op().outputs.get("Out").to_vec();
        let declared: Vec<Option<Var>> = p.out_vars("Out").into_iter().map(|v| v.cloned()).collect();
        kernel(move |io| {
            let mut from = reader_of(io, reader)?;
            // Among replicas it is not known who takes the next batch.
            let next = io.runtime().next_batches();
            if io.runtime().replica().is_none() && next.is_wanted() {
                next.set(Arc::new(Mutex::new(Read { reader: from.weak(), names: names.clone() })));
            }
            let Some(tensors) = from.next(&io.runtime().stop_flag())? else {
                let what = format!("{} has no more data", io.describe(reader));
                return Err(Error::new(Kind::EndOfData, what).help("the pass is over: call reset() of the reader"));
            };
            if tensors.len() != outs.len() {
                let what = format!("has {} tensors, but {} are read", tensors.len(), outs.len());
                return Err(io.error(Kind::Format, reader, what));
            }
            for ((out, tensor), var) in outs.iter().zip(tensors).zip(&declared) {
                if let Some(out) = out {
                    check(var.as_ref(), &tensor)?;
                    *io.write(*out)? = Value::Dense(tensor);
                }
            }
            Ok(())
        })
    }
}

/// Checks a tensor against the declared variable, as for tensors that are fed.
fn check(var: Option<&Var>, tensor: &Tensor) -> Result<()> {
    let Some(var) = var.filter(|v| v.need_check_feed) else { return Ok(()) };
    let wrong = |kind| {
        let (dtype, dims) = (tensor.dtype(), tensor.dims());
        Error::new(kind, format!("`{}` is declared {}, but a tensor of {dtype}{dims} is read", var.name, var.ty()))
    };
    if var.dtype != VarDType::Is(tensor.dtype()) {
        let dtype = var.ty().dtype;
        let help = format!("let the reader yield {dtype}, for example with .astype('{}')", dtype.name());
        return Err(wrong(Kind::DType).help(help));
    }
    if !var.shape.fits(tensor.dims()) {
        return Err(wrong(Kind::Shape).help("every size but `?` must be as declared"));
    }
    Ok(())
}

/// The types that the reader variable of an operator declares.
fn reads_of(cx: &Infer<'_>) -> Vec<VarType> {
    let name = cx.op().inputs.get("Reader").first();
    name.and_then(|n| cx.program().global().var(n)).map(|v| v.reads.clone()).unwrap_or_default()
}

fn reader_of(io: &Io<'_>, input: In) -> Result<ReaderVar> {
    let value = io.value(input)?;
    match ReaderVar::of(&value) {
        Some(reader) => Ok(reader.clone()),
        None => Err(io.error(Kind::Argument, input, format_args!("is {}, not a reader", value.kind()))),
    }
}

/// The attributes with which Fluid describes what a reader reads. Here the reader variable itself says it.
fn described(sig: Sig) -> Sig {
    sig.attr("shape_concat", Vec::<i64>::new(), "no effect: the reader variable says what it reads")
        .attr("lod_levels", Vec::<i64>::new(), "no effect, as above")
        .attr("dtypes", Vec::<i64>::new(), "no effect, as above")
        .attr("need_check_feed", Vec::<i64>::new(), "no effect, as above")
        .attr("ranks", Vec::<i64>::new(), "no effect, as above")
}

/// `create_py_reader`.
struct CreatePyReader;

impl OpDef for CreatePyReader {
    fn sig(&self) -> Sig {
        let sig = Sig::new("create_py_reader", "makes a reader of a queue that is filled from outside")
            .input("blocking_queue", "a variable that holds the queue")
            .output("Out", "the reader")
            .attr("device_index", 0, "no effect: everything is on the CPU")
            .attr("device_count", 1, "no effect, as above");
        described(sig)
            // Not there, it is to be told otherwise than a parameter without a value.
            .traits(SIDE_EFFECT.maybe_empty(&["blocking_queue"]))
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (queue, out) = (p.input("blocking_queue")?, p.output("Out")?);
        kernel(move |io| {
            let queue = match TensorQueue::of(&*io.value(queue)?) {
                Some(found) => found.clone(),
                None => {
                    let help =
                        "run the startup program in the scope that was the global one when the network was built";
                    return Err(io.error(Kind::Argument, queue, "holds no queue").help(help));
                }
            };
            *io.write(out)? = ReaderVar::new(queue).into_value();
            Ok(())
        })
    }
}

/// `open_files`.
struct OpenFiles;

impl OpDef for OpenFiles {
    sig! {
        "open_files": "makes a reader of RecordIO files";
        out "Out": "the reader";
        attr "file_names": "the files";
        attr "thread_num" = 1, "threads that read; with one, the order of the files is kept";
        attr "buffer_size" = 100, "records that are kept ready";
        attr "pass_num" = 1, "how often all files are read before the end";
        attr "is_test" = false, "keeps the order of the files: one thread reads";
        with described;
        traits SIDE_EFFECT;
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let a = p.attrs();
        let names = a.strs("file_names")?.to_vec();
        if names.is_empty() {
            return Err(Error::new(Kind::Argument, "`open_files` needs at least one file"));
        }
        let count = |name: &str| Ok::<usize, Error>(usize::try_from(a.int(name)?).unwrap_or(1).max(1));
        let files = Arc::new(RecordFiles {
            names,
            threads: if a.bool("is_test")? { 1 } else { count("thread_num")? },
            buffer: count("buffer_size")?,
            passes: count("pass_num")?,
            types: p.out_vars("Out").first().copied().flatten().map(|v| v.reads.clone()).unwrap_or_default(),
        });
        let out = p.output("Out")?;
        kernel(move |io| {
            *io.write(out)? = ReaderVar::new(PrefetchReader::new(files.clone())).into_value();
            Ok(())
        })
    }
}

/// An operator that makes a reader of another.
struct Decorate {
    sig: fn() -> Sig,
    wrap: fn(&Prepare<'_>) -> Result<Wrap>,
}

type Wrap = Box<dyn Fn(ReaderVar) -> ReaderVar + Send>;

const CREATE_SHUFFLE: Decorate = Decorate {
    sig: || {
        over("create_shuffle_reader", "a reader of another reader's items in random order")
            .required_attr("buffer_size", "items that are kept to choose from")
            .attr("seed", 0, "which order; the same in every run")
    },
    wrap: |p| {
        let (size, seed) = (positive(p, "buffer_size")?, p.attrs().int("seed")? as u64);
        Ok(Box::new(move |inner| ReaderVar::new(Shuffled::new(inner, size, seed))))
    },
};

const CREATE_BATCH: Decorate = Decorate {
    sig: || {
        over("create_batch_reader", "a reader of several items of another reader as one")
            .required_attr("batch_size", "items that become one")
            .attr("discard_leftover", true, "leave out an incomplete last batch")
    },
    wrap: |p| {
        let (size, discard) = (positive(p, "batch_size")?, p.attrs().bool("discard_leftover")?);
        Ok(Box::new(move |inner| ReaderVar::new(Batched::new(inner, size, discard))))
    },
};

const CREATE_DOUBLE_BUFFER: Decorate = Decorate {
    sig: || {
        over("create_double_buffer_reader", "a reader that reads another one ahead in a thread").attr(
            "place",
            "AUTO",
            "no effect: everything is on the CPU",
        )
    },
    wrap: |_| {
        // A reader that prefetches already gains nothing from a second queue.
        Ok(Box::new(|inner| match inner.prefetches() {
            true => inner,
            false => ReaderVar::new(PrefetchReader::new(DoubleBuffer(inner))),
        }))
    },
};

fn over(op_type: &'static str, doc: &'static str) -> Sig {
    Sig::new(op_type, doc).input("UnderlyingReader", "the other reader").output("Out", "the reader")
}

fn positive(p: &Prepare<'_>, attr: &str) -> Result<usize> {
    match usize::try_from(p.attrs().int(attr)?) {
        Ok(n) if n > 0 => Ok(n),
        _ => Err(Error::new(Kind::Argument, format!("`{attr}` of `{}` must be larger than 0", p.op().op_type))),
    }
}

impl OpDef for Decorate {
    fn sig(&self) -> Sig {
        (self.sig)().traits(SIDE_EFFECT)
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (inner, out, wrap) = (p.input("UnderlyingReader")?, p.output("Out")?, (self.wrap)(p)?);
        kernel(move |io| {
            let made = wrap(reader_of(io, inner)?);
            *io.write(out)? = made.into_value();
            Ok(())
        })
    }
}
