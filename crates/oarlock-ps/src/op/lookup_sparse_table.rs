//! `lookup_sparse_table`: rows of a server's part of a table; rows that were never looked up before are created.

use oarlock_ir::{Dim, Infer, Kernel, OpDef, Prepare, Result, VarType, sig};

use super::{COMMUNICATES, needs_cluster};

pub(super) const OPS: &[&dyn OpDef] = &[&LookupSparseTable];

struct LookupSparseTable;

impl OpDef for LookupSparseTable {
    sig! {
        "lookup_sparse_table": "Out = the rows of the table for the ids";
        in "W": "a server's part of a table";
        in "Ids": "i64 ids";
        out "Out": "one row per id";
        attr "padding_idx" = -1i64, "the row of this id is zero";
        attr "auto_grown_table" = true, "create rows on first use";
        attr "initializer" = Vec::<String>::new(),
            "the first values of the row of a new id and of its state: `variable:operator&attribute=value&...`";
        attr "entry" = "", "which ids get a row, as in `lookup_table`";
        attr "evict" = "", "which rows go by themselves, as in `lookup_table`";
        attr "is_test" = false, "only read: a row that does not exist is zero";
        traits COMMUNICATES;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let table = cx.input("W")?;
        let rows = oarlock_ir::product(&cx.input("Ids")?.shape);
        let width = table.shape.last().copied().unwrap_or(Dim::Any);
        cx.set("Out", VarType::tensor(table.dtype, vec![rows, width]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        needs_cluster(p, "the tables of a parameter server")
    }
}
