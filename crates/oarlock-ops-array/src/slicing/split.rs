//! `split`: pieces of a tensor along an axis.

use oarlock_ir::{Dim, Grad, In, Infer, Io, Kernel, Kind, Op, OpDef, Prepare, Result, VarType, kernel, sig};

use crate::slicing::axis_blocks::{Axis, cut, unknown_like};

pub(crate) const OPS: &[&dyn OpDef] = &[&Split];

struct Split;

impl OpDef for Split {
    sig! {
        "split": "Out = pieces of X along an axis";
        in "X": "any tensor";
        in? "AxisTensor": "the axis as an i32 tensor of one number, instead of attribute `axis`";
        in*? "SectionsTensorList": "the sizes as i32 tensors of one number each, instead of `sections`";
        out* "Out": "the pieces";
        attr "axis" = 0, "the axis; negative ones count from the end";
        attr "num" = 0, "the number of pieces of one size; 0: use `sections`";
        attr "sections" = Vec::<i32>::new(), "the size of each piece; one may be -1 and takes what is left";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.input("X")?;
        let count = cx.op().outputs.get("Out").len();
        let axis = Axis::infer(cx, &x)?;
        let Some(axis) = axis.filter(|_| !cx.has("SectionsTensorList")) else {
            (0..count)
                .for_each(|i| cx.set_nth("Out", i, axis.map_or_else(|| unknown_like(&x), |a| along(&x, a, Dim::Any))));
            return Ok(());
        };
        let cut = Cut { num: cx.attrs().count("num")?, sections: cx.attrs().ints("sections")? };
        let mut sizes = Vec::new();
        match x.shape[axis] {
            Dim::Is(size) if !cut.sizes(size, count, &mut sizes) => {
                let what = format!("cannot cut {} into {} along axis {axis}", cx.describe("X"), cut.describe(count));
                return Err(cx.shape_error(what));
            }
            Dim::Is(_) => {}
            Dim::Any => sizes.clear(),
        }
        for i in 0..count {
            let asked = cut.sections.get(i).filter(|_| cut.num == 0).map_or(Dim::Any, |s| Dim::from_i64(*s));
            let size = sizes.get(i).map_or(asked, |s| Dim::Is(*s));
            cx.set_nth("Out", i, along(&x, axis, size));
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (x, outs, axis) = (p.input("X")?, p.outputs("Out")?, Axis::prepare(p)?);
        let mut how = Cut { num: p.attrs().count("num")?, sections: p.attrs().ints("sections")? };
        let tensors = p.inputs("SectionsTensorList")?;
        let mut sizes = Vec::new();
        kernel(move |io| {
            how.read(io, &tensors)?;
            let tensor = io.dense(x)?;
            let axis = axis.of(io, x, tensor.dims())?;
            if !how.sizes(tensor.dims()[axis], outs.len(), &mut sizes) {
                let what = format_args!(
                    "is {}, it cannot be cut into {} along axis {axis}",
                    tensor.dims(),
                    how.describe(outs.len())
                );
                return Err(io.error(Kind::Shape, x, what));
            }
            cut(io, &tensor, axis, &outs, |i| {
                let mut dims = *tensor.dims();
                dims[axis] = sizes[i];
                Ok(dims)
            })?;
            if axis > 0 && !tensor.lod().is_empty() {
                for out in outs.iter().flatten() {
                    io.out(*out)?.set_lod(tensor.lod().clone());
                }
            }
            Ok(())
        })
    }

    // What was cut is put together again.
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut op = Op::new("concat");
        op.site = g.op().site.clone();
        op.inputs.set("X", g.arguments("Out@GRAD"));
        if g.has("AxisTensor") {
            op.inputs.set("AxisTensor", g.arguments("AxisTensor"));
        }
        op.outputs.set("Out", g.input_grads("X"));
        op.attrs.set("axis", g.attr("axis").cloned().unwrap_or(0.into()));
        g.push(op)
    }
}

/// X with another size along an axis. Sequences stay where rows do.
pub(crate) fn along(x: &VarType, axis: usize, size: Dim) -> VarType {
    let mut ty = x.clone();
    ty.shape.0[axis] = size;
    if axis == 0 { ty.with_lod(0) } else { ty }
}

/// How to cut.
pub(crate) struct Cut {
    /// So many pieces of one size; 0: as `sections` says.
    pub(crate) num: usize,
    pub(crate) sections: Vec<i64>,
}

impl Cut {
    /// Takes the sizes from tensors, if there are some.
    fn read(&mut self, io: &Io<'_>, tensors: &[In]) -> Result<()> {
        if tensors.is_empty() {
            return Ok(());
        }
        self.sections.clear();
        for &t in tensors {
            self.sections.push(io.index(t)?);
        }
        Ok(())
    }

    /// The sizes of `count` pieces of `size`; false if there is no such cut.
    pub(crate) fn sizes(&self, size: usize, count: usize, to: &mut Vec<usize>) -> bool {
        to.clear();
        if let Some(each) = size.checked_div(self.num) {
            to.resize(count, each);
            return self.num == count && each * count == size;
        }
        let given: i64 = self.sections.iter().filter(|s| **s >= 0).sum();
        let open = self.sections.iter().filter(|s| **s < 0).count();
        let left = size as i64 - given;
        to.extend(self.sections.iter().map(|s| if *s < 0 { left.max(0) } else { *s } as usize));
        to.len() == count && if open == 0 { left == 0 } else { open == 1 && left >= 0 }
    }

    pub(crate) fn describe(&self, count: usize) -> String {
        if self.num > 0 {
            format!("{} equal pieces", self.num)
        } else {
            format!("{count} pieces of {:?}", self.sections)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, noise, tensor, tensor_of};

    #[test]
    fn sections() {
        let x = || tensor([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let out = || vec![tensor([2, 1], &[1.0, 4.0]).into(), tensor([2, 2], &[2.0, 3.0, 5.0, 6.0]).into()];
        let split = || check("split").input("X", x()).attr("axis", 1);
        split().attr("sections", vec![1, -1]).outputs("Out", out()).grad(&["X"]).run();
        let list = vec![tensor_of::<i32>([1], &[1]), tensor_of::<i32>([1], &[2])];
        split().inputs("SectionsTensorList", list).attr("sections", vec![-1, -1]).outputs("Out", out()).run();
    }

    #[test]
    fn equal_pieces() {
        let out = vec![tensor([1, 2], &[1.0, 2.0]).into(), tensor([1, 2], &[3.0, 4.0]).into()];
        let x = tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]);
        check("split").input("X", x).attr("num", 2).outputs("Out", out).grad(&["X"]).run();
        let wrong = check("split").input("X", noise([3, 2], 1)).attr("num", 2);
        assert_eq!(
            wrong.outputs("Out", vec![Default::default(), Default::default()]).error(),
            "error[shape]: `split` cannot cut `X` = X.0 f32[3, 2] into 2 equal pieces along axis 0\n  \
             at (`split`, block 0, op 0)"
        );
    }
}
