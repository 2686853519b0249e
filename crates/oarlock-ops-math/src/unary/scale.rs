//! `scale`: a factor and a summand for every element.

use oarlock_ir::{Attr, Grad, Infer, Io, Kernel, Kind, Op, OpDef, Prepare, Result, Traits};
use oarlock_ir::{checked_kernel, fail, sig, slots};
use oarlock_ops_support::number::{Number, by_number};
use oarlock_tensor::{Tensor, Value};

pub(crate) const OPS: &[&dyn OpDef] = &[&Scale];

struct Scale;

impl OpDef for Scale {
    sig! {
        "scale": "Out = scale * X + bias, or scale * (X + bias)";
        in "X": "any tensor of numbers, or selected rows";
        in? "ScaleTensor": "one number, instead of attribute `scale`";
        out "Out": "like `X`";
        attr "scale" = 1.0f32, "the factor; integers take its whole part";
        attr "bias" = 0.0f32, "the summand; integers take its whole part";
        attr "bias_after_scale" = true, "add the summand after multiplying, not before";
        traits Traits::X_TO_OUT;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.same("Out", "X")
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let s = Scaling::new(p)?;
        by_number!(p.dtype("X")?, T => {
            checked_kernel(move |io| s.check::<T>(io), move |io| s.run::<T>(io))
        }, other => {
            fail!(Kind::DType, "`scale` works on f32, f64, i32 and i64, not on {other}")
        })
    }

    // The gradient of a scale is a scale of the gradient.
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let grads = g.input_grads("X");
        let mut op = Op::new("scale");
        op.site = g.op().site.clone();
        op.inputs.set("X", g.arguments("Out@GRAD"));
        if g.has("ScaleTensor") {
            op.inputs.set("ScaleTensor", g.arguments("ScaleTensor"));
        }
        op.outputs.set("Out", grads);
        op.attrs.set("scale", g.attr("scale").cloned().unwrap_or(Attr::Float(1.0)));
        op.attrs.set("bias", 0.0f32);
        op.attrs.set("bias_after_scale", true);
        g.push(op)
    }
}

slots! {
    #[derive(Clone, Copy)]
    struct Scaling(p) {
        x: input "X",
        out: output "Out",
        factor: f32 "scale",
        factor_tensor: maybe_input "ScaleTensor",
        bias: f32 "bias",
        bias_after: bool "bias_after_scale",
    }
}

impl Scaling {
    /// Everything that could fail; what passes here runs to the end.
    fn check<T: Number>(&self, io: &Io<'_>) -> Result<()> {
        if let Some(tensor) = self.factor_tensor {
            io.scalar(tensor)?;
        }
        match &*io.value(self.x)? {
            Value::Rows(rows) => io.data::<T>(self.x, &rows.value).map(|_| ()),
            _ => io.data::<T>(self.x, &*io.dense(self.x)?).map(|_| ()),
        }
    }

    fn run<T: Number>(&self, io: &Io<'_>) -> Result<()> {
        let factor = match self.factor_tensor {
            Some(tensor) => io.scalar(tensor)? as f32,
            None => self.factor,
        };
        let (a, b) = (T::from_f64(factor.into()), T::from_f64(self.bias.into()));
        if self.bias_after {
            self.map::<T>(io, |v| a.times(v).plus(b))
        } else {
            self.map::<T>(io, |v| a.times(v.plus(b)))
        }
    }

    fn map<T: Number>(&self, io: &Io<'_>, f: impl Fn(T) -> T) -> Result<()> {
        let mut to = io.write(self.out)?;
        if self.out.is(self.x) {
            let tensor = match &mut *to {
                Value::Rows(rows) => &mut rows.value,
                other => other.dense_mut(),
            };
            io.data_mut::<T>(self.out, tensor)?.iter_mut().for_each(|v| *v = f(*v));
            return Ok(());
        }
        match &*io.value(self.x)? {
            Value::Rows(from) => {
                let to = to.rows_mut();
                to.rows.clear();
                to.rows.extend_from_slice(&from.rows);
                to.height = from.height;
                self.copy::<T>(io, &from.value, &mut to.value, f)
            }
            _ => self.copy::<T>(io, &*io.dense(self.x)?, to.dense_mut(), f),
        }
    }

    fn copy<T: Number>(&self, io: &Io<'_>, from: &Tensor, to: &mut Tensor, f: impl Fn(T) -> T) -> Result<()> {
        to.resize(T::DTYPE, *from.dims());
        to.set_lod(from.lod().clone());
        let from = io.data::<T>(self.x, from)?;
        io.data_mut::<T>(self.out, to)?.iter_mut().zip(from).for_each(|(t, v)| *t = f(*v));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use oarlock_tensor::{SelectedRows, Value};

    use crate::testing::{check, tensor, tensor_of};

    #[test]
    fn scale() {
        let x = || tensor([3], &[1.0, -2.0, 0.5]);
        let scale = |after: bool| {
            check("scale").input("X", x()).attr("scale", 2.0f32).attr("bias", 1.0f32).attr("bias_after_scale", after)
        };
        scale(true).output("Out", tensor([3], &[3.0, -3.0, 2.0])).grad(&["X"]).run();
        scale(false).output("Out", tensor([3], &[4.0, -2.0, 3.0])).grad(&["X"]).run();
        check("scale")
            .input("X", x())
            .input("ScaleTensor", tensor([1], &[3.0]))
            .output("Out", tensor([3], &[3.0, -6.0, 1.5]))
            .run();
    }

    #[test]
    fn integers_take_the_whole_part() {
        check("scale")
            .input("X", tensor_of::<i64>([2], &[3, -1]))
            .attr("scale", 2.7f32)
            .attr("bias", 0.9f32)
            .output("Out", tensor_of::<i64>([2], &[6, -2]))
            .run();
    }

    #[test]
    fn selected_rows() {
        let rows = SelectedRows { rows: vec![3, 0], height: 5, value: tensor([2, 1], &[2.0, 4.0]) };
        check("scale")
            .rows_input("X", &[3, 0], 5, tensor([2, 1], &[1.0, 2.0]))
            .attr("scale", 2.0f32)
            .output("Out", Value::Rows(rows))
            .run();
    }
}
