//! `tdm_child`: the children of nodes of a tree.

use oarlock_ir::{Dim, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType, kernel, sig, slots};
use oarlock_ops_support::ints::Ints;
use oarlock_tensor::{DType, Element, MAX_RANK};

pub(crate) const OPS: &[&dyn OpDef] = &[&TdmChild];

/// The columns before the children in a row of the tree: item, layer, parent.
const HEAD: usize = 3;

struct TdmChild;

impl OpDef for TdmChild {
    sig! {
        "tdm_child":
            "Child[..., k] = the k-th child of the node X[...], LeafMask[..., k] = 1 where that child is an item; \
             zeros for node 0 and for a node without children";
        in "X": "nodes, i32 or i64";
        in "TreeInfo": "i32 or i64, a row per node: item (0 if it is none), layer, parent, children (0 for none)";
        out "Child": "one dimension more than `X`, of size child_nums";
        out "LeafMask": "like `Child`";
        attr "child_nums": "the most children a node has";
        attr "dtype" = DType::I32.proto(), "element type of the outputs";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        cx.integer("TreeInfo")?;
        let mut dims = cx.integer("X")?.shape.to_vec();
        dims.push(Dim::Is(cx.attrs().count("child_nums")?));
        let ty = VarType::tensor(cx.attrs().dtype("dtype")?, dims);
        cx.set("Child", ty.clone());
        cx.set("LeafMask", ty);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let children = Children::new(p)?;
        match p.attrs().dtype("dtype")? {
            DType::I64 => kernel(move |io| children.run::<i64>(io)),
            _ => kernel(move |io| children.run::<i32>(io)),
        }
    }
}

slots! {
    struct Children(p) {
        x: input "X",
        tree: input "TreeInfo",
        child: output "Child",
        mask: output "LeafMask",
        count: count "child_nums",
    }
}

impl Children {
    fn run<T: Element>(&self, io: &Io<'_>) -> Result<()> {
        let (x, tree) = (io.dense(self.x)?, io.dense(self.tree)?);
        let (nodes, width) = tree.dims().matrix(1);
        if width < HEAD + self.count || x.dims().rank() == MAX_RANK {
            let what =
                format!("is {}, but a row must hold item, layer, parent and {} children", tree.dims(), self.count);
            return Err(io.error(Kind::Shape, self.tree, what));
        }
        let (ids, tree) = (Ints::of(io, self.x, &x)?, Ints::of(io, self.tree, &tree)?);
        let mut dims = *x.dims();
        dims.push(self.count);
        let mut child = io.out_sized(self.child, T::DTYPE, dims)?;
        let child = io.data_mut::<T>(self.child, &mut child)?;
        let mut mask = io.out_sized(self.mask, T::DTYPE, dims)?;
        let mask = io.data_mut::<T>(self.mask, &mut mask)?;
        for (at, node) in ids.iter().enumerate() {
            let row = self.row(io, self.x, node, at, nodes)? * width;
            let has_children = node != 0 && self.count > 0 && tree.at(row + HEAD) != 0;
            for k in 0..self.count {
                let of = if has_children { tree.at(row + HEAD + k) } else { 0 };
                let item = has_children && tree.at(self.row(io, self.tree, of, row + HEAD + k, nodes)? * width) != 0;
                child[at * self.count + k] = T::from_i64(of);
                mask[at * self.count + k] = T::from_i64(item as i64);
            }
        }
        Ok(())
    }

    /// The row of a node, which `input` holds at position `at`.
    fn row(&self, io: &Io<'_>, input: In, node: i64, at: usize, nodes: usize) -> Result<usize> {
        if (node as u64) < nodes as u64 {
            return Ok(node as usize);
        }
        Err(io.error(Kind::Range, input, format!("holds node {node} at position {at}, but the tree has {nodes} nodes")))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, tensor_of};

    fn children(x: &[i64]) -> Check {
        let tree = [[0, 0, 0, 1, 2], [0, 1, 0, 3, 4], [7, 1, 0, 0, 0], [8, 2, 1, 0, 0], [9, 2, 1, 0, 0]];
        check("tdm_child")
            .input("X", tensor_of([x.len(), 1], x))
            .input("TreeInfo", tensor_of([5, 5], tree.as_flattened()))
            .attr("child_nums", 2)
    }

    #[test]
    fn of_each_node() {
        children(&[1, 0, 2])
            .output("Child", tensor_of([3, 1, 2], &[3, 4, 0, 0, 0, 0]))
            .output("LeafMask", tensor_of([3, 1, 2], &[1, 1, 0, 0, 0, 0]))
            .run();
    }

    #[test]
    fn a_node_that_is_not_there_is_named() {
        let e = children(&[0, 5]).any_output("Child").any_output("LeafMask").error();
        assert!(e.contains("`X.0` holds node 5 at position 1, but the tree has 5 nodes"), "{e}");
    }
}
