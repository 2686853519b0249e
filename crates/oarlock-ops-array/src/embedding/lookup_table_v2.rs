//! `lookup_table_v2`: rows of an embedding by ids of any shape.

use oarlock_ir::{Grad, Infer, Kernel, OpDef, Prepare, Result, sig};

use crate::embedding::lookup::{self, LookupGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&LookupTableV2, &GRAD];

struct LookupTableV2;

impl OpDef for LookupTableV2 {
    sig! {
        "lookup_table_v2": "Out[..., :] = W[Ids[...], :], zeros for padding_idx";
        in "W": "the table, rows by width; or the rows it holds so far, others being zeros";
        in "Ids": "ids";
        out "Out": "the rows: one dimension more than `Ids`, whose LoD it has";
        with lookup::attrs;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ids = cx.integer("Ids")?;
        lookup::infer(cx, ids.shape.to_vec())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        lookup::lookup_kernel(p, |ids, width| {
            let mut dims = *ids;
            dims.push(width);
            dims
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit_for(&GRAD)
    }
}

const GRAD: LookupGrad =
    LookupGrad { op_type: "lookup_table_v2_grad", forward: || LookupTableV2.sig(), prepare: lookup::grad_kernel };

#[cfg(test)]
mod tests {
    use oarlock_tensor::{SelectedRows, Value};

    use crate::testing::{check, tensor, tensor_of};

    #[test]
    fn rows_by_id() {
        check("lookup_table_v2")
            .input("W", tensor([3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
            .input("Ids", tensor_of([2, 2], &[2i64, 0, 2, 1]))
            .output("Out", tensor([2, 2, 2], &[5.0, 6.0, 1.0, 2.0, 5.0, 6.0, 3.0, 4.0]))
            .grad(&["W"])
            .run();
        check("lookup_table_v2")
            .input("W", tensor([3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
            .input("Ids", tensor_of::<i64>([0], &[]))
            .output("Out", tensor([0, 2], &[]))
            .run();
    }

    #[test]
    fn a_row_sparse_gradient_lists_the_ids_as_they_came() {
        let rows = SelectedRows { rows: vec![2, 0, 2], height: 3, value: tensor([3, 1], &[0.5, 1.0, 2.0]) };
        check("lookup_table_v2_grad")
            .input("W", tensor([3, 1], &[1.0, 2.0, 3.0]))
            .input("Ids", tensor_of([3], &[2i64, 0, 2]))
            .input("Out@GRAD", tensor([3, 1], &[0.5, 1.0, 2.0]))
            .attr("is_sparse", true)
            .attr("padding_idx", 0i64)
            .output("W@GRAD", Value::Rows(rows))
            .run();
    }

    #[test]
    fn an_id_outside_the_table_is_named() {
        let case = |id: i64| {
            check("lookup_table_v2")
                .input("W", tensor([3, 1], &[1.0, 2.0, 3.0]))
                .input("Ids", tensor_of([2], &[1i64, id]))
                .any_output("Out")
                .error()
        };
        assert_eq!(
            case(3),
            "error[range]: `lookup_table_v2`: input `Ids` = `Ids.0` holds id 3 at position 1, \
             but input `W` = `W.0` has 3 rows\n  \
             at (`lookup_table_v2`, block 0, op 0)\n  \
             help: ids must be at least 0 and less than 3: enlarge the table, or map the ids (id % 3)"
        );
        assert!(case(-2).contains("holds id -2 at position 1"));
    }
}
