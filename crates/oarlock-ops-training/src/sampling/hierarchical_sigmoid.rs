//! `hierarchical_sigmoid`: a softmax over many classes as a walk through a binary tree.

use oarlock_ir::{
    Dim, GradOp, In, Infer, Io, Kernel, Kind, OpDef, Out, Prepare, Result, Sig, Traits, VarKind, VarType,
};
use oarlock_ir::{by_float, kernel, slots};
use oarlock_ops_support::checks;
use oarlock_ops_support::equal_sizes;
use oarlock_tensor::{Dims, Float, Tensor, simd};

use crate::sampling::class_row_gradient::RowGrad;

pub(crate) const OPS: &[&dyn OpDef] = &[&HierarchicalSigmoid, &GRAD];

/// Scores are kept within this bound, so that their exponentials stay finite.
const BOUND: f64 = 40.0;

struct HierarchicalSigmoid;

impl OpDef for HierarchicalSigmoid {
    fn sig(&self) -> Sig {
        Sig::new(
            "hierarchical_sigmoid",
            "Out = sum over the levels of the tree of ln(1 + exp(s)) - bit * s, where s = X . W[node] + Bias[node] at the nodes on \
             the way to the label, within [-40, 40], and bit says where the way goes on. Levels below a leaf have s = 0 and bit 0, \
             so each adds ln 2. Without PathTable the tree is the complete binary one of num_classes leaves",
        )
        .input("X", "[batch, width]")
        .input("W", "a row per inner node: [num_classes - 1, width] for the complete tree")
        .input("Label", "i64 [batch, 1]")
        .optional_input("PathTable", "i64 [batch, levels], the nodes on the way to each label, then -1")
        .optional_input("PathCode", "i64 [batch, levels], the bits on the way to each label, then -1")
        .optional_input("Bias", "a number per inner node")
        .output("Out", "[batch, 1]")
        .output("PreOut", "[batch, levels]: ln(1 + exp(s))")
        .optional_output("W_Out", "`W` itself")
        .attr("num_classes", 2, "leaves of the tree")
        .attr("is_sparse", false, "make the gradient of `W` row-sparse")
        .attr("remote_prefetch", false, "ask the parameter servers for the rows")
        .attr("trainer_id", 0, "who asks")
        .attr("epmap", Vec::<String>::new(), "the servers")
        .attr("table_names", Vec::<String>::new(), "the parts of `W` on the servers")
        .attr("height_sections", Vec::<i64>::new(), "rows of each part")
            .traits(Traits::NONE.unchanged(&[("W", "W_Out")]))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let (x, w) = (cx.float("X")?, cx.float("W")?);
        cx.integer("Label")?;
        if x.shape.rank() != 2 || w.shape.rank() != 2 || !x.shape[1].fits(w.shape[1]) {
            let what = format!("cannot score {} by {}", cx.describe("X"), cx.describe("W"));
            return Err(cx.shape_error(what).help("the width of the input is that of the weight"));
        }
        if cx.has("PathTable") != cx.has("PathCode") {
            return Err(cx.shape_error("needs both PathTable and PathCode, or neither"));
        }
        let levels = if cx.has("PathTable") {
            cx.integer("PathTable")?.shape.get(1).copied().unwrap_or(Dim::Any)
        } else {
            Dim::Is(levels(cx.attrs().count("num_classes")?))
        };
        cx.set("Out", VarType::tensor(x.dtype, vec![x.shape[0], Dim::Is(1)]));
        cx.set("PreOut", VarType::tensor(x.dtype, vec![x.shape[0], levels]));
        cx.set("W_Out", w);
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let (inputs, out, pre_out) = (Inputs::new(p)?, p.output("Out")?, p.output("PreOut")?);
        let w_out = p.maybe_output("W_Out")?;
        let mut ways = Ways::default();
        by_float!(p.float("X")?, T => kernel(move |io| {
            if let Some(w_out) = w_out {
                io.update(inputs.w, w_out)?;
            }
            forward::<T>(io, &inputs, &mut ways, (out, pre_out))
        }))
    }
}

/// Levels of the complete binary tree of `n` leaves.
fn levels(leaves: usize) -> usize {
    leaves.saturating_sub(1).checked_ilog2().map_or(0, |n| n as usize + 1)
}

/// The inputs that the operator and its gradient have in common.
struct Inputs {
    x: In,
    w: In,
    label: In,
    path: Option<(In, In)>,
    bias: Option<In>,
    leaves: usize,
}

impl Inputs {
    fn new(p: &Prepare<'_>) -> Result<Inputs> {
        let path = match (p.maybe_input("PathTable")?, p.maybe_input("PathCode")?) {
            (Some(table), Some(code)) => Some((table, code)),
            _ => None,
        };
        Ok(Inputs {
            x: p.input("X")?,
            w: p.input("W")?,
            label: p.input("Label")?,
            path,
            bias: p.maybe_input("Bias")?,
            leaves: p.attrs().count("num_classes")?,
        })
    }

    /// Examples, and the width of both matrices.
    fn sizes(&self, io: &Io<'_>, x: &Tensor, w: &Tensor) -> Result<(usize, usize)> {
        let ((batch, width), (_, w_width)) = (x.dims().matrix(1), w.dims().matrix(1));
        if width == w_width {
            return Ok((batch, width));
        }
        Err(io.error(Kind::Shape, self.w, format!("has rows of {w_width} numbers, but the input has {width}")))
    }
}

/// The way to the label of each example: nodes and bits, level by level, and -1 below the leaf.
#[derive(Default)]
struct Ways {
    nodes: Vec<i64>,
    bits: Vec<i64>,
    levels: usize,
}

impl Ways {
    fn find(&mut self, io: &Io<'_>, inputs: &Inputs, batch: usize, nodes: usize) -> Result<()> {
        self.nodes.clear();
        self.bits.clear();
        match inputs.path {
            Some((table, code)) => self.given(io, (table, code), batch)?,
            None => self.complete(io, inputs, batch)?,
        }
        match self.nodes.iter().find(|n| **n >= nodes as i64) {
            Some(n) => {
                let what = format!("has {nodes} rows, but the way to a label leads through node {n}");
                Err(io.error(Kind::Range, inputs.w, what))
            }
            None => Ok(()),
        }
    }

    fn given(&mut self, io: &Io<'_>, (table, code): (In, In), batch: usize) -> Result<()> {
        let (table_tensor, code_tensor) = (io.dense(table)?, io.dense(code)?);
        let (rows, levels) = table_tensor.dims().matrix(1);
        if rows != batch || code_tensor.numel() != table_tensor.numel() {
            let what = format!("is {} and the code {}, for {batch} examples", table_tensor.dims(), code_tensor.dims());
            return Err(io.error(Kind::Shape, table, what));
        }
        self.levels = levels;
        self.nodes.extend_from_slice(io.data::<i64>(table, &table_tensor)?);
        self.bits.extend_from_slice(io.data::<i64>(code, &code_tensor)?);
        // The first node of -1 ends a way, whatever stands behind it.
        for row in self.nodes.chunks_exact_mut(levels.max(1)) {
            let len = row.iter().position(|&n| n < 0).unwrap_or(levels);
            row[len..].fill(-1);
        }
        Ok(())
    }

    /// In the complete tree, leaf `label` is node `label + leaves` of those counted from 1, level by level.
    fn complete(&mut self, io: &Io<'_>, inputs: &Inputs, batch: usize) -> Result<()> {
        let label = io.dense(inputs.label)?;
        let labels = checks::sized::<i64>(io, inputs.label, &label, batch)?;
        self.levels = levels(inputs.leaves);
        for &label in labels {
            if !(0..inputs.leaves as i64).contains(&label) {
                let what = format!("holds label {label}, but there are {} classes", inputs.leaves);
                return Err(io.error(Kind::Range, inputs.label, what));
            }
            let code = label + inputs.leaves as i64;
            for level in 0..self.levels {
                let above = code >> (level + 1);
                self.nodes.push(above - 1);
                self.bits.push((code >> level) & 1);
            }
        }
        Ok(())
    }

    /// The levels of one example: node, and whether its bit is set.
    fn of(&self, row: usize) -> impl Iterator<Item = (i64, bool)> + '_ {
        let at = row * self.levels..(row + 1) * self.levels;
        self.nodes[at.clone()].iter().zip(&self.bits[at]).map(|(&n, &b)| (n, n >= 0 && b != 0))
    }
}

fn forward<T: Float>(io: &Io<'_>, inputs: &Inputs, ways: &mut Ways, (out, pre_out): (Out, Out)) -> Result<()> {
    let (x, w) = (io.dense(inputs.x)?, io.dense(inputs.w)?);
    let (batch, width) = inputs.sizes(io, &x, &w)?;
    ways.find(io, inputs, batch, w.rows())?;
    let (x, w_data) = (io.data::<T>(inputs.x, &x)?, io.data::<T>(inputs.w, &w)?);
    let bias_tensor = inputs.bias.map(|b| io.dense(b)).transpose()?;
    let bias = match (inputs.bias, &bias_tensor) {
        (Some(input), Some(t)) => Some(checks::sized::<T>(io, input, t, w.rows())?),
        _ => None,
    };
    let mut t = io.out_sized(pre_out, T::DTYPE, Dims::from([batch, ways.levels]))?;
    let pre = io.data_mut::<T>(pre_out, &mut t)?;
    let bound = T::of(BOUND);
    equal_sizes::column(io, out, batch, |row| {
        let x = &x[row * width..][..width];
        let mut cost = T::ZERO;
        for ((node, bit), pre) in ways.of(row).zip(&mut pre[row * ways.levels..]) {
            let mut score = T::ZERO;
            if let Ok(node) = usize::try_from(node) {
                let s = simd::dot(x, &w_data[node * width..][..width]) + bias.map_or(T::ZERO, |b| b[node]);
                score = s.max(-bound).min(bound);
            }
            *pre = score.exp().ln_1p();
            cost += *pre - if bit { score } else { T::ZERO };
        }
        cost
    })
}

const GRAD: GradOp = GradOp::of(
    &HierarchicalSigmoid,
    "hierarchical_sigmoid_grad(Bias, Label, Out@GRAD, PathCode, PathTable, PreOut, W, X) -> Bias@GRAD, W@GRAD, X@GRAD",
)
.doc("the derivative by each score s is (sigmoid(s) - bit) * Out@GRAD")
.infer(|cx| {
    cx.grads_of(&["Bias", "X"])?;
    let kind = if cx.attrs().bool("is_sparse")? { VarKind::SelectedRows } else { VarKind::Tensor };
    let w = cx.input("W")?;
    cx.set("W@GRAD", w.with_kind(kind));
    Ok(())
})
.kernel(|p| {
    let mut backward = Backward::new(p)?;
    by_float!(p.float("X")?, T => {
        let mut scratch = Vec::<T>::new();
        kernel(move |io| backward.run(io, &mut scratch))
    })
});

slots! {
    struct Backward(p) {
        inputs: Inputs = Inputs::new(p)?,
        dout: input "Out@GRAD",
        pre_out: input "PreOut",
        outs: (Option<Out>, Option<Out>, Option<Out>) = (p.maybe_output("Bias@GRAD")?, p.maybe_output("W@GRAD")?, p.maybe_output("X@GRAD")?),
        sparse: bool "is_sparse",
        ways: Ways = Ways::default(),
    }
}

impl Backward {
    fn run<T: Float>(&mut self, io: &Io<'_>, d: &mut Vec<T>) -> Result<()> {
        let (x, w) = (io.dense(self.inputs.x)?, io.dense(self.inputs.w)?);
        let (batch, width) = self.inputs.sizes(io, &x, &w)?;
        self.ways.find(io, &self.inputs, batch, w.rows())?;
        let (dout, pre) = (io.dense(self.dout)?, io.dense(self.pre_out)?);
        let dout = checks::sized::<T>(io, self.dout, &dout, batch)?;
        let pre = checks::sized::<T>(io, self.pre_out, &pre, batch * self.ways.levels)?;
        d.clear();
        for (row, &dout) in dout.iter().enumerate() {
            let pre = &pre[row * self.ways.levels..];
            d.extend(self.ways.of(row).zip(pre).map(|((_, bit), &p)| {
                // 1 - exp(-ln(1 + exp(s))) is the sigmoid of s.
                let sigmoid = T::ONE - (-p).exp();
                (sigmoid - if bit { T::ONE } else { T::ZERO }) * dout
            }));
        }
        let rows = RowGrad { classes: &self.ways.nodes, columns: self.ways.levels.max(1), d, width, height: w.rows() };
        let (x, w) = (io.data::<T>(self.inputs.x, &x)?, io.data::<T>(self.inputs.w, &w)?);
        rows.bias(io, self.outs.0, self.inputs.bias)?;
        rows.weight(io, self.outs.1, x, self.sparse)?;
        rows.input(io, self.outs.2, self.inputs.x, w)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Check, check, noise, tensor, tensor_of};

    fn tree() -> Check {
        check("hierarchical_sigmoid")
            .input("X", noise([3, 2], 1))
            .input("W", noise([5, 2], 2))
            .input("Bias", noise([5, 1], 3))
            .any_output("Out")
            .any_output("PreOut")
            .counting(&["Out"])
    }

    #[test]
    fn zeros_cost_ln_2_per_level() {
        check("hierarchical_sigmoid")
            .input("X", tensor([2, 1], &[1.0, 1.0]))
            .input("W", tensor([4, 1], &[0.0; 4]))
            .input("Label", tensor_of([2, 1], &[0i64, 4]))
            .attr("num_classes", 5)
            .output("Out", tensor([2, 1], &[3.0 * 2f32.ln(); 2]))
            .output("PreOut", tensor([2, 3], &[2f32.ln(); 6]))
            .in_place("W", "W_Out")
            .run();
    }

    #[test]
    fn gradients_of_the_complete_tree() {
        tree().input("Label", tensor_of([3, 1], &[0i64, 5, 3])).attr("num_classes", 6).grad(&["X", "W", "Bias"]).run();
    }

    #[test]
    fn gradients_of_a_tree_of_ones_own() {
        tree()
            .input("Label", tensor_of([3, 1], &[0i64, 1, 2]))
            .input("PathTable", tensor_of([3, 2], &[0i64, 4, 2, -1, 0, 3]))
            .input("PathCode", tensor_of([3, 2], &[1i64, 0, 1, -1, 0, 0]))
            .attr("num_classes", 5)
            .grad(&["X", "W", "Bias"])
            .run();
    }

    #[test]
    fn labels_must_be_leaves() {
        let e = tree().input("Label", tensor_of([3, 1], &[0i64, 6, 3])).attr("num_classes", 6).error();
        assert!(e.contains("holds label 6, but there are 6 classes"), "{e}");
    }
}
