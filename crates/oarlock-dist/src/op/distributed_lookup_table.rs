//! `distributed_lookup_table`: rows of a table that lives on servers, for several tensors of ids at once.

use oarlock_ir::{Dim, Infer, Kernel, Name, Op, OpDef, Prepare, Result, Sig, Traits, VarType};
use oarlock_tensor::DType;

use super::{COMMUNICATES, needs_cluster};

pub(super) const OPS: &[&dyn OpDef] = &[&DistributedLookupTable];

/// A lookup of `ids` in `table`. Where its blocks live is added by attribute.
pub(crate) fn distributed_lookup_table(ids: Vec<Name>, table: &Name, rows: Vec<Name>, dtype: DType) -> Op {
    Op::new("distributed_lookup_table")
        .input("Ids", ids)
        .input("W", [table])
        .output("Outputs", rows)
        .attr("dtype", dtype.proto())
}

struct DistributedLookupTable;

impl OpDef for DistributedLookupTable {
    fn sig(&self) -> Sig {
        Sig::new("distributed_lookup_table", "Outputs[k] = the rows of the table for Ids[k]")
            .inputs("Ids", "i64 ids")
            .input("W", "the table as declared; it is on the servers, and only its width is read")
            .outputs("Outputs", "one per tensor of ids")
            .required_attr("table_names", "the blocks of the table")
            .required_attr("endpoints", "the server of each block")
            .attr("height_sections", Vec::<i64>::new(), "the rows of each block")
            .attr("padding_idx", -1i64, "the row of this id is zero")
            .attr("trainer_id", 0, "who asks")
            .attr("lookup_table_version", "lookup_table", "which of the two lookups this one replaces")
            .attr("dtype", DType::F32.proto(), "the element type of the rows")
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let table = cx.input("W")?;
        let width = table.shape.last().copied().unwrap_or(Dim::Any);
        let drops_last = cx.attrs().str("lookup_table_version")? == "lookup_table";
        for (n, ids) in cx.inputs("Ids")?.into_iter().enumerate() {
            let mut shape = ids.shape.0.clone();
            if drops_last {
                shape.pop();
            }
            shape.push(width);
            cx.set_nth("Outputs", n, VarType::tensor(table.dtype, shape).with_lod(ids.lod_level));
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        needs_cluster(p, "parameter servers")
    }

    fn traits(&self) -> Traits {
        COMMUNICATES
    }
}
