//! Common to all layers: take a name, make parameters and temporaries, append operators.

use std::ops::{Deref, DerefMut};
use std::panic::Location;

use oarlock_ir::{Attr, Dim, Error, Kind, Op, Result, Shape, Var, VarType, fail};
use oarlock_tensor::DType;

use crate::{CallSite, Initializer, Net, Param, ParamAttr, VarRef};

/// A layer under construction. Its variables start with its prefix; the operators it appends, also through other layers, carry
/// the line that called it.
pub(crate) struct Layer<'n> {
    net: &'n mut Net,
    prefix: String,
    outer_site: Option<CallSite>,
}

/// Which parameter of a layer: decides the letter in its name and its default value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// `fc_0.w_0`, Xavier.
    Weight,
    /// `fc_0.b_0`, zero.
    Bias,
}

impl Net {
    /// Begins a layer; its prefix is the name the user gave, else its numbered type.
    #[track_caller]
    pub(crate) fn layer(&mut self, layer_type: &str) -> Layer<'_> {
        let prefix = match self.next_name.take() {
            Some(name) => name,
            None => self.names.generate(layer_type),
        };
        let here = Location::caller();
        let outer_site = self.site.clone();
        self.site.get_or_insert_with(|| here.into());
        Layer { net: self, prefix, outer_site }
    }

    /// A layer of one operator from `X` to an `Out` of the same dtype.
    #[track_caller]
    pub(crate) fn unary(&mut self, x: &VarRef, op: Op) -> Result<VarRef> {
        let dtype = self.dtype(x)?;
        let layer_type = op.op_type.clone();
        self.layer(&layer_type).out(dtype, op.input("X", [x]))
    }
}

impl Drop for Layer<'_> {
    fn drop(&mut self) {
        self.net.site = self.outer_site.take();
    }
}

impl Deref for Layer<'_> {
    type Target = Net;
    fn deref(&self) -> &Net {
        self.net
    }
}

impl DerefMut for Layer<'_> {
    fn deref_mut(&mut self) -> &mut Net {
        self.net
    }
}

impl Layer<'_> {
    /// The start of its variables' names.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Declares a temporary: `fc_0.tmp_0`, ... Inference sets its sizes.
    pub(crate) fn temp(&mut self, dtype: DType) -> VarRef {
        let key = format!("{}.tmp", self.prefix);
        self.unique(&key, dtype)
    }

    /// Declares a temporary through which no gradient flows.
    pub(crate) fn temp_without_gradient(&mut self, dtype: DType) -> VarRef {
        let var = self.temp(dtype);
        let block = self.block();
        if let Some(v) = self.main.find_var_mut(block, var.name()) {
            v.meta.stop_gradient = true;
        }
        var
    }

    /// Makes a parameter in both programs, or finds the one of this name; `first` is its first value unless the user has his own.
    pub(crate) fn parameter(
        &mut self,
        attr: &ParamAttr,
        part: Part,
        shape: &[usize],
        dtype: DType,
        first: Option<Initializer>,
    ) -> Result<VarRef> {
        let letter = if part == Part::Weight { 'w' } else { 'b' };
        let name = match &attr.name {
            Some(name) => name.clone(),
            None => {
                let key = format!("{}.{letter}", self.prefix);
                self.names.generate(&key)
            }
        };
        let default = if part == Part::Weight { Initializer::xavier() } else { Initializer::constant(0.0) };
        let first = attr.initializer.clone().or(first).unwrap_or(default);
        match attr.weight_norm {
            Some(norm) => self.weight_normalized(&name, attr, norm.dim, (shape, dtype), &first),
            None => self.net.make_parameter(name, attr, shape, dtype, &first),
        }
    }

    /// Makes the weight a layer cannot do without.
    pub(crate) fn weight(&mut self, param: &Param, shape: &[usize], dtype: DType) -> Result<VarRef> {
        self.weight_with(param, shape, dtype, None)
    }

    /// Makes the weight a layer cannot do without; `first` is the layer's choice of a first value.
    pub(crate) fn weight_with(
        &mut self,
        param: &Param,
        shape: &[usize],
        dtype: DType,
        first: Option<Initializer>,
    ) -> Result<VarRef> {
        let Some(attr) = param.attr() else {
            fail!(Kind::Argument, "`{}` cannot do without its weight: param_attr must not be false", self.prefix);
        };
        self.parameter(attr, Part::Weight, shape, dtype, first)
    }

    /// Adds a bias along dimensions `from..to` of `x`, unless the user does without.
    pub(crate) fn bias(&mut self, x: &VarRef, param: &Param, from: usize, to: Option<usize>) -> Result<VarRef> {
        let Some(attr) = param.attr() else { return Ok(x.clone()) };
        let shape = self.shape(x)?;
        let to = to.unwrap_or(shape.rank());
        let sizes = known(&shape[from.min(to)..to], "a bias", x)?;
        let dtype = self.dtype(x)?;
        let b = self.parameter(attr, Part::Bias, &sizes, dtype, None)?;
        let out = self.temp(dtype);
        let op = Op::new("elementwise_add").input("X", [x]).input("Y", [&b]).output("Out", [&out]);
        self.append_op(op.attr("axis", from as i32))?;
        Ok(out)
    }

    /// Applies an activation, if there is one.
    pub(crate) fn activate(&mut self, x: VarRef, act: &Act) -> Result<VarRef> {
        let Some((op_type, attrs)) = &act.0 else { return Ok(x) };
        let dtype = self.dtype(&x)?;
        let out = self.temp(dtype);
        let mut op = Op::new(op_type.as_str()).input("X", [&x]).output("Out", [&out]);
        for (name, value) in attrs {
            op.attrs.set(name.as_str(), value.clone());
        }
        self.append_op(op)?;
        Ok(out)
    }

    /// Appends an operator with one output `Out` of this dtype.
    pub(crate) fn out(&mut self, dtype: DType, op: Op) -> Result<VarRef> {
        self.out_slot("Out", dtype, op)
    }

    /// Appends an operator with one output in `slot`.
    pub(crate) fn out_slot(&mut self, slot: &str, dtype: DType, op: Op) -> Result<VarRef> {
        let out = self.temp(dtype);
        self.append_op(op.output(slot, [&out]))?;
        Ok(out)
    }
}

impl Net {
    /// Declares a parameter in both programs and initialises it; a parameter that exists must have the same type.
    pub(crate) fn make_parameter(
        &mut self,
        name: String,
        attr: &ParamAttr,
        shape: &[usize],
        dtype: DType,
        first: &Initializer,
    ) -> Result<VarRef> {
        let var = self.parameter_var(name, attr, shape, dtype)?;
        self.global(var, first)
    }

    /// Declares a parameter in both programs; the caller initialises it.
    pub(crate) fn declare_parameter(
        &mut self,
        name: String,
        attr: &ParamAttr,
        shape: &[usize],
        dtype: DType,
    ) -> Result<VarRef> {
        let mut var = self.parameter_var(name, attr, shape, dtype)?;
        var.persistable = true;
        let handle = VarRef::new(&var.name, 0);
        self.main.global_mut().set_var(var.clone());
        self.startup.global_mut().set_var(var);
        Ok(handle)
    }

    fn parameter_var(&self, name: String, attr: &ParamAttr, shape: &[usize], dtype: DType) -> Result<Var> {
        let sizes: Vec<Dim> = shape.iter().map(|&n| Dim::Is(n)).collect();
        let mut var = Var::new(name, VarType::tensor(dtype, sizes));
        if let Some(old) = self.main.global().var(&var.name)
            && old.ty() != var.ty()
        {
            let what =
                format!("parameter `{}` is shared, but it is {} there and {} here", var.name, old.ty(), var.ty());
            return Err(Error::new(Kind::Argument, what).help("parameters of one name must have one shape and dtype"));
        }
        var.meta.is_parameter = true;
        var.meta.trainable = attr.trainable;
        var.meta.learning_rate = attr.learning_rate;
        var.meta.regularizer = attr.regularizer;
        var.meta.grad_clip = attr.gradient_clip.clone();
        var.meta.do_model_average = attr.do_model_average;
        Ok(var)
    }
}

/// The sizes of a part of a shape that must be known, for `what` of variable `x`.
pub(crate) fn known(dims: &[Dim], what: &str, x: &VarRef) -> Result<Vec<usize>> {
    let sizes: Option<Vec<usize>> = dims.iter().map(|d| d.known()).collect();
    sizes.ok_or_else(|| {
        let shape = Shape(dims.to_vec());
        Error::new(Kind::Shape, format!("{what} needs known sizes, but those of `{x}` are {shape}"))
            .help("declare the data with its sizes, or reshape it")
    })
}

/// An activation by the name of its operator, or none: `.act("relu")`.
#[derive(Debug, Clone, Default)]
pub struct Act(Option<(String, Vec<(String, Attr)>)>);

impl Act {
    /// None.
    pub fn none() -> Act {
        Act(None)
    }

    /// With an attribute of the activation's operator.
    #[must_use]
    pub fn attr(mut self, name: &str, value: impl Into<Attr>) -> Act {
        if let Some((_, attrs)) = &mut self.0 {
            attrs.push((name.into(), value.into()));
        }
        self
    }
}

impl From<&str> for Act {
    fn from(op_type: &str) -> Act {
        Act(Some((op_type.into(), Vec::new())))
    }
}

impl From<Option<&str>> for Act {
    fn from(op_type: Option<&str>) -> Act {
        op_type.map_or(Act::none(), Act::from)
    }
}
