//! `lookup_table`: rows of an embedding by ids of shape `[..., 1]`.

use oarlock_ir::{Dim, Grad, Infer, Kernel, OpDef, Prepare, Result, Sig};

use crate::embedding::lookup::{self, LookupGrad};

pub(crate) const OPS: &[&dyn OpDef] = &[&LookupTable, &GRAD];

struct LookupTable;

impl OpDef for LookupTable {
    fn sig(&self) -> Sig {
        let sig = Sig::new("lookup_table", "Out[..., :] = W[Ids[..., 0], :], zeros for padding_idx")
            .input("W", "the table, rows by width; or the rows it holds so far, others being zeros")
            .input("Ids", "ids; the last size is 1")
            .output("Out", "the rows, with the LoD of `Ids`");
        lookup::attrs(sig).hints(&["grad_inplace"])
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let ids = cx.integer("Ids")?;
        match ids.shape.split_last() {
            Some((last, index)) if last.fits(Dim::Is(1)) => lookup::infer(cx, index.to_vec()),
            _ => Err(cx
                .shape_error(format!("needs ids whose last size is 1, but has {}", cx.describe("Ids")))
                .help("declare them with shape [..., 1], or use lookup_table_v2, which takes any shape")),
        }
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        lookup::lookup_kernel(p, |ids, width| {
            let mut dims = *ids;
            match dims.last_mut() {
                Some(last) => *last = width,
                None => dims.push(width),
            }
            dims
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        g.emit_for(&GRAD)
    }
}

const GRAD: LookupGrad =
    LookupGrad { op_type: "lookup_table_grad", forward: || LookupTable.sig(), prepare: lookup::grad_kernel };

#[cfg(test)]
mod tests {
    use crate::testing::{check, tensor, tensor_of, with_lod};

    #[test]
    fn rows_by_id() {
        check("lookup_table")
            .input("W", tensor([3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
            .input("Ids", with_lod(tensor_of([3, 1], &[2i64, 0, 2]), &[&[0, 1, 3]]))
            .output("Out", with_lod(tensor([3, 2], &[5.0, 6.0, 1.0, 2.0, 5.0, 6.0]), &[&[0, 1, 3]]))
            .grad(&["W"])
            .run();
    }

    #[test]
    fn the_padding_row_is_zeros_and_has_no_gradient() {
        check("lookup_table")
            .input("W", tensor([3, 1], &[1.0, 2.0, 3.0]))
            .input("Ids", tensor_of([2, 2, 1], &[1i32, 0, 2, 1]))
            .attr("padding_idx", 1i64)
            .output("Out", tensor([2, 2, 1], &[0.0, 1.0, 3.0, 0.0]))
            .grad(&["W"])
            .run();
    }

    #[test]
    fn a_table_that_grows_has_zeros_for_new_ids() {
        check("lookup_table")
            .rows_input("W", &[70, 20], 1_000_000_000_000, tensor([2, 1], &[7.0, 2.0]))
            .input("Ids", tensor_of([3, 1], &[20i64, 5, 70]))
            .output("Out", tensor([3, 1], &[2.0, 0.0, 7.0]))
            .run();
    }

    #[test]
    fn ids_must_have_a_last_size_of_one() {
        let e = check("lookup_table")
            .input("W", tensor([3, 1], &[1.0, 2.0, 3.0]))
            .input("Ids", tensor_of([2, 2], &[1i64, 0, 2, 1]))
            .any_output("Out")
            .error();
        assert_eq!(
            e,
            "error[shape]: `lookup_table` needs ids whose last size is 1, but has `Ids` = Ids.0 i64[2, 2]\n  \
             at (`lookup_table`, block 0, op 0)\n  \
             help: declare them with shape [..., 1], or use lookup_table_v2, which takes any shape"
        );
    }
}
