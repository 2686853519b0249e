//! The gradient of a table that is looked up several times, straight from the gradients of the rows: every `lookup_table_grad` and their
//! `sum` as one operator. Gradients are not copied into rows of their own before they are merged.

use std::cell::Ref;

use oarlock_ir::{
    Error, FuseBlock, Fusion, In, Infer, Io, Kernel, Name, Op, OpDef, Out, Pattern, Prepare, Result, Traits, VarKind,
    kernel, sig,
};
use oarlock_ops_array::embedding::lookup::table_dims;
use oarlock_tensor::merge::RowOrder;
use oarlock_tensor::{DType, Dims, Tensor, simd};

use super::lookup_sgd::{Gradients, Lookups, gradients, lookups_at};

pub(crate) const FUSIONS: &[&dyn Fusion] = &[&LOOKUP_SUM_FUSION];

const LOOKUP_SUM_FUSION: Pattern = Pattern {
    name: "lookup_sum",
    // It would take the `sum` away from both, which do more.
    after: &["lookup_concat_grad", "lookup_sgd"],
    ops: &[&LookupSum],
    find: sum_at,
};

/// The `sum` at `i` of the gradients of lookups: which operators disappear, and the fused one.
fn sum_at(g: &FuseBlock<'_>, i: usize) -> Option<(Vec<usize>, usize, Op)> {
    let sum = g.typed(i, "sum")?;
    let first = g.op(g.writer(sum.inputs.get("X").first()?)?)?;
    let table: Name = first.inputs.get("W").first()?.clone();
    let Lookups { gone, ids, grads } = lookups_at(g, i, &table)?;
    let mut op = Op::new("fused_lookup_sum").input("W", [table]).input("Ids", ids).input("Grad", grads);
    op = op.output("Out", sum.outputs.get("Out"));
    op.set_role(sum.role());
    let changes = |n: &Name, from: usize| op.inputs.args().any(|m| m == n) && g.written_between(n, from, i);
    let moved = gone.iter().any(|&k| g.op(k).is_some_and(|was| was.inputs.args().any(|n| changes(n, k))));
    (!moved).then_some((gone, i, op))
}

struct LookupSum;

impl OpDef for LookupSum {
    sig! {
        "fused_lookup_sum": "the gradient of W: every row that is looked up once, with the sum of its gradients";
        in "W": "the table; only its sizes are read";
        in* "Ids": "ids of each lookup";
        in*? "Grad": "gradient of each lookup that is not a product";
        in*? "Factor": "of each lookup whose gradients are products, a number for each id";
        in*? "Row": "of each of these, the rows that the numbers multiply; each serves as many ids";
        out "Out": "the rows, ascending";
        attr "products" = Vec::<bool>::new(), "for each lookup: are its gradients products? Empty if none are";
        traits Traits::NONE.shape_only(&["W"]);
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let table = cx.input("W")?;
        cx.set("Out", table.with_kind(VarKind::SelectedRows).with_lod(0));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let ids = p.inputs("Ids")?;
        let sum = Sum { table: p.input("W")?, grads: gradients(p, ids.len())?, ids, out: p.output("Out")? };
        let mut order = RowOrder::default();
        kernel(move |io| sum.run(io, &mut order))
    }
}

struct Sum {
    table: In,
    ids: Vec<In>,
    grads: Vec<Gradients>,
    out: Out,
}

impl Sum {
    fn run(&self, io: &Io<'_>, order: &mut RowOrder) -> Result<()> {
        let whole = table_dims(io, self.table)?;
        let width = whole[1];
        order.clear();
        let mut held = Vec::with_capacity(self.ids.len());
        for (part, (&ids, grads)) in self.ids.iter().zip(&self.grads).enumerate() {
            let tensor = io.dense(ids)?;
            let list = io.data::<i64>(ids, &tensor)?;
            grads.check(io, list.len(), list.len() * width, width)?;
            order.push(part, list);
            held.push((list.len(), Held::new(io, *grads)?));
        }
        let parts = held.iter().map(|(ids, held)| held.values(ids * width)).collect::<Result<Vec<Values<'_>>>>()?;
        let distinct = order.finish();
        let mut value = io.write(self.out)?;
        let to = value.rows_mut();
        to.height = whole[0] as i64;
        to.value.resize(DType::F32, Dims::from([distinct, width]));
        let sums = io.data_mut::<f32>(self.out, &mut to.value)?;
        order.gather_by(width, &mut to.rows, sums, |sum, part, at, first| parts[part].add(sum, at, first));
        Ok(())
    }
}

/// The tensors that hold the gradients of one lookup.
enum Held<'a> {
    Given(Ref<'a, Tensor>),
    Products { factors: Ref<'a, Tensor>, rows: Ref<'a, Tensor> },
}

/// Their elements.
enum Values<'a> {
    Given(&'a [f32]),
    /// Each row serves `count` ids.
    Products {
        factors: &'a [f32],
        rows: &'a [f32],
        count: usize,
    },
}

impl<'a> Held<'a> {
    fn new(io: &Io<'a>, grads: Gradients) -> Result<Held<'a>> {
        Ok(match grads {
            Gradients::Given(slot) => Held::Given(io.dense(slot)?),
            Gradients::Products { factors, rows } => {
                Held::Products { factors: io.dense(factors)?, rows: io.dense(rows)? }
            }
        })
    }

    /// For rows with this number of elements in all.
    fn values(&self, elements: usize) -> Result<Values<'_>> {
        Ok(match self {
            Held::Given(rows) => Values::Given(elements_of(rows)?),
            Held::Products { factors, rows } => {
                let (factors, rows) = (elements_of(factors)?, elements_of(rows)?);
                Values::Products { factors, rows, count: elements.checked_div(rows.len()).unwrap_or(1) }
            }
        })
    }
}

fn elements_of(tensor: &Tensor) -> Result<&[f32]> {
    tensor.data().map_err(|e| Error::internal(format!("a gradient that was checked {e}")))
}

impl Values<'_> {
    /// Adds the gradient of an id to a sum, or begins it.
    fn add(&self, sum: &mut [f32], at: usize, first: bool) {
        let width = sum.len();
        match (self, first) {
            (Values::Given(rows), true) => sum.copy_from_slice(&rows[at * width..][..width]),
            (Values::Given(rows), false) => simd::add_assign(sum, &rows[at * width..][..width]),
            (Values::Products { factors, rows, count }, _) => {
                let row = &rows[at / count * width..][..width];
                match first {
                    // A product of matrices adds to 0, which makes 0 of -0.
                    true => simd::scale_bias(sum, row, factors[at], 0.0),
                    false => simd::axpy(sum, factors[at], row),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lookup_times::tests::skip_gram_of;
    use crate::testing::FusionCheck;

    /// Rows of one table with a row and with three rows of another, some of them twice, and the gradients of both tables.
    fn products(first: &str) -> FusionCheck {
        skip_gram_of(37, first, [2, 7], [3, 0, 7, 2, 7, 6])
    }

    #[test]
    fn gradients_of_several_lookups_are_merged_as_they_are_computed() {
        let step = products("matmul(X: r0, Y: r1) {transpose_Y: true}");
        step.lacks(&["u@GRAD", "w@GRAD", "loss"], &["matmul", "matmul_grad"]);
        // The other sum is that of the two gradients of a dense tensor.
        step.run(&["u@GRAD", "w@GRAD", "loss"], &["fused_lookup_sum", "sum"]);
    }

    #[test]
    fn some_are_products_and_some_are_not() {
        let step = products("elementwise_mul(X: r0, Y: r1)");
        step.run(&["u@GRAD", "w@GRAD", "loss"], &["fused_lookup_sum"]);
    }

    #[test]
    fn partial_gradient_that_is_read_elsewhere_stays() {
        let step = products("elementwise_mul(X: r0, Y: r1)");
        step.run(&["w@GRAD", "w@GRAD@RENAME@block0@0", "loss"], &["sum", "sum"]);
    }
}
