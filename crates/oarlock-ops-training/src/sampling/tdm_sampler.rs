//! `tdm_sampler`: for each item the nodes on its path through a tree, and other nodes of the same layers.

use oarlock_ir::{AttrView, Dim, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Traits, VarType, sig, slots};
use oarlock_ir::{fail, kernel};
use oarlock_ops_support::ints::Ints;
use oarlock_tensor::rng::{Mt19937x64, uniform_int};
use oarlock_tensor::{DType, Dims, Element};

pub(crate) const OPS: &[&dyn OpDef] = &[&TdmSampler];

struct TdmSampler;

impl OpDef for TdmSampler {
    sig! {
        "tdm_sampler":
            "Out holds, layer by layer, the node of that layer on the path of the item X[i] (if output_positive), with label 1, \
             then as many other nodes of the layer as neg_samples_num_list says, each once, with label 0. \
             Where a path has ended (node 0) node, label and mask are 0; elsewhere the mask is 1";
        in "X": "items, i32 or i64";
        in "Travel": "i32 or i64, a row per item: the node of each layer on its path";
        in "Layer": "i32 or i64: the nodes of all layers, one layer after the other";
        out "Out": "a row per item";
        out? "Labels": "like `Out`";
        out "Mask": "like `Out`";
        attr "neg_samples_num_list" = Vec::<i32>::new(), "how many other nodes of each layer";
        attr "layer_offset_lod" = Vec::<i32>::new(), "where each layer begins in `Layer`, and the end";
        attr "output_positive" = true, "put the node of the path first";
        attr "seed" = 0, "of the other nodes; 0 for others in each step";
        attr "dtype" = DType::I32.proto(), "element type of the outputs";
        traits Traits::GRADIENT_FREE;
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let x = cx.integer("X")?;
        let columns: usize = layers(&cx.attrs())?.iter().map(|l| l.columns()).sum();
        let rows = x.shape.first().copied().unwrap_or(Dim::Any);
        let ty = VarType::tensor(cx.attrs().dtype("dtype")?, vec![rows, Dim::Is(columns)]);
        for slot in ["Out", "Labels", "Mask"] {
            cx.set(slot, ty.clone());
        }
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let mut sampler = Sampler::new(p)?;
        match p.attrs().dtype("dtype")? {
            DType::I64 => kernel(move |io| sampler.run::<i64>(io)),
            _ => kernel(move |io| sampler.run::<i32>(io)),
        }
    }
}

/// One layer of the tree: its nodes in `Layer`, and how many of them are drawn.
struct Layer {
    start: usize,
    end: usize,
    negatives: usize,
    positive: bool,
}

impl Layer {
    fn columns(&self) -> usize {
        self.negatives + usize::from(self.positive)
    }
}

fn layers(attrs: &AttrView<'_>) -> Result<Vec<Layer>> {
    let (negatives, offsets) = (attrs.ints("neg_samples_num_list")?, attrs.ints("layer_offset_lod")?);
    let positive = attrs.bool("output_positive")?;
    if offsets.len() != negatives.len() + 1 {
        fail!(
            Kind::Argument,
            "`tdm_sampler` has {} layers in neg_samples_num_list, but {} offsets in layer_offset_lod; it needs one offset more",
            negatives.len(),
            offsets.len()
        );
    }
    let layer = |(i, (&n, w)): (usize, (&i64, &[i64]))| {
        // At least one node is left besides those drawn: the one on the path.
        if n < 0 || w[0] < 0 || w[1] - w[0] <= n {
            fail!(
                Kind::Argument,
                "`tdm_sampler` draws {n} nodes of layer {i} besides the one on the path, but it has {}",
                w[1] - w[0]
            );
        }
        Ok(Layer { start: w[0] as usize, end: w[1] as usize, negatives: n as usize, positive })
    };
    negatives.iter().zip(offsets.windows(2)).enumerate().map(layer).collect()
}

/// A node as the outputs show it.
#[derive(Clone, Copy)]
struct Drawn {
    node: i64,
    label: i64,
    mask: i64,
}

slots! {
    struct Sampler(p) {
        x: input "X",
        travel: input "Travel",
        nodes: input "Layer",
        /// Out, Labels, Mask.
        outs: [Option<Out>; 3] = [Some(p.output("Out")?), p.maybe_output("Labels")?, Some(p.output("Mask")?)],
        layers: Vec<Layer> = layers(&p.attrs())?,
        seed: int "seed",
        /// The nodes of the batch so far.
        drawn: Vec<Drawn> = Vec::new(),
    }
}

impl Sampler {
    fn run<T: Element>(&mut self, io: &Io<'_>) -> Result<()> {
        let (x, travel, nodes) = (io.dense(self.x)?, io.dense(self.travel)?, io.dense(self.nodes)?);
        let (items, paths) = (Ints::of(io, self.x, &x)?, Ints::of(io, self.travel, &travel)?);
        let nodes = Ints::of(io, self.nodes, &nodes)?;
        self.check(io, paths.len(), nodes)?;
        self.drawn.clear();
        // Each layer draws from a sequence of its own.
        let seed = if self.seed == 0 { io.runtime().fresh_seed() } else { self.seed as u64 };
        let mut engines = vec![Mt19937x64::new(seed); self.layers.len()];
        let depth = self.layers.len();
        for (at, item) in items.iter().enumerate() {
            if item as u64 >= (paths.len() / depth.max(1)) as u64 {
                let what = format!(
                    "holds item {item} at position {at}, but {} has {} rows",
                    io.describe(self.travel),
                    paths.len() / depth.max(1)
                );
                return Err(io.error(Kind::Range, self.x, what));
            }
            for (i, (layer, engine)) in self.layers.iter().zip(&mut engines).enumerate() {
                if !draw(layer, paths.at(item as usize * depth + i), nodes, engine, &mut self.drawn) {
                    let what = format!("has fewer than {} different nodes in layer {i}", layer.negatives + 1);
                    return Err(io.error(Kind::Range, self.nodes, what));
                }
            }
        }
        self.write::<T>(io, items.len())
    }

    fn check(&self, io: &Io<'_>, paths: usize, nodes: Ints<'_>) -> Result<()> {
        if !paths.is_multiple_of(self.layers.len().max(1)) {
            return Err(io.error(
                Kind::Shape,
                self.travel,
                format!("must have a column for each of {} layers", self.layers.len()),
            ));
        }
        match self.layers.iter().find(|l| l.end > nodes.len()) {
            Some(l) => Err(io.error(
                Kind::Shape,
                self.nodes,
                format!("holds {} nodes, but a layer ends at {}", nodes.len(), l.end),
            )),
            None => Ok(()),
        }
    }

    fn write<T: Element>(&self, io: &Io<'_>, rows: usize) -> Result<()> {
        let columns = self.layers.iter().map(Layer::columns).sum();
        let parts: [fn(&Drawn) -> i64; 3] = [|d| d.node, |d| d.label, |d| d.mask];
        for (out, part) in self.outs.into_iter().zip(parts) {
            let Some(out) = out else { continue };
            let mut to = io.out_sized(out, T::DTYPE, Dims::from([rows, columns]))?;
            let to = io.data_mut::<T>(out, &mut to)?;
            to.iter_mut().zip(&self.drawn).for_each(|(to, d)| *to = T::from_i64(part(d)));
        }
        Ok(())
    }
}

/// Appends the node of the path and others of its layer. Nodes are drawn again until they are new; false if that takes so long
/// that the layer cannot have enough different ones.
fn draw(layer: &Layer, positive: i64, nodes: Ints<'_>, engine: &mut Mt19937x64, drawn: &mut Vec<Drawn>) -> bool {
    if positive == 0 {
        drawn.extend(std::iter::repeat_n(Drawn { node: 0, label: 0, mask: 0 }, layer.columns()));
        return true;
    }
    if layer.positive {
        drawn.push(Drawn { node: positive, label: 1, mask: 1 });
    }
    let first = drawn.len();
    let size = layer.end - layer.start;
    // Even the last node of a layer is found by some n ln n draws.
    let patience = 64 * size * (size.ilog2() as usize + 1);
    for _ in 0..patience {
        if drawn.len() == first + layer.negatives {
            return true;
        }
        let node = nodes.at(layer.start + uniform_int(engine, 0, size as u64 - 1) as usize);
        if node != positive && drawn[first..].iter().all(|d| d.node != node) {
            drawn.push(Drawn { node, label: 0, mask: 1 });
        }
    }
    drawn.len() == first + layer.negatives
}

#[cfg(test)]
mod tests {
    use oarlock_ir::Attr;
    use oarlock_tensor::DType;

    use crate::testing::{Check, check, tensor_of};

    fn sampler() -> Check {
        check("tdm_sampler")
            .input("X", tensor_of([4, 1], &[0i64, 1, 2, 3]))
            .input("Travel", tensor_of([4, 2], &[1i64, 3, 1, 4, 2, 5, 2, 0]))
            .input("Layer", tensor_of([6, 1], &[1i64, 2, 3, 4, 5, 6]))
            .attr("layer_offset_lod", Attr::Ints(vec![0, 2, 6]))
            .attr("seed", 3)
            .attr("dtype", DType::I64.proto())
    }

    /// The nodes that PaddlePaddle 1.8.5 draws, up to the path that ends.
    #[test]
    fn nodes_of_each_layer() {
        let nodes = [[1, 2, 3, 5, 4], [1, 2, 4, 5, 3], [2, 1, 5, 3, 6], [2, 1, 0, 0, 0]];
        let labels = [[1, 0, 1, 0, 0], [1, 0, 1, 0, 0], [1, 0, 1, 0, 0], [1, 0, 0, 0, 0]];
        let mask = [[1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 0, 0, 0i64]];
        sampler()
            .attr("neg_samples_num_list", Attr::Ints(vec![1, 2]))
            .output("Out", tensor_of::<i64>([4, 5], nodes.as_flattened()))
            .output("Labels", tensor_of::<i64>([4, 5], labels.as_flattened()))
            .output("Mask", tensor_of::<i64>([4, 5], mask.as_flattened()))
            .run();
    }

    #[test]
    fn a_layer_must_have_enough_nodes() {
        let e =
            sampler().attr("neg_samples_num_list", Attr::Ints(vec![2, 2])).any_output("Out").any_output("Mask").error();
        assert!(e.contains("draws 2 nodes of layer 0 besides the one on the path, but it has 2"), "{e}");
        let same = check("tdm_sampler")
            .input("X", tensor_of([1, 1], &[0]))
            .input("Travel", tensor_of([1, 1], &[1]))
            .input("Layer", tensor_of([3, 1], &[1, 2, 2]))
            .attr("layer_offset_lod", Attr::Ints(vec![0, 3]))
            .attr("neg_samples_num_list", Attr::Ints(vec![2]))
            .any_output("Out")
            .any_output("Mask")
            .error();
        assert!(same.contains("`Layer.0` has fewer than 3 different nodes in layer 0"), "{same}");
    }
}
