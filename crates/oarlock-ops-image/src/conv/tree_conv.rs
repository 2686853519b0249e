//! `tree_conv`: each node of a tree from the nodes below it, weighted by their depth and their place among siblings.

use oarlock_ir::{Dim, sig, slots};
use oarlock_ir::{
    GradOp, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Traits, VarType, by_float, fail, kernel,
};
use oarlock_ops_support::checks;
use oarlock_tensor::gemm::{GemmElem, Mat, gemm};
use oarlock_tensor::{Dims, Float, Tensor};

pub(crate) const OPS: &[&dyn OpDef] = &[&TreeConv, &TREE_CONV_GRAD];

struct TreeConv;

impl OpDef for TreeConv {
    sig! {
        "tree_conv":
            "Out[b, u] = the sum over the nodes v below u, less than max_depth deep, and u itself, of NodesVector[b, v] times the \
             three matrices of Filter, weighted by how far to the left, to the right and to the top of the subtree v stands";
        in "NodesVector": "[batch, nodes, features], f32 or f64; node 1 is the first row";
        in "EdgeSet": "[batch, edges, 2], i32: parent and child, counted from 1; an edge with a 0 ends the list";
        in "Filter": "[features, 3, size, filters]";
        out "Out": "[batch, nodes, size, filters]";
        attr "max_depth" = 2, "levels of a subtree that count; at least 2";
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        // The dtype of edges is that of what is fed: Fluid's own example declares floats.
        let (nodes, edges, filter) = (cx.float("NodesVector")?, cx.input("EdgeSet")?, cx.float("Filter")?);
        depth(&cx.attrs())?;
        let (&[batch, n, width], &[_, _, pair], &[features, three, size, filters]) =
            (&nodes.shape[..], &edges.shape[..], &filter.shape[..])
        else {
            return Err(mismatch(cx));
        };
        if !pair.fits(Dim::Is(2)) || !three.fits(Dim::Is(3)) || !width.fits(features) {
            return Err(mismatch(cx));
        }
        cx.set("Out", VarType::tensor(nodes.dtype, vec![batch, n, size, filters]));
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (trees, out) = (Trees::new(p)?, p.output("Out")?);
        by_float!(p.float("NodesVector")?, T => {
            let mut patches = Vec::<T>::new();
            kernel(move |io| {
                let inputs = (io.dense(trees.nodes)?, io.dense(trees.edges)?, io.dense(trees.filter)?);
                let sizes = trees.sizes(io, (&inputs.0, &inputs.1, &inputs.2))?;
                let dims = Dims::from([sizes.batch, sizes.nodes, inputs.2.dims()[2], inputs.2.dims()[3]]);
                let mut to = io.out_sized(out, inputs.0.dtype(), dims)?;
                trees.patches(io, &sizes, (&inputs.0, &inputs.1), &mut patches)?;
                let filter = Mat::new(io.data::<T>(trees.filter, &inputs.2)?, 3 * sizes.features, sizes.columns);
                let patches = Mat::new(&patches, sizes.batch * sizes.nodes, 3 * sizes.features);
                gemm(io.pool(), io.data_mut::<T>(out, &mut to)?, patches, filter, 1.0, 0.0);
                Ok(())
            })
        })
    }
}

fn mismatch(cx: &Infer<'_>) -> oarlock_ir::Error {
    let all = ["NodesVector", "EdgeSet", "Filter"].map(|slot| cx.describe(slot));
    cx.shape_error(format_args!("cannot use {} together", all.join(", ")))
        .help("they are [batch, nodes, features], [batch, edges, 2] and [features, 3, size, filters]")
}

fn depth(attrs: &oarlock_ir::AttrView<'_>) -> Result<usize> {
    match attrs.int("max_depth")? {
        depth if depth >= 2 => Ok(depth as usize),
        depth => fail!(Kind::Argument, "attribute `max_depth` is {depth}; it must be at least 2"),
    }
}

slots! {
    #[derive(Clone, Copy)]
    struct Trees(p) {
        nodes: input "NodesVector",
        edges: input "EdgeSet",
        filter: input "Filter",
        depth: usize = depth(&p.attrs())?,
    }
}

/// Checked sizes.
struct Sizes {
    batch: usize,
    nodes: usize,
    features: usize,
    /// Size times filters.
    columns: usize,
}

/// A node of a subtree, with its weights.
struct Member<T> {
    node: usize,
    /// Left, right and top.
    weights: [T; 3],
}

/// Where a node stands in a subtree.
struct Place {
    node: usize,
    /// Counted from 1 among the children of its parent, of which there are `siblings`.
    index: usize,
    siblings: usize,
    depth: usize,
}

impl Place {
    fn member<T: Float>(&self, max_depth: usize) -> Member<T> {
        let top = T::of((max_depth - self.depth) as f64) / T::of(max_depth as f64);
        let along = match self.siblings {
            1 => T::of(0.5),
            n => T::of((self.index - 1) as f64 / (n - 1) as f64),
        };
        let left = (T::ONE - top) * along;
        Member { node: self.node, weights: [left, (T::ONE - top) * (T::ONE - left), top] }
    }
}

impl Trees {
    fn sizes(&self, io: &Io<'_>, (nodes, edges, filter): (&Tensor, &Tensor, &Tensor)) -> Result<Sizes> {
        let &[batch, count, features] = &nodes.dims()[..] else {
            let what = format_args!("is {}, but must be [batch, nodes, features]", nodes.dims());
            return Err(io.error(Kind::Shape, self.nodes, what));
        };
        if edges.dims().rank() != 3 || edges.dims()[0] != batch || edges.dims()[2] != 2 {
            let what = format_args!("is {}, but must be [{batch}, edges, 2]", edges.dims());
            return Err(io.error(Kind::Shape, self.edges, what));
        }
        if filter.dims().rank() != 4 || filter.dims()[..2] != [features, 3] {
            let what = format_args!("is {}, but must be [{features}, 3, size, filters]", filter.dims());
            return Err(io.error(Kind::Shape, self.filter, what));
        }
        Ok(Sizes { batch, nodes: count, features, columns: filter.dims()[2] * filter.dims()[3] })
    }

    /// Calls `f` with every node of every subtree: the tree, the root of the subtree (counted from 0) and the member.
    fn each<T: Float>(
        &self,
        io: &Io<'_>,
        sizes: &Sizes,
        edges: &Tensor,
        mut f: impl FnMut(usize, usize, &Member<T>),
    ) -> Result<()> {
        let list = io.data::<i32>(self.edges, edges)?;
        let (mut stack, mut seen) = (Vec::new(), Vec::new());
        for (tree, list) in list.chunks_exact((edges.dims()[1] * 2).max(1)).take(sizes.batch).enumerate() {
            let (children, count) = children(io, self.edges, list, sizes.nodes)?;
            for root in 1..=count {
                seen.clear();
                seen.resize(sizes.nodes + 1, false);
                seen[root] = true;
                let first = Place { node: root, index: 1, siblings: 1, depth: 0 };
                f(tree, root - 1, &first.member(self.depth));
                stack.push((root, 0));
                // As Fluid does it: a node is done when no child of it is new.
                while let Some(&(node, depth)) = stack.last() {
                    let before = stack.len();
                    for (i, &child) in children[node].iter().enumerate() {
                        if !seen[child] && depth + 1 < self.depth {
                            seen[child] = true;
                            stack.push((child, depth + 1));
                            let siblings = children[node].len();
                            let place = Place { node: child, index: i + 1, siblings, depth: depth + 1 };
                            f(tree, root - 1, &place.member(self.depth));
                        }
                    }
                    if stack.len() == before {
                        stack.pop();
                    }
                }
            }
        }
        Ok(())
    }

    /// The features of every subtree: a row per node, for each feature its sums by the three weights.
    fn patches<T: Float>(
        &self,
        io: &Io<'_>,
        sizes: &Sizes,
        (nodes, edges): (&Tensor, &Tensor),
        patches: &mut Vec<T>,
    ) -> Result<()> {
        let (data, width) = (io.data::<T>(self.nodes, nodes)?, sizes.features);
        patches.clear();
        patches.resize(sizes.batch * sizes.nodes * 3 * width, T::ZERO);
        self.each(io, sizes, edges, |tree, root, member: &Member<T>| {
            let from = &data[(tree * sizes.nodes + member.node - 1) * width..][..width];
            let to = &mut patches[(tree * sizes.nodes + root) * 3 * width..][..3 * width];
            for (to, x) in to.chunks_exact_mut(3).zip(from) {
                to.iter_mut().zip(member.weights).for_each(|(to, weight)| *to += weight * *x);
            }
        })
    }
}

/// The children of every node, counted from 1, and how many nodes there are.
fn children(io: &Io<'_>, slot: In, list: &[i32], nodes: usize) -> Result<(Vec<Vec<usize>>, usize)> {
    let pairs = || list.chunks_exact(2).map(|pair| (pair[0], pair[1]));
    let count = pairs().filter(|&(parent, child)| parent != 0 && child != 0).count() + 1;
    let mut children = vec![Vec::new(); nodes + 1];
    for (parent, child) in pairs().take_while(|&(parent, child)| parent != 0 && child != 0) {
        let known = |node: i32| usize::try_from(node).ok().filter(|n| *n <= count && *n <= nodes);
        let (Some(from), Some(to)) = (known(parent), known(child)) else {
            let what = format_args!("has the edge {parent} to {child} of a tree with {} nodes", count.min(nodes));
            return Err(io
                .error(Kind::Range, slot, what)
                .help("nodes are counted from 1; a tree has one edge less than nodes"));
        };
        children[from].push(to);
    }
    if count > nodes && nodes > 0 {
        let what = format_args!("has {} edges, too many for {nodes} nodes", count - 1);
        return Err(io.error(Kind::Range, slot, what));
    }
    Ok((children, count.min(nodes)))
}

const TREE_CONV_GRAD: GradOp =
    GradOp::of(&TreeConv, "tree_conv_grad(Out@GRAD, Filter, EdgeSet, NodesVector) -> NodesVector@GRAD, Filter@GRAD")
        .doc("gradients of the features of nodes and of the filter")
        .infer(|cx| cx.grads_of(&["NodesVector", "Filter"]))
        .traits(Traits::NONE)
        .kernel(|p| {
            let (trees, dout) = (Trees::new(p)?, p.input("Out@GRAD")?);
            let outs = (p.maybe_output("NodesVector@GRAD")?, p.maybe_output("Filter@GRAD")?);
            by_float!(p.float("NodesVector")?, T => {
                let mut patches = Vec::<T>::new();
                kernel(move |io| backward(io, &trees, dout, outs, &mut patches))
            })
        });

fn backward<T: Float + GemmElem>(
    io: &Io<'_>,
    trees: &Trees,
    dout: In,
    (dnodes, dfilter): (Option<oarlock_ir::Out>, Option<oarlock_ir::Out>),
    patches: &mut Vec<T>,
) -> Result<()> {
    let (nodes, edges, filter) = (io.dense(trees.nodes)?, io.dense(trees.edges)?, io.dense(trees.filter)?);
    let sizes = trees.sizes(io, (&nodes, &edges, &filter))?;
    let (rows, width) = (sizes.batch * sizes.nodes, 3 * sizes.features);
    let d = io.dense(dout)?;
    let d = Mat::new(checks::sized::<T>(io, dout, &d, rows * sizes.columns)?, rows, sizes.columns);
    if let Some(out) = dfilter {
        trees.patches(io, &sizes, (&nodes, &edges), patches)?;
        let mut to = io.out_sized(out, T::DTYPE, *filter.dims())?;
        let to = io.data_mut::<T>(out, &mut to)?;
        gemm(io.pool(), to, Mat::new(patches, rows, width).t(), d, T::ONE, T::ZERO);
    }
    let Some(out) = dnodes else { return Ok(()) };
    patches.clear();
    patches.resize(rows * width, T::ZERO);
    let weights = Mat::new(io.data::<T>(trees.filter, &filter)?, width, sizes.columns);
    gemm(io.pool(), patches, d, weights.t(), T::ONE, T::ZERO);
    let mut to = io.out_sized(out, T::DTYPE, *nodes.dims())?;
    let to = io.data_mut::<T>(out, &mut to)?;
    to.fill(T::ZERO);
    trees.each(io, &sizes, &edges, |tree, root, member: &Member<T>| {
        let from = &patches[(tree * sizes.nodes + root) * width..][..width];
        let to = &mut to[(tree * sizes.nodes + member.node - 1) * sizes.features..][..sizes.features];
        for (to, d) in to.iter_mut().zip(from.chunks_exact(3)) {
            *to += d.iter().zip(member.weights).map(|(d, weight)| *d * weight).sum::<T>();
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, tensor_of};

    /// Node 1 has the children 2 and 3, node 2 the child 4.
    fn case(nodes: usize) -> Check {
        check("tree_conv")
            .input("NodesVector", noise([2, nodes, 2], 1))
            .input("EdgeSet", tensor_of::<i32>([2, 3, 2], &[1, 2, 1, 3, 2, 4, 1, 2, 0, 0, 0, 0]))
            .input("Filter", noise([2, 3, 2, 3], 2))
    }

    #[test]
    fn parents_see_their_children() {
        let features = tensor([1, 3, 1], &[1.0, 10.0, 100.0]);
        // The top weighs the root by 1 and its children by 1/2; the left child has left 0 and right 1/2, the right one 1/2 and 1/4.
        check("tree_conv")
            .input("NodesVector", features)
            .input("EdgeSet", tensor_of::<i32>([1, 2, 2], &[1, 2, 1, 3]))
            .input("Filter", tensor([1, 3, 1, 1], &[1.0, 0.001, 1000.0]))
            .output("Out", tensor([1, 3, 1, 1], &[56050.03, 10000.0, 100000.0]))
            .run();
    }

    #[test]
    fn gradients_go_up_and_down() {
        case(5).any_output("Out").grad(&["NodesVector", "Filter"]).run();
        case(4).attr("max_depth", 3).any_output("Out").grad(&["NodesVector", "Filter"]).run();
    }

    #[test]
    fn mistakes_are_named() {
        let e = case(3).any_output("Out").error();
        assert!(e.contains("input `EdgeSet` = `EdgeSet.0` has the edge 2 to 4 of a tree with 3 nodes"), "{e}");
        let e = case(4).attr("max_depth", 1).any_output("Out").error();
        assert!(e.contains("attribute `max_depth` is 1; it must be at least 2"), "{e}");
        let e = case(4).input("Filter", noise([3, 3, 2, 1], 1)).any_output("Out").error();
        assert!(
            e.contains("they are [batch, nodes, features], [batch, edges, 2] and [features, 3, size, filters]"),
            "{e}"
        );
    }
}
