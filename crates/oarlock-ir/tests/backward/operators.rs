//! Operators without kernels whose gradients and types come from a table: enough to build backward passes.

use std::collections::HashSet;

use oarlock_ir::{
    Attr, GRAD, Grad, Infer, Kernel, Name, Op, OpDef, Prepare, Registry, Result, Sig, Traits, VarKind, VarType,
    grad_name,
};
use oarlock_tensor::DType;

/// One line of `operators.txt`.
struct TableOp {
    op_type: &'static str,
    gradient: Gradient,
}

enum Gradient {
    None,
    /// A `scale` for each addend.
    Sum,
    /// Depends on what the block of gradients computes.
    While,
    Op {
        op_type: &'static str,
        reads: Vec<&'static str>,
        writes: Vec<&'static str>,
    },
}

/// All operators of the table. They live as long as the test program, as the registry demands.
pub(crate) fn registry() -> Registry {
    let lines = include_str!("operators.txt").lines().filter(|l| !l.starts_with('#'));
    Registry::new(lines.map(|line| -> &'static dyn OpDef { Box::leak(Box::new(parse(line))) }), [])
}

fn parse(line: &'static str) -> TableOp {
    let (op_type, rest) = line.split_once(": ").expect("operator: gradient");
    let gradient = match (op_type, rest) {
        (_, "-") => Gradient::None,
        ("sum", _) => Gradient::Sum,
        ("while", _) => Gradient::While,
        _ => {
            let (reads, writes) = rest.split_once(" -> ").expect("reads -> writes");
            let mut reads = reads.split(' ');
            let op_type = reads.next().expect("a gradient operator");
            Gradient::Op { op_type, reads: reads.collect(), writes: writes.split(' ').collect() }
        }
    };
    TableOp { op_type, gradient }
}

impl OpDef for TableOp {
    /// Slots are those of any operator in the cases: the passes under test do not look at them.
    fn sig(&self) -> Sig {
        const SLOTS: &str = "AxisTensor BatchCellPreAct BatchGate BatchHidden BatchResetHiddenPrev BatchSize C0 Cell H0 Hidden Weight Bias Cond Condition Correct Filter I Ids InFalse InTrue Indices Init Input \
            Label Length Logits Loss Mask MatchX MaxIndex Mean MeanOut Out OutFalse OutTrue Output Predict RankTable \
            SavedMean SavedVariance Scale Scope Seed Softmax StatNeg StatPos StepScopes Total Variance VarianceOut W X \
            XShape X_W Y ShapeTensor ShapeTensorList ValueTensor DDX DDY DOut DDOut DX DY AUC Accuracy StatPosOut StatNegOut \
            BatchAUC BatchStatPosOut BatchStatNegOut initial_states inputs outputs parameters step_scopes ResidualData";
        const ATTRS: &str =
            "op_role op_role_var sub_block is_sparse shape dtype value force_cpu original_output_grad scale";
        let mut sig = Sig::new(self.op_type, "from a table");
        for slot in SLOTS.split_whitespace() {
            let grad: &'static str = format!("{slot}{GRAD}").leak();
            sig = sig.optional_inputs(slot, "").optional_inputs(grad, "");
            sig = sig.optional_outputs(slot, "").optional_outputs(grad, "");
        }
        for attr in ATTRS.split_whitespace() {
            sig = sig.attr(attr, 0, "");
        }
        sig
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<()> {
        let op = cx.op();
        for (slot, _) in op.outputs.iter() {
            if let Some(forward) = slot.strip_suffix(GRAD).filter(|s| cx.has(s)) {
                for (i, ty) in cx.inputs(forward)?.into_iter().enumerate() {
                    cx.set_nth(slot, i, ty);
                }
            }
        }
        match self.op_type {
            "fill_constant" => cx.set("Out", VarType::tensor(DType::F32, Vec::new())),
            "shape" => {
                let rank = cx.input("Input")?.shape.rank();
                cx.set("Out", VarType::tensor(DType::I32, vec![oarlock_ir::Dim::Is(rank)]));
            }
            "lookup_table_grad" if op.attrs.get("is_sparse") == Some(&Attr::Bool(true)) => {
                let table = cx.input("W")?;
                cx.set("W@GRAD", table.with_kind(VarKind::SelectedRows));
            }
            "write_to_array" | "lod_tensor_to_array" => {
                let x = cx.input("X")?;
                cx.set("Out", x.with_kind(VarKind::TensorArray));
            }
            "read_from_array" | "array_to_lod_tensor" => {
                let x = cx.input("X")?;
                cx.set("Out", x.with_kind(VarKind::Tensor));
            }
            "sum" | "assign" | "scale" => cx.same("Out", "X")?,
            _ => {}
        }
        Ok(())
    }

    fn prepare(&self, _: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        Err(oarlock_ir::Error::internal("operators of this test have no kernels"))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        match &self.gradient {
            Gradient::None => g.no_gradient(),
            Gradient::Sum => scale_each(g),
            Gradient::While => while_grad(g),
            Gradient::Op { op_type, reads, writes } => {
                let mut op = g.make(op_type, &[], &[]);
                for entry in reads {
                    let (slot, source) = entry.split_once(':').unwrap_or((entry, entry));
                    op.inputs.set(slot, g.arguments(source));
                }
                for entry in writes {
                    write_slot(g, &mut op, entry);
                }
                if g.attr("sub_block").is_some() {
                    op.attrs.set("sub_block", Attr::Block(g.grad_block()?));
                }
                g.push(op)
            }
        }
    }

    fn traits(&self) -> Traits {
        Traits {
            gradient_free: matches!(self.gradient, Gradient::None),
            branch: self.op_type == "conditional_block",
            handed_in: self.op_type == "rnn_memory_helper_grad",
            ..Traits::NONE
        }
    }
}

fn write_slot(g: &Grad<'_>, op: &mut Op, entry: &str) {
    let (keep, entry) = (entry.ends_with('*'), entry.trim_end_matches('*'));
    let (slot, source) = entry.split_once(':').unwrap_or((entry, entry));
    let mut args = match source.strip_suffix(GRAD) {
        Some(forward) => g.input_grads(forward),
        None => g.arguments(source),
    };
    args.retain(|n| keep || *n != oarlock_ir::EMPTY);
    op.outputs.set(slot, args);
}

fn scale_each(g: &mut Grad<'_>) -> Result<()> {
    for x in g.input_grads("X") {
        g.push(Op::new("scale").input("X", g.arguments("Out@GRAD")).output("Out", [x]))?;
    }
    Ok(())
}

/// Gradients that the block of gradients does not compute are empty; a variable that it reads and no operator writes is an input.
fn while_grad(g: &mut Grad<'_>) -> Result<()> {
    let block = g.program.block(g.grad_block()?);
    let (forward, parent) = (block.forward.expect("a gradient block"), block.parent.expect("not block 0"));
    let computed: HashSet<&Name> = block.ops.iter().flat_map(|op| op.outputs.args()).collect();
    let mut provided: HashSet<Name> = g.arguments("X").into_iter().chain(g.arguments("Out")).collect();
    let mut read: Vec<Name> = Vec::new();
    for op in &block.ops {
        for name in op.inputs.args() {
            let declared = [forward, parent].iter().any(|b| g.program.resolve(*b, name).is_some());
            if !declared && !provided.contains(name) && !read.contains(name) {
                read.push(name.clone());
            }
        }
        provided.extend(op.outputs.args().cloned());
    }
    // Fluid's order is that of a hash table; in the cases it happens to be this one.
    read.sort();
    let mut op = g.make("while_grad", &["X", "Out", "StepScopes"], &[]);
    let mut grads = g.input_grads("X");
    grads.iter_mut().filter(|n| !computed.contains(&**n)).for_each(|n| *n = oarlock_ir::EMPTY.into());
    op.outputs.set(&*grad_name("X"), grads);
    op.attrs.set("original_output_grad", read.iter().map(|n| n.to_string()).collect::<Vec<_>>());
    op.inputs.set(&*grad_name("Out"), read);
    op.attrs.set("sub_block", Attr::Block(block.idx));
    g.push(op)
}
