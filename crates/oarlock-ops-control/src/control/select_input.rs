//! `select_input`: one of several values, by number.

use oarlock_ir::{Dim, Error, Grad, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType, kernel, sig};

pub(crate) const OPS: &[&dyn OpDef] = &[&SelectInput];

struct SelectInput;

impl OpDef for SelectInput {
    sig! {
        "select_input": "Out = X[Mask]";
        in* "X": "tensors, arrays or rows";
        in "Mask": "one integer: which";
        out "Out": "a copy";
        traits Traits::NONE.maybe_empty(&["X"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        if let Some(ty) = common_type(cx.inputs("X")?) {
            cx.set("Out", ty);
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (xs, mask, out) = (p.inputs_by_position("X")?, p.input("Mask")?, p.output("Out")?);
        kernel(move |io| {
            let at = branch(io, mask, xs.len())?;
            let Some(x) = xs[at] else {
                return Err(io.error(Kind::Missing, mask, format!("selects input {at}, which is no variable")));
            };
            let value = io.value(x)?;
            if value.is_empty() {
                return Err(io.error(Kind::Missing, x, "is selected, but nothing has written it"));
            }
            io.write(out)?.copy_from(&value).map_err(|e| io.about(x.0, e))
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut op = g.make_keeping("select_output", &["Mask"], &[]);
        op.inputs.set("X", g.arguments("Out@GRAD"));
        op.outputs.set("Out", g.input_grads("X"));
        g.push(op)
    }
}

/// The type of the first, with sizes unknown where another differs.
fn common_type(types: Vec<VarType>) -> Option<VarType> {
    let mut types = types.into_iter();
    let mut first = types.next()?;
    for other in types {
        for (a, b) in first.shape.0.iter_mut().zip(&other.shape.0) {
            if a != b {
                *a = Dim::Any;
            }
        }
    }
    Some(first)
}

/// Which of `count` branches is meant.
pub(super) fn branch(io: &Io<'_>, mask: In, count: usize) -> Result<usize> {
    let found = io.index(mask)?;
    let out_of_range =
        || -> Error { io.error(Kind::Range, mask, format!("is {found}, but there are {count} branches")) };
    usize::try_from(found).ok().filter(|i| *i < count).ok_or_else(out_of_range)
}

#[test]
fn select_input() {
    use crate::testing::{check, noise, tensor_of, with_lod};
    let (a, b) = (noise([2], 1), with_lod(noise([3], 2), &[&[0, 1, 3]]));
    let select =
        |i: i32| check("select_input").inputs("X", vec![a.clone(), b.clone()]).input("Mask", tensor_of([1], &[i]));
    select(0).output("Out", a.clone()).run();
    select(1).output("Out", b.clone()).run();
    let text = select(2).any_output("Out").error();
    assert!(text.contains("input `Mask` = `Mask.0` is 2, but there are 2 branches"), "{text}");
}
