//! Weight decay: what regularisation adds to gradients.

use oarlock_ir::{Decay, Name, Op, Result, Role, Var, VarKind};

use crate::optimizer::ParamGrad;
use crate::{Net, VarRef};

/// The suffix that Fluid appends to the name of a gradient whose decay made it dense.
const NEW_GRAD: &str = "@NEWGRAD@";

impl Net {
    /// Adds to each gradient its parameter's decay, or else the optimizer's.
    pub(crate) fn append_regularization(
        &mut self,
        pairs: Vec<ParamGrad>,
        decay: Option<Decay>,
    ) -> Result<Vec<ParamGrad>> {
        self.name_scope("regularization", |net| {
            let regularized = |pair: ParamGrad| {
                let own = net.var(&pair.param)?.meta.regularizer;
                match own.or(decay) {
                    Some(decay) => net.with_role(Role::OPTIMIZE, pair.names(), |net| net.regularize(&pair, decay)),
                    None => Ok(pair),
                }
            };
            pairs.into_iter().map(regularized).collect()
        })
    }

    fn regularize(&mut self, pair: &ParamGrad, decay: Decay) -> Result<ParamGrad> {
        let param = self.var(&pair.param)?.ty();
        let term = self.generated(param.clone());
        match decay {
            Decay::L2(coeff) => self.scale_into(&pair.param, coeff, &term)?,
            Decay::L1(coeff) => {
                self.append_op(Op::new("sign").input("X", [&pair.param]).output("Out", [&term]))?;
                self.scale_into(&term, coeff, &term)?;
            }
        }
        let mut grad = pair.grad.clone();
        // Every row of the parameter decays, so the sum of rows and decay is dense.
        if self.var(&pair.grad)?.kind == VarKind::SelectedRows {
            let name: Name = format!("{}{NEW_GRAD}", pair.grad).into();
            grad = self.declare(Var::new(name, param));
        }
        let op = Op::new("sum").input("X", [&pair.grad, &term]).output("Out", [&grad]);
        self.append_op(op)?;
        Ok(ParamGrad { param: pair.param.clone(), grad })
    }

    fn scale_into(&mut self, x: &VarRef, factor: f32, out: &VarRef) -> Result<()> {
        self.append_op(Op::new("scale").input("X", [x]).output("Out", [out]).attr("scale", factor))
    }
}
