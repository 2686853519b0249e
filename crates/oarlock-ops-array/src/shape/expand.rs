//! `expand`: a tensor repeated along its axes.

use oarlock_ir::{Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Sig, Traits, by_float, kernel};
use oarlock_ops_support::double_gradient::{Places, emit_from};
use oarlock_ops_support::int_list::{IntList, Known};
use oarlock_tensor::Dims;

use crate::shape::tile::{tile, tile_grad};

pub(crate) const OPS: &[&dyn OpDef] = &[&Expand, &GRAD];

fn with_times(sig: Sig) -> Sig {
    sig.optional_input("ExpandTimes", "the numbers as one i32 tensor, instead of attribute `expand_times`")
        .optional_inputs("expand_times_tensor", "the numbers as i32 tensors of one number each, instead of all else")
        .attr("expand_times", Vec::<i32>::new(), "how often, along each axis")
}

struct Expand;

impl OpDef for Expand {
    fn sig(&self) -> Sig {
        let sig = Sig::new("expand", "Out = X repeated along its axes").input("X", "any tensor");
        with_times(sig.output("Out", "the size along each axis times how often"))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.input("X")?;
        let shape = match IntList::infer(cx, "expand_times", "ExpandTimes", "expand_times_tensor")? {
            Known::Length(_) => vec![Dim::Any; x.shape.rank()],
            Known::All(times) => {
                if times.len() != x.shape.rank() || times.iter().any(|t| *t < 1) {
                    let what = format!("cannot repeat {} {times:?} times", cx.describe("X"));
                    return Err(cx.shape_error(what).help("give a positive number for each axis"));
                }
                let size = |(d, t): (&Dim, &i64)| d.known().map_or(Dim::Any, |n| Dim::Is(n * *t as usize));
                x.shape.iter().zip(&times).map(size).collect()
            }
        };
        let lod = if shape.first() == x.shape.first() { x.lod_level } else { 0 };
        cx.set("Out", x.with_shape(shape).with_lod(lod));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, out, mut times) = (p.input("X")?, p.output("Out")?, Times::prepare(p)?);
        kernel(move |io| {
            let times = times.of(io, x)?;
            tile(io, x, out, &times)?;
            if times.first() == Some(&1) {
                io.out(out)?.set_lod(io.dense(x)?.lod().clone());
            }
            Ok(())
        })
    }
}

/// How often, along each axis.
struct Times {
    source: IntList,
    list: Vec<i64>,
}

impl Times {
    fn prepare(p: &Prepare<'_>) -> Result<Times> {
        let source = IntList::prepare(p, "expand_times", "ExpandTimes", "expand_times_tensor")?;
        Ok(Times { source, list: Vec::new() })
    }

    fn of(&mut self, io: &Io<'_>, x: In) -> Result<Dims> {
        self.source.read(io, &mut self.list)?;
        let mut times = *io.dense(x)?.dims();
        if times.rank() != self.list.len() || self.list.iter().any(|t| *t < 1) {
            let what = format_args!("is {times}, it cannot be repeated {:?} times", self.list);
            return Err(io.error(Kind::Shape, x, what).help("give a positive number for each axis"));
        }
        times.iter_mut().zip(&self.list).for_each(|(t, n)| *t = *n as usize);
        Ok(times)
    }
}

const GRAD: GradOp = GradOp::of(&Expand, "expand_grad(X, Out@GRAD, ExpandTimes, expand_times_tensor) -> X@GRAD")
    .doc("X@GRAD = the sum of Out@GRAD over the repetitions")
    .traits(Traits::NONE.shape_only(&["X"]))
    .grad(|g| {
        let reads = &[("ExpandTimes", "ExpandTimes"), ("expand_times_tensor", "expand_times_tensor")];
        emit_from(g, "expand", &Places { reads, grads: &[("X", "X@GRAD")], writes: &[("Out", "Out@GRAD")] })
    })
    .kernel(|p| {
        let (x, dout, dx, mut times) = (p.input("X")?, p.input("Out@GRAD")?, p.output("X@GRAD")?, Times::prepare(p)?);
        by_float!(p.float("Out@GRAD")?, T => kernel(move |io| {
            let times = times.of(io, x)?;
            tile_grad::<T>(io, x, dout, dx, &times)
        }))
    });

#[test]
fn expand() {
    use crate::testing::{check, noise, tensor, tensor_of};
    check("expand")
        .input("X", tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]))
        .attr("expand_times", vec![2, 2])
        .output(
            "Out",
            tensor([4, 4], &[1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0, 1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0]),
        )
        .grad(&["X"])
        .run();
    check("expand")
        .input("X", tensor_of::<i64>([1], &[7]))
        .inputs("expand_times_tensor", vec![tensor_of::<i32>([1], &[3])])
        .output("Out", tensor_of::<i64>([3], &[7, 7, 7]))
        .run();
    check("expand")
        .input("X", noise([2, 1, 3], 1))
        .attr("expand_times", vec![1, 4, 2])
        .any_output("Out")
        .grad(&["X"])
        .run();
    assert_eq!(
        check("expand").input("X", noise([2], 1)).attr("expand_times", vec![2, 2]).any_output("Out").error(),
        "error[shape]: `expand` cannot repeat `X` = X.0 f32[2] [2, 2] times\n  at (`expand`, block 0, op 0)\n  \
         help: give a positive number for each axis"
    );
}
