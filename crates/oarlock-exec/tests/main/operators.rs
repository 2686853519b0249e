//! The operators of these tests, over vectors of f32.

use std::sync::atomic::Ordering;

use oarlock_ir::{Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Sig, Traits, checked_kernel, kernel};
use oarlock_tensor::{DType, Dims};

/// An operator made of functions.
struct TestOp {
    sig: fn() -> Sig,
    prepare: fn(&Prepare<'_>) -> Result<Box<dyn Kernel>>,
    traits: Traits,
}

impl OpDef for TestOp {
    fn sig(&self) -> Sig {
        (self.sig)()
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        (self.prepare)(p)
    }

    fn traits(&self) -> Traits {
        self.traits
    }
}

static ALL: [TestOp; 11] = [
    TestOp {
        sig: || Sig::new("fill", "a constant").output("Out", "").attr("value", 0.0f32, "").attr("size", 1, ""),
        prepare: fill,
        traits: Traits::NONE,
    },
    TestOp {
        sig: || Sig::new("double", "2 X, into memory of its own").input("X", "").output("Out", ""),
        prepare: |p| unary(p, |x| 2.0 * x),
        traits: Traits::NONE,
    },
    TestOp {
        sig: || Sig::new("invert", "1 / X").input("X", "").output("Out", ""),
        prepare: |p| unary(p, |x| 1.0 / x),
        traits: Traits::NONE,
    },
    TestOp {
        sig: || Sig::new("add", "X + Y, over X").input("X", "").input("Y", "").output("Out", ""),
        prepare: add,
        traits: Traits::X_TO_OUT,
    },
    TestOp {
        sig: || Sig::new("total", "sum of X").input("X", "").output("Out", ""),
        prepare: |p| total(p, |_, sum| Ok(sum)),
        traits: Traits::NONE,
    },
    TestOp {
        sig: || Sig::new("total_of_all", "sum of X over all replicas").input("X", "").output("Out", ""),
        prepare: |p| {
            total(p, |io, sum| {
                let mut sums = [f64::from(sum)];
                io.runtime().replica().map_or(Ok(()), |replica| replica.sum(&mut sums))?;
                Ok(sums[0] as f32)
            })
        },
        traits: Traits::NONE,
    },
    TestOp {
        sig: || {
            Sig::new("subtract", "Param - Grad; checks first")
                .input("Param", "")
                .input("Grad", "")
                .output("ParamOut", "")
        },
        prepare: subtract,
        traits: Traits::NONE.in_place(&[("Param", "ParamOut")]),
    },
    TestOp {
        sig: || {
            Sig::new("fail", "fails if X is larger than the limit")
                .input("X", "")
                .optional_output("Out", "")
                .attr("limit", 0.0f32, "")
        },
        prepare: fail,
        traits: Traits::NONE,
    },
    TestOp {
        sig: || Sig::new("stop", "asks all runs to stop"),
        prepare: |_| {
            kernel(|io| {
                io.runtime().stop_flag().store(true, Ordering::Relaxed);
                Ok(())
            })
        },
        traits: Traits::NONE.side_effect(),
    },
    TestOp {
        sig: || Sig::new("repeat", "runs a block").required_attr("sub_block", "").attr("times", 1, ""),
        prepare: |p| {
            let (block, times) = (p.block("sub_block")?, p.attrs().count("times")?);
            kernel(move |io| (0..times).try_for_each(|_| io.run_block(block)))
        },
        traits: Traits::NONE,
    },
    TestOp {
        sig: || Sig::new("feed", "what is fed").input("X", "").output("Out", "").attr("col", 0, ""),
        prepare: |_| kernel(|_| unreachable!("the executor feeds")),
        traits: Traits { port: Some(oarlock_ir::Port::Feed), ..Traits::NONE },
    },
];

pub(crate) fn all() -> impl Iterator<Item = &'static dyn OpDef> {
    ALL.iter().map(|op| op as &dyn OpDef)
}

fn fill(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let (out, value, size) = (p.output("Out")?, p.attrs().f32("value")?, p.attrs().count("size")?);
    kernel(move |io| {
        let mut t = io.out_sized(out, DType::F32, Dims::new(&[size]))?;
        io.data_mut::<f32>(out, &mut t)?.fill(value);
        Ok(())
    })
}

fn unary(p: &Prepare<'_>, f: fn(f32) -> f32) -> Result<Box<dyn Kernel>> {
    let (x, out) = (p.input("X")?, p.output("Out")?);
    kernel(move |io| {
        let from = io.dense(x)?;
        let mut t = io.out_sized(out, DType::F32, *from.dims())?;
        let to = io.data_mut::<f32>(out, &mut t)?;
        to.iter_mut().zip(io.data::<f32>(x, &from)?).for_each(|(to, x)| *to = f(*x));
        Ok(())
    })
}

fn add(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let (x, y, out) = (p.input("X")?, p.input("Y")?, p.output("Out")?);
    kernel(move |io| {
        let other = io.dense(y)?.data::<f32>().map(<[f32]>::to_vec).unwrap_or_default();
        let mut t = io.update(x, out)?;
        io.data_mut::<f32>(out, &mut t)?.iter_mut().zip(other).for_each(|(x, y)| *x += y);
        Ok(())
    })
}

fn total(p: &Prepare<'_>, agree: fn(&Io<'_>, f32) -> Result<f32>) -> Result<Box<dyn Kernel>> {
    let (x, out) = (p.input("X")?, p.output("Out")?);
    kernel(move |io| {
        let from = io.dense(x)?;
        let sum = io.data::<f32>(x, &from)?.iter().sum();
        let sum = agree(io, sum)?;
        let mut t = io.out_sized(out, DType::F32, Dims::new(&[1]))?;
        io.data_mut::<f32>(out, &mut t)?[0] = sum;
        Ok(())
    })
}

fn subtract(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let (param, grad, out) = (p.input("Param")?, p.input("Grad")?, p.output("ParamOut")?);
    let check = move |io: &Io<'_>| match io.scalar(grad)? {
        g if g.is_nan() => Err(io.error(Kind::Argument, grad, "is not a number")),
        _ => Ok(()),
    };
    checked_kernel(check, move |io| {
        let grad = io.scalar(grad)? as f32;
        let mut t = io.update(param, out)?;
        io.data_mut::<f32>(out, &mut t)?[0] -= grad;
        Ok(())
    })
}

fn fail(p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
    let (x, limit) = (p.input("X")?, f64::from(p.attrs().f32("limit")?));
    kernel(move |io| match io.scalar(x)? {
        found if found > limit => Err(io.op_error(Kind::Argument, format_args!("got {found}"))),
        _ => Ok(()),
    })
}
