//! The arguments of one call of a layer, by name, with the defaults of the signature filled in.

use oarlock_ir::{Error, Kind, Result, fail};
use oarlock_tensor::{DType, Tensor};

use super::{Arg, Predicate};
use crate::layers::{Layout, Operand, Padding, Spatial, SplitInto};
use crate::{Act, Initializer, IntOrVar, Ints, Net, Param, ParamAttr, VarRef};

/// Arguments by name; errors name the layer and the argument.
#[derive(Debug, Clone, Default)]
pub struct Args {
    layer: String,
    values: Vec<(String, Arg)>,
}

impl Args {
    /// No arguments of a layer.
    pub fn new(layer: impl Into<String>) -> Args {
        Args { layer: layer.into(), values: Vec::new() }
    }

    /// With one more argument.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Arg>) -> Args {
        self.set(name, value);
        self
    }

    /// Sets an argument.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Arg>) {
        self.values.push((name.into(), value.into()));
    }

    /// The value, unless it is nothing or was not given.
    pub fn get(&self, name: &str) -> Option<&Arg> {
        let found = self.values.iter().find(|(n, _)| n == name).map(|(_, value)| value);
        found.filter(|value| !matches!(value, Arg::None))
    }

    fn need(&self, name: &str) -> Result<&Arg> {
        self.get(name).ok_or_else(|| Error::new(Kind::Type, format!("`{}` needs `{name}`", self.layer)))
    }

    fn wrong(&self, name: &str, wanted: &str, value: &Arg) -> Error {
        let what = format!("`{}` takes {wanted} as `{name}`, not {value} ({})", self.layer, value.type_name());
        Error::new(Kind::Type, what)
    }

    fn convert<T>(&self, name: &str, wanted: &str, read: impl Fn(&Arg) -> Option<T>) -> Result<T> {
        let value = self.need(name)?;
        read(value).ok_or_else(|| self.wrong(name, wanted, value))
    }

    /// Was it given?
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The value if given, as a converter reads it.
    pub fn opt<T>(&self, name: &str, read: impl Fn(&Self, &str) -> Result<T>) -> Result<Option<T>> {
        if self.has(name) { read(self, name).map(Some) } else { Ok(None) }
    }

    /// A variable.
    pub fn var(&self, name: &str) -> Result<VarRef> {
        self.convert(name, "a Variable", var_of)
    }

    /// A variable that may be left out.
    pub fn opt_var(&self, name: &str) -> Result<Option<VarRef>> {
        self.opt(name, Args::var)
    }

    /// A variable or a list of variables.
    pub fn vars(&self, name: &str) -> Result<Vec<VarRef>> {
        self.convert(name, "a Variable or a list of Variables", |v| match var_of(v) {
            Some(var) => Some(vec![var]),
            None => v.items()?.iter().map(var_of).collect(),
        })
    }

    /// A variable whose elements must be of one of these types.
    pub fn typed_var(&self, net: &Net, name: &str, dtypes: &[DType]) -> Result<VarRef> {
        let var = self.var(name)?;
        self.check_dtype(net, name, &var, dtypes)?;
        Ok(var)
    }

    /// A list of variables whose elements must be of one of these types.
    pub fn typed_vars(&self, net: &Net, name: &str, dtypes: &[DType]) -> Result<Vec<VarRef>> {
        let vars: Vec<VarRef> =
            self.convert(name, "a list of Variables", |v| v.items()?.iter().map(var_of).collect())?;
        vars.iter().try_for_each(|var| self.check_dtype(net, name, var, dtypes))?;
        Ok(vars)
    }

    fn check_dtype(&self, net: &Net, name: &str, var: &VarRef, dtypes: &[DType]) -> Result<()> {
        let dtype = net.dtype(var)?;
        if dtypes.contains(&dtype) {
            return Ok(());
        }
        let wanted: Vec<&str> = dtypes.iter().map(|d| d.name()).collect();
        let (layer, wanted) = (&self.layer, wanted.join(" or "));
        fail!(Kind::Type, "`{layer}` takes {wanted} as `{name}`, but `{var}` is {}", dtype.name())
    }

    /// Is it a variable?
    pub fn is_var(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Arg::Var(_)))
    }

    /// An integer.
    pub fn i64(&self, name: &str) -> Result<i64> {
        self.convert(name, "an integer", Arg::int)
    }

    /// An integer, as attributes hold it.
    pub fn i32(&self, name: &str) -> Result<i32> {
        let value = self.i64(name)?;
        match i32::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) => fail!(Kind::Argument, "`{}`: `{name}` = {value} is too large", self.layer),
        }
    }

    /// A size.
    pub fn usize(&self, name: &str) -> Result<usize> {
        let value = self.i64(name)?;
        match usize::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) => fail!(Kind::Argument, "`{}`: `{name}` = {value} must not be negative", self.layer),
        }
    }

    /// A count.
    pub fn count(&self, name: &str) -> Result<u32> {
        let value = self.i64(name)?;
        match u32::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) => fail!(Kind::Argument, "`{}`: `{name}` = {value} is no count", self.layer),
        }
    }

    /// A number.
    pub fn f64(&self, name: &str) -> Result<f64> {
        self.convert(name, "a number", Arg::float)
    }

    /// A number.
    pub fn f32(&self, name: &str) -> Result<f32> {
        Ok(self.f64(name)? as f32)
    }

    /// A number that is no integer, where Fluid takes no integers.
    pub fn exact_f32(&self, name: &str) -> Result<f32> {
        self.convert(name, "a float", |v| match v {
            Arg::Int(_) | Arg::Bool(_) => None,
            _ => v.float().map(|v| v as f32),
        })
    }

    /// True or false, where Fluid takes nothing that only counts as such.
    pub fn exact_bool(&self, name: &str) -> Result<bool> {
        self.convert(name, "True or False", |v| if let Arg::Bool(v) = v { Some(*v) } else { None })
    }

    /// True or false.
    pub fn bool(&self, name: &str) -> Result<bool> {
        self.convert(name, "True or False", |v| Some(v.is_true()))
    }

    /// A text.
    pub fn str(&self, name: &str) -> Result<String> {
        self.convert(name, "a string", str_of)
    }

    /// A text that may be left out.
    pub fn opt_str(&self, name: &str) -> Result<Option<String>> {
        self.opt(name, Args::str)
    }

    /// Integers; one stands for a list of one.
    pub fn i64s(&self, name: &str) -> Result<Vec<i64>> {
        self.convert(name, "an integer or a list of integers", |v| match v.int() {
            Some(one) => Some(vec![one]),
            None => v.items()?.iter().map(Arg::int).collect(),
        })
    }

    /// Sizes of a variable that is fed; nothing or -1 for those that are known only when the program runs.
    pub fn shape(&self, name: &str) -> Result<Vec<i64>> {
        self.convert(name, "a list of sizes", |v| {
            let size = |v: &Arg| if matches!(v, Arg::None) { Some(-1) } else { v.int() };
            v.items()?.iter().map(size).collect()
        })
    }

    /// Integers, as attributes hold them.
    pub fn i32s(&self, name: &str) -> Result<Vec<i32>> {
        let list = self.i64s(name)?;
        match list.iter().map(|v| i32::try_from(*v).ok()).collect() {
            Some(list) => Ok(list),
            None => fail!(Kind::Argument, "`{}`: `{name}` = {list:?} holds numbers that are too large", self.layer),
        }
    }

    /// Integers, in one list or in a list of lists.
    pub fn flat_i32s(&self, name: &str) -> Result<Vec<i32>> {
        self.convert(name, "an integer or (lists of) integers", |v| {
            let mut flat = Vec::new();
            flat_ints(v, &mut flat)?;
            flat.into_iter().map(|v| i32::try_from(v).ok()).collect()
        })
    }

    /// `N` integers.
    pub fn array<const N: usize>(&self, name: &str) -> Result<[i32; N]> {
        let list = self.i32s(name)?;
        match <[i32; N]>::try_from(list.as_slice()) {
            Ok(array) => Ok(array),
            Err(_) => fail!(Kind::Argument, "`{}` takes {N} integers as `{name}`, not {list:?}", self.layer),
        }
    }

    /// Two integers; one stands for both.
    pub fn pair(&self, name: &str) -> Result<[i32; 2]> {
        match self.i32s(name)?[..] {
            [one] => Ok([one, one]),
            _ => self.array(name),
        }
    }

    /// Sizes.
    pub fn sizes(&self, name: &str) -> Result<Vec<usize>> {
        let list = self.i64s(name)?;
        match list.iter().map(|v| usize::try_from(*v).ok()).collect() {
            Some(sizes) => Ok(sizes),
            None => fail!(Kind::Argument, "`{}`: `{name}` = {list:?} must not hold negative sizes", self.layer),
        }
    }

    /// Numbers.
    pub fn f64s(&self, name: &str) -> Result<Vec<f64>> {
        self.convert(name, "a list of numbers", |v| v.items()?.iter().map(Arg::float).collect())
    }

    /// Numbers, as attributes hold them; one stands for a list of one.
    pub fn f32s(&self, name: &str) -> Result<Vec<f32>> {
        self.convert(name, "a number or a list of numbers", |v| match v.float() {
            Some(one) => Some(vec![one as f32]),
            None => v.items()?.iter().map(|v| Some(v.float()? as f32)).collect(),
        })
    }

    /// Is it a list?
    pub fn is_list(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Arg::List(_)))
    }

    /// A list of integers; one does not stand for a list.
    pub fn i32_list(&self, name: &str) -> Result<Vec<i32>> {
        self.convert(name, "a list of integers", Arg::items)?;
        self.i32s(name)
    }

    /// A list of numbers, as attributes hold them; one does not stand for a list.
    pub fn f32_list(&self, name: &str) -> Result<Vec<f32>> {
        Ok(self.f64s(name)?.into_iter().map(|v| v as f32).collect())
    }

    /// A list of lists of numbers; in it, a number stands for a list of one.
    pub fn f32_lists(&self, name: &str) -> Result<Vec<Vec<f32>>> {
        let list = |v: &Arg| match v.float() {
            Some(one) => Some(vec![one as f32]),
            None => v.items()?.iter().map(|v| Some(v.float()? as f32)).collect(),
        };
        self.convert(name, "a list of numbers or of lists of numbers", |v| v.items()?.iter().map(list).collect())
    }

    /// A number or a variable.
    pub fn operand(&self, name: &str) -> Result<Operand> {
        Ok(match self.is_var(name) {
            true => Operand::from(&self.var(name)?),
            false => Operand::from(self.f64(name)?),
        })
    }

    /// An integer or a variable that holds one.
    pub fn int_or_var(&self, name: &str) -> Result<IntOrVar> {
        self.convert(name, "an integer or a Variable", int_or_var)
    }

    /// A list of integers, some or all of which may be variables.
    pub fn ints(&self, name: &str) -> Result<Ints> {
        self.convert(name, "integers or Variables", |v| {
            if let Some(var) = var_of(v) {
                return Some(Ints::Var(var));
            }
            if let Some(one) = v.int() {
                return Some(Ints::Known(vec![one]));
            }
            let mixed: Vec<IntOrVar> = v.items()?.iter().map(int_or_var).collect::<Option<_>>()?;
            let known = mixed.iter().map(|e| if let IntOrVar::Int(v) = e { Some(*v) } else { None });
            Some(match known.collect::<Option<Vec<_>>>() {
                Some(known) => Ints::Known(known),
                None => Ints::Mixed(mixed),
            })
        })
    }

    /// An element type: a name, a numpy type, or a number of `VarDesc.VarType`.
    pub fn dtype(&self, name: &str) -> Result<DType> {
        self.convert(name, "an element type such as 'float32'", dtype_of)
    }

    /// An element type that may be left out.
    pub fn opt_dtype(&self, name: &str) -> Result<Option<DType>> {
        self.opt(name, Args::dtype)
    }

    /// How to make a parameter: nothing, false, a name, an initializer or a `ParamAttr`.
    pub fn param(&self, name: &str) -> Result<Param> {
        match self.get(name) {
            None => Ok(Param::default()),
            Some(value) => param_of(value).ok_or_else(|| self.wrong(name, "a ParamAttr, a name or False", value)),
        }
    }

    /// How to make several parameters, if it is a list.
    pub fn param_list(&self, name: &str) -> Result<Option<Vec<Param>>> {
        let Some(Arg::List(items)) = self.get(name) else {
            return Ok(None);
        };
        let one = |v: &Arg| param_of(v).ok_or_else(|| self.wrong(name, "ParamAttrs, names or False", v));
        items.iter().map(one).collect::<Result<_>>().map(Some)
    }

    /// How to make one parameter; the layer's default if a list says more.
    pub fn param_unless_list(&self, name: &str) -> Result<Param> {
        if matches!(self.get(name), Some(Arg::List(_))) { Ok(Param::default()) } else { self.param(name) }
    }

    /// How to make a parameter of a layer that has none unless asked.
    pub fn param_or_none(&self, name: &str) -> Result<Param> {
        if self.has(name) { self.param(name) } else { Ok(Param::Without) }
    }

    /// How to make a parameter that a layer cannot do without.
    pub fn param_attr(&self, name: &str) -> Result<ParamAttr> {
        Ok(self.param(name)?.attr().cloned().unwrap_or_default())
    }

    /// An activation by name, or none.
    pub fn act(&self, name: &str) -> Result<Act> {
        Ok(Act::from(self.opt_str(name)?.as_deref()))
    }

    /// A first value.
    pub fn initializer(&self, name: &str) -> Result<Initializer> {
        self.convert(name, "an initializer", |v| match v {
            Arg::Initializer(first) => Some((**first).clone()),
            _ => None,
        })
    }

    /// A rule of a hashed table that may be left out; the empty text without one.
    pub fn rule(&self, name: &str) -> Result<String> {
        match self.get(name) {
            None => Ok(String::new()),
            Some(Arg::Rule(rule)) => Ok(rule.clone()),
            Some(other) => Err(self.wrong(name, "one of the classes of paddle.distributed", other)),
        }
    }

    /// A function of the name of a parameter, that may be left out.
    pub fn opt_predicate(&self, name: &str) -> Result<Option<Predicate>> {
        self.opt(name, |args, name| {
            args.convert(name, "a function of a parameter", |v| match v {
                Arg::Predicate(predicate) => Some(predicate.clone()),
                _ => None,
            })
        })
    }

    /// A size per axis, or one for all.
    pub fn spatial(&self, name: &str) -> Result<Spatial> {
        Ok(Spatial(self.i32s(name)?))
    }

    /// Paddings: a number, numbers per side, or a word.
    pub fn padding(&self, name: &str) -> Result<Padding> {
        match self.get(name) {
            Some(Arg::Str(word)) => Padding::parse(word),
            _ => self.flat_i32s(name).map(Padding::from),
        }
    }

    /// The place of the channels.
    pub fn layout(&self, name: &str) -> Result<Layout> {
        Layout::parse(&self.str(name)?)
    }

    /// How to split an axis: into a number of parts, or into parts of these sizes.
    pub fn split_into(&self, name: &str) -> Result<SplitInto> {
        match self.get(name).and_then(Arg::int) {
            Some(_) => Ok(SplitInto::Parts(self.usize(name)?)),
            None => Ok(SplitInto::Sections(self.i32s(name)?)),
        }
    }

    /// A constant: an array, a list or a number.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        self.convert(name, "an array", Arg::tensor)
    }
}

fn var_of(value: &Arg) -> Option<VarRef> {
    if let Arg::Var(var) = value { Some(var.clone()) } else { None }
}

fn str_of(value: &Arg) -> Option<String> {
    if let Arg::Str(text) = value { Some(text.clone()) } else { None }
}

fn int_or_var(value: &Arg) -> Option<IntOrVar> {
    match value {
        Arg::Var(var) => Some(IntOrVar::Var(var.clone())),
        _ => value.int().map(IntOrVar::Int),
    }
}

fn flat_ints(value: &Arg, flat: &mut Vec<i64>) -> Option<()> {
    match value.int() {
        Some(one) => flat.push(one),
        None => value.items()?.iter().try_for_each(|item| flat_ints(item, flat))?,
    }
    Some(())
}

fn dtype_of(value: &Arg) -> Option<DType> {
    match value {
        Arg::DType(dtype) => Some(*dtype),
        Arg::Int(number) => DType::from_proto(i32::try_from(*number).ok()?),
        // Names that numpy has besides ours.
        Arg::Str(name) => match name.as_str() {
            "double" | "float" => Some(DType::F64),
            "int" => Some(DType::I64),
            "half" => Some(DType::F16),
            name => DType::from_name(name),
        },
        _ => None,
    }
}

fn param_of(value: &Arg) -> Option<Param> {
    Some(match value {
        Arg::None | Arg::Bool(true) => Param::default(),
        Arg::Bool(false) => Param::Without,
        Arg::Str(name) => ParamAttr::name(name).into(),
        Arg::Param(attr) => (**attr).clone().into(),
        Arg::Initializer(first) => ParamAttr::new().initializer((**first).clone()).into(),
        _ => return None,
    })
}
