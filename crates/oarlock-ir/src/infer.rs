//! Shape, dtype and LoD of outputs, when a program is built.

use oarlock_tensor::DType;

use crate::attr_view::AttrView;
use crate::def::Sig;
use crate::error::{Error, Kind, Result};
use crate::grad::GRAD;
use crate::{EMPTY, Name, Op, Program, VarKind, VarType, fail};

/// The argument of `OpDef::infer`: the types of the inputs, the attributes, and a place to put the types of the outputs.
pub struct Infer<'a> {
    program: &'a Program,
    block: usize,
    op: &'a Op,
    sig: &'a Sig,
    found: Vec<(Name, VarType)>,
}

impl<'a> Infer<'a> {
    pub(crate) fn new(program: &'a Program, block: usize, op: &'a Op, sig: &'a Sig) -> Infer<'a> {
        Infer { program, block, op, sig, found: Vec::new() }
    }

    /// The types found, by variable.
    pub(crate) fn into_found(self) -> Vec<(Name, VarType)> {
        self.found
    }

    /// The operator.
    pub fn op(&self) -> &'a Op {
        self.op
    }

    /// The program being built.
    pub fn program(&self) -> &'a Program {
        self.program
    }

    /// The attributes, with defaults.
    pub fn attrs(&self) -> AttrView<'a> {
        self.sig.attrs(self.op)
    }

    /// Does the input slot have a variable?
    pub fn has(&self, slot: &str) -> bool {
        self.op.inputs.get(slot).first().is_some_and(|n| *n != EMPTY)
    }

    /// Is the output slot wanted?
    pub fn wants(&self, slot: &str) -> bool {
        self.op.outputs.get(slot).iter().any(|n| *n != EMPTY)
    }

    /// The type of the one variable of an input slot.
    pub fn input(&self, slot: &str) -> Result<VarType> {
        match self.op.inputs.get(slot) {
            [name, ..] if *name != EMPTY => self.var_type(name),
            _ => fail!(Kind::Missing, "`{}` needs input `{slot}`", self.sig.op_type),
        }
    }

    /// The types of the variables of an input slot.
    pub fn inputs(&self, slot: &str) -> Result<Vec<VarType>> {
        self.op.inputs.get(slot).iter().filter(|n| **n != EMPTY).map(|n| self.var_type(n)).collect()
    }

    /// The declared type of the variable in an output slot, where an operator needs to know what its result should be.
    pub fn declared(&self, slot: &str) -> Option<VarType> {
        let name = self.op.outputs.get(slot).first().filter(|n| **n != EMPTY)?;
        self.program.find_var(self.block, name).map(|v| v.ty())
    }

    fn var_type(&self, name: &Name) -> Result<VarType> {
        Ok(self.program.expect_var(self.block, name)?.ty())
    }

    /// The type of an input that must hold f32 or f64. Programs for half precision can be built, as in Fluid: that kernels need casts
    /// is said when a plan is made.
    pub fn float(&self, slot: &str) -> Result<VarType> {
        let ty = self.input(slot)?;
        match ty.dtype {
            DType::F16 | DType::F32 | DType::F64 => Ok(ty),
            _ => Err(self.wrong_dtype(slot, &ty, "f32 or f64")),
        }
    }

    /// The type of an input that must hold i32 or i64.
    pub fn integer(&self, slot: &str) -> Result<VarType> {
        let ty = self.input(slot)?;
        match ty.dtype {
            DType::I32 | DType::I64 => Ok(ty),
            _ => Err(self.wrong_dtype(slot, &ty, "i32 or i64")),
        }
    }

    fn wrong_dtype(&self, slot: &str, ty: &VarType, expected: &str) -> Error {
        let what = format!("`{}` needs {expected} in {}", self.sig.op_type, self.describe_type(slot, ty));
        Error::new(Kind::DType, what).help("cast it first, or declare the data with that dtype")
    }

    /// Sets the type of the variable of an output slot; does nothing if the operator has no such output.
    pub fn set(&mut self, slot: &str, ty: VarType) {
        self.set_nth(slot, 0, ty);
    }

    /// Sets the type of the n-th variable of an output slot.
    pub fn set_nth(&mut self, slot: &str, n: usize, ty: VarType) {
        if let Some(name) = self.op.outputs.get(slot).get(n).filter(|n| **n != EMPTY) {
            self.found.push((name.clone(), ty));
        }
    }

    /// Gives an output the type of an input.
    pub fn same(&mut self, output: &str, input: &str) -> Result<()> {
        let ty = self.input(input)?;
        self.set(output, ty);
        Ok(())
    }

    /// Gives each variable of the output slot `S@GRAD` the type of the variable of the input slot `S`, for each `S`.
    pub fn grads_of(&mut self, slots: &[&str]) -> Result<()> {
        for slot in slots {
            let grad = format!("{slot}@GRAD");
            for (i, ty) in self.inputs(slot)?.into_iter().enumerate() {
                self.set_nth(&grad, i, ty.with_kind(VarKind::Tensor));
            }
        }
        Ok(())
    }

    /// Gives each output `S@GRAD` the type of the input `S`.
    pub(crate) fn infer_grads(&mut self) -> Result<()> {
        for output in &self.sig.outputs {
            let of = output.name.strip_suffix(GRAD).filter(|name| self.sig.inputs.iter().any(|s| s.name == *name));
            let Some(of) = of else {
                let what = format!("`{}` does not infer the type of `{}`", self.sig.op_type, output.name);
                return Err(Error::internal(what));
            };
            self.grads_of(&[of])?;
        }
        Ok(())
    }

    /// `` `X` = fc_0.tmp_0 f32[?, 10] ``: an input as messages show it.
    pub fn describe(&self, slot: &str) -> String {
        match self.input(slot) {
            Ok(ty) => self.describe_type(slot, &ty),
            Err(_) => format!("`{slot}`"),
        }
    }

    fn describe_type(&self, slot: &str, ty: &VarType) -> String {
        let name = self.op.inputs.get(slot).first().map_or("", |n| n.as_str());
        format!("`{slot}` = {name} {ty}")
    }

    /// A shape error about this operator.
    pub fn shape_error(&self, what: impl std::fmt::Display) -> Error {
        Error::new(Kind::Shape, format!("`{}` {what}", self.sig.op_type))
    }
}
