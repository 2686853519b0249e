//! `sum`: adds tensors, selected rows or arrays; how gradients of a variable used several times are gathered.

use oarlock_ir::{
    Dim, EMPTY, Error, Grad, In, Infer, Io, Kernel, Kind, Op, OpDef, Out, Prepare, Result, Shape, VarKind, VarType,
    by_float, fail, kernel, sig,
};
use oarlock_tensor::{Dims, Float, SelectedRows, Tensor, Value};

use oarlock_ops_support::number::{Number, by_number};
use oarlock_tensor::merge::RowOrder;

pub(crate) const OPS: &[&dyn OpDef] = &[&Sum];

struct Sum;

impl OpDef for Sum {
    sig! {
        "sum": "Out = sum of all X; repeated rows are summed, rows ascend";
        in* "X": "tensors of one shape, selected rows of one height, or arrays; what nothing has written is left out";
        out "Out": "selected rows if all X are, else like the tensors or arrays";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let all = cx.inputs("X")?;
        let kind = [VarKind::TensorArray, VarKind::Tensor].into_iter().find(|k| all.iter().any(|x| x.kind == *k));
        let kind = kind.unwrap_or(VarKind::SelectedRows);
        let mut sized = all.iter().filter(|x| kind == VarKind::TensorArray || x.shape.numel() != Some(0));
        let Some(first) = sized.next().or(all.first()) else {
            fail!(Kind::Missing, "`sum` needs input `X`");
        };
        let mut shape = first.shape.clone();
        if kind != VarKind::TensorArray {
            for x in sized {
                shape = merge(&shape, &x.shape).ok_or_else(|| misfit(cx, first, x))?;
            }
        }
        let out = VarType { kind, dtype: first.dtype, shape, lod_level: all[0].lod_level };
        cx.set("Out", out);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (xs, out, dtype) = (p.inputs("X")?, p.output("Out")?, p.dtype("X")?);
        if dtype.is_float() {
            let mut order = RowOrder::default();
            return by_float!(p.float("X")?, T => kernel(move |io| match kind(io, &xs)? {
                VarKind::SelectedRows => sum_rows::<T>(io, &xs, out, &mut order),
                kind => sum::<T>(io, &xs, out, kind),
            }));
        }
        by_number!(dtype, T => kernel(move |io| sum::<T>(io, &xs, out, kind(io, &xs)?)), other => {
            fail!(Kind::DType, "`sum` works on f32, f64, i32 and i64, not on {other}")
        })
    }

    // Each X gets the whole gradient: a scale by 1 for each.
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        for grad in g.input_grads("X").into_iter().filter(|n| *n != EMPTY) {
            let mut op = Op::new("scale");
            op.site = g.op().site.clone();
            op.inputs.set("X", g.arguments("Out@GRAD"));
            op.outputs.set("Out", vec![grad]);
            op.attrs.set("scale", 1.0f32);
            g.push(op)?;
        }
        Ok(())
    }
}

/// The known sizes of two shapes that fit.
fn merge(a: &Shape, b: &Shape) -> Option<Shape> {
    let fits = a.rank() == b.rank() && a.iter().zip(b.iter()).all(|(a, b)| a.fits(*b));
    fits.then(|| Shape(a.iter().zip(b.iter()).map(|(a, b)| Dim::or(*a, *b)).collect()))
}

fn misfit(cx: &Infer<'_>, first: &VarType, other: &VarType) -> Error {
    cx.shape_error(format!("cannot add {first} and {other}"))
        .help("all `X` must have one shape; reshape or slice them first")
}

/// The kind of the result, by the values that the inputs hold now.
fn kind(io: &Io<'_>, xs: &[In]) -> Result<VarKind> {
    let mut found = None;
    for &x in xs {
        match &*io.value(x)? {
            Value::Array(_) => return Ok(VarKind::TensorArray),
            Value::Dense(_) => found = Some(VarKind::Tensor),
            Value::Rows(_) => found = found.or(Some(VarKind::SelectedRows)),
            _ => {}
        }
    }
    found.ok_or_else(|| io.op_error(Kind::Missing, "has nothing to add: none of its inputs has been written"))
}

fn sum<T: Number>(io: &Io<'_>, xs: &[In], out: Out, kind: VarKind) -> Result<()> {
    if kind == VarKind::TensorArray { sum_arrays::<T>(io, xs, out) } else { sum_dense::<T>(io, xs, out) }
}

fn sum_dense<T: Number>(io: &Io<'_>, xs: &[In], out: Out) -> Result<()> {
    let mut to = io.out(out)?;
    to.resize(T::DTYPE, Dims::EMPTY);
    for &x in xs {
        match &*io.value(x)? {
            Value::Empty => {}
            Value::Rows(rows) if rows.rows.is_empty() => {}
            Value::Rows(rows) => add_rows::<T>(io, x, rows, out, &mut to)?,
            Value::Dense(_) => add::<T>(io, x, &*io.dense(x)?, out, &mut to)?,
            other => {
                return Err(io.error(Kind::Argument, x, format_args!("is {}, but others are tensors", other.kind())));
            }
        }
    }
    if let Some(&first) = xs.first()
        && let Value::Dense(t) = &*io.value(first)?
    {
        to.set_lod(t.lod().clone());
    }
    Ok(())
}

/// Adds a tensor; the first one that has elements is copied.
fn add<T: Number>(io: &Io<'_>, x: In, from: &Tensor, out: Out, to: &mut Tensor) -> Result<()> {
    let from_data = io.data::<T>(x, from)?;
    if from.numel() == 0 {
        return Ok(());
    }
    if to.numel() == 0 {
        to.copy_from(from);
        return Ok(());
    }
    if to.dims() != from.dims() {
        return Err(io.error(Kind::Shape, x, format_args!("is {}, but others are {}", from.dims(), to.dims())));
    }
    T::add_to(io.data_mut::<T>(out, to)?, from_data);
    Ok(())
}

/// Adds selected rows to a whole matrix.
fn add_rows<T: Number>(io: &Io<'_>, x: In, from: &SelectedRows, out: Out, to: &mut Tensor) -> Result<()> {
    if to.numel() == 0 {
        to.resize(T::DTYPE, from.whole_dims());
        to.bytes_mut().fill(0);
    }
    let (whole, width) = (from.whole_dims(), from.width());
    if *to.dims() != whole {
        return Err(io.error(Kind::Shape, x, format_args!("is rows of {whole}, but others are {}", to.dims())));
    }
    let (values, to) = (io.data::<T>(x, &from.value)?, io.data_mut::<T>(out, to)?);
    for (i, row) in from.rows.iter().enumerate() {
        let at = checked_row(io, x, *row, from.height)? * width;
        T::add_to(&mut to[at..at + width], &values[i * width..][..width]);
    }
    Ok(())
}

fn checked_row(io: &Io<'_>, x: In, row: i64, height: i64) -> Result<usize> {
    if (0..height).contains(&row) {
        return Ok(row as usize);
    }
    Err(io.error(Kind::Range, x, format_args!("has row {row}, but rows are 0 to {}", height - 1)))
}

/// Adds selected rows to selected rows: each row once, ascending; values are added in the order of the inputs.
fn sum_rows<T: Float>(io: &Io<'_>, xs: &[In], out: Out, order: &mut RowOrder) -> Result<()> {
    let mut parts = Vec::with_capacity(xs.len());
    for &x in xs {
        if let Value::Rows(_) = &*io.value(x)? {
            parts.push((x, io.rows(x)?));
        }
    }
    // An input without rows may not know its width.
    let like = parts.iter().find(|(_, p)| !p.rows.is_empty()).or(parts.first());
    let Some(whole) = like.map(|(_, p)| p.whole_dims()) else { return Ok(()) };
    parts.retain(|(_, p)| !p.rows.is_empty());
    let mut values = Vec::with_capacity(parts.len());
    for (x, part) in &parts {
        if part.whole_dims() != whole || part.value.rows() != part.rows.len() {
            let what =
                format_args!("is {} rows of {}, but others are rows of {whole}", part.rows.len(), part.whole_dims());
            return Err(io.error(Kind::Shape, *x, what));
        }
        values.push(io.data::<T>(*x, &part.value)?);
    }
    let distinct = order.sort(parts.iter().map(|(_, p)| &p.rows[..]));
    let mut value = io.write(out)?;
    let to = value.rows_mut();
    to.height = whole[0] as i64;
    to.value.resize(T::DTYPE, whole.with_rows(distinct));
    let width = to.width();
    order.gather(width, &values, &mut to.rows, io.data_mut::<T>(out, &mut to.value)?);
    Ok(())
}

/// Adds arrays entry by entry; an entry that one of them lacks counts as zero.
fn sum_arrays<T: Number>(io: &Io<'_>, xs: &[In], out: Out) -> Result<()> {
    let mut value = io.write(out)?;
    let to = value.array_mut();
    to.clear();
    for &x in xs {
        let from = match &*io.value(x)? {
            Value::Empty => continue,
            _ => io.array(x)?,
        };
        for (i, item) in from.items().iter().enumerate() {
            add::<T>(io, x, item, out, to.at_mut(i))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use oarlock_tensor::{SelectedRows, TensorArray, Value};

    use crate::testing::{check, tensor, tensor_of};

    fn rows(rows: &[i64], data: &[f32]) -> Value {
        Value::Rows(SelectedRows { rows: rows.to_vec(), height: 6, value: tensor([rows.len(), 2], data) })
    }

    #[test]
    fn tensors() {
        check("sum")
            .inputs("X", vec![tensor([2], &[1.0, 2.0]), tensor([2], &[10.0, 20.0]), tensor([2], &[100.0, 200.0])])
            .output("Out", tensor([2], &[111.0, 222.0]))
            .grad(&["X"])
            .run();
        check("sum")
            .inputs("X", vec![tensor_of::<i64>([1], &[1]), tensor_of::<i64>([1], &[2])])
            .output("Out", tensor_of::<i64>([1], &[3]))
            .run();
    }

    #[test]
    fn rows_are_merged_and_sorted() {
        check("sum")
            .inputs(
                "X",
                vec![rows(&[4, 1], &[1.0, 2.0, 3.0, 4.0]), rows(&[1, 0, 1], &[10.0, 10.0, 0.5, 0.5, 20.0, 20.0])],
            )
            .output("Out", rows(&[0, 1, 4], &[0.5, 0.5, 33.0, 34.0, 1.0, 2.0]))
            .run();
    }

    #[test]
    fn rows_and_tensors() {
        let dense = || Value::from(tensor([6, 2], &[1.0; 12]));
        let some = || rows(&[5, 5], &[1.0, 2.0, 3.0, 4.0]);
        let mut sum = vec![1.0; 10];
        sum.extend([5.0, 7.0]);
        for inputs in [vec![dense(), some()], vec![some(), dense()]] {
            check("sum").inputs("X", inputs).output("Out", tensor([6, 2], &sum)).run();
        }
    }

    #[test]
    fn arrays() {
        let array =
            |items: &[&[f32]]| Value::Array(TensorArray::of(items.iter().map(|i| tensor([i.len()], i)).collect()));
        check("sum")
            .inputs("X", vec![array(&[&[1.0, 2.0], &[]]), array(&[&[10.0, 20.0], &[3.0], &[4.0]])])
            .output("Out", array(&[&[11.0, 22.0], &[3.0], &[4.0]]))
            .run();
    }

    #[test]
    fn mistakes() {
        let sum = check("sum").inputs("X", vec![tensor([2], &[1.0; 2]), tensor([3], &[1.0; 3])]).any_output("Out");
        assert_eq!(
            sum.error(),
            "error[shape]: `sum` cannot add f32[2] and f32[3]\n  at (`sum`, block 0, op 0)\n  \
             help: all `X` must have one shape; reshape or slice them first"
        );
        let outside = vec![Value::from(tensor([6, 2], &[1.0; 12])), rows(&[6], &[1.0, 2.0])];
        assert_eq!(
            check("sum").inputs("X", outside).any_output("Out").error(),
            "error[range]: `sum`: input `X` = `X.1` has row 6, but rows are 0 to 5\n  at (`sum`, block 0, op 0)"
        );
    }
}
