//! Data, parameters and other variables.

use oarlock_ir::{Dim, Error, Kind, Op, Result, Shape, Var, VarKind, VarType};
use oarlock_tensor::DType;

use crate::declare::{Args, declare};
use crate::layer::Part;
use crate::options::options;
use crate::{Initializer, Net, ParamAttr, VarRef};

options! {
    /// `data(name, shape, append_batch_size=True, dtype='float32', lod_level=0, stop_gradient=True)`
    Data::of(
        /// Sizes; a negative one is known only when the program runs.
        shape(into): Vec<i64>,
    ) {
        /// Put the unknown batch size in front, unless a size is unknown already.
        append_batch_size: bool = true,
        /// Element type.
        dtype: DType = DType::F32,
        /// LoD levels.
        lod_level: usize = 0,
        /// Compute no gradient with respect to it.
        stop_gradient: bool = true,
    }
}

impl Data {
    /// Sizes without the batch size.
    pub fn shape<const N: usize>(shape: [i64; N]) -> Data {
        Data::of(shape)
    }
}

options! {
    /// `create_global_var(shape, value, dtype, persistable=False, force_cpu=False, name=None)`
    GlobalVar::new(
        /// Sizes.
        shape(into): Vec<i64>,
        /// First value of every element.
        value: f64,
        /// Element type.
        dtype: DType,
    ) {
        /// Keep it between runs.
        persistable: bool = false,
        /// Carried along for saved programs.
        force_cpu: bool = false,
    }
}

impl Net {
    /// `fluid.layers.data`: a variable that the user feeds.
    pub fn data(&mut self, name: &str, options: Data) -> Result<VarRef> {
        let mut sizes = options.shape;
        let known = sizes.iter().all(|&n| n >= 0);
        if options.append_batch_size && known {
            sizes.insert(0, -1);
        }
        let ty = VarType::tensor(options.dtype, Shape::from_i64(&sizes)).with_lod(options.lod_level);
        self.feed(name, ty, options.stop_gradient)
    }

    /// `fluid.data(name, shape, dtype='float32', lod_level=0)`: sizes with the batch size (negative: unknown); what is fed is
    /// checked against them.
    pub fn checked_data(&mut self, name: &str, shape: &[i64], dtype: DType, lod_level: usize) -> Result<VarRef> {
        let var = self.feed(name, VarType::tensor(dtype, Shape::from_i64(shape)).with_lod(lod_level), true)?;
        self.var_mut(&var)?.need_check_feed = true;
        Ok(var)
    }

    fn feed(&mut self, name: &str, ty: VarType, stop_gradient: bool) -> Result<VarRef> {
        if let Some(old) = self.main.global().var(name) {
            check_same(old, &ty, false)?;
        }
        let mut var = Var::new(name, ty);
        var.meta.stop_gradient = stop_gradient;
        var.meta.is_data = true;
        self.main.global_mut().set_var(var);
        Ok(VarRef::new(name, 0))
    }

    /// `create_parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None)`: a parameter of no layer.
    /// `attr` says how it starts (by default as weights do) and what it is called, else [`Net::named`] does.
    #[track_caller]
    pub fn create_parameter(&mut self, shape: &[usize], dtype: DType, attr: &ParamAttr) -> Result<VarRef> {
        self.lone_parameter(shape, dtype, attr, Part::Weight)
    }

    /// `create_parameter(..., is_bias=True)`: a parameter that starts at zero.
    #[track_caller]
    pub fn create_bias(&mut self, shape: &[usize], dtype: DType, attr: &ParamAttr) -> Result<VarRef> {
        self.lone_parameter(shape, dtype, attr, Part::Bias)
    }

    #[track_caller]
    fn lone_parameter(&mut self, shape: &[usize], dtype: DType, attr: &ParamAttr, part: Part) -> Result<VarRef> {
        let given = self.next_name.clone();
        let attr = ParamAttr { name: attr.name.clone().or(given), ..attr.clone() };
        self.layer("create_parameter").parameter(&attr, part, shape, dtype, None)
    }

    /// `create_global_var`: a variable of block 0 with a first value that no optimizer changes.
    #[track_caller]
    pub fn create_global_var(&mut self, options: GlobalVar) -> Result<VarRef> {
        let name = self.next_name.take().unwrap_or_else(|| self.names.generate("_generated_var"));
        let ty = VarType::tensor(options.dtype, Shape::from_i64(&options.shape));
        if let Some(old) = self.main.global().var(&name) {
            check_same(old, &ty, options.persistable)?;
        }
        let first = Initializer::Constant { value: options.value, force_cpu: options.force_cpu };
        let mut var = Var::new(name, ty);
        var.meta.stop_gradient = true;
        let handle = self.global(var, &first)?;
        self.var_mut(&handle)?.persistable = options.persistable;
        Ok(handle)
    }

    /// `create_tensor(dtype, name=None, persistable=False)`: a variable that some operator will write.
    pub fn create_tensor(&mut self, dtype: DType, persistable: bool) -> VarRef {
        let name = self.next_name.take().unwrap_or_else(|| self.names.generate("create_tensor"));
        let mut var = Var::new(name, VarType::tensor(dtype, Shape::default()));
        var.persistable = persistable;
        self.declare(var)
    }

    /// `autoincreased_step_counter(counter_name=None, begin=1, step=1)`: a counter of block 0 that grows by `step` at the start of
    /// every run, from `begin - 1`. `None` names it `@STEP_COUNTER@`.
    #[track_caller]
    pub fn autoincreased_step_counter(&mut self, name: Option<&str>, begin: i64, step: i64) -> Result<VarRef> {
        let name = name.unwrap_or("@STEP_COUNTER@");
        // Fluid begins a layer here, which counts although no name of it is used.
        let mut layer = self.layer("global_step_counter");
        if layer.main.global().var(name).is_some() {
            return Ok(VarRef::new(name, 0));
        }
        let first = Initializer::Constant { value: (begin - 1) as f64, force_cpu: true };
        let counter = layer.global(Var::new(name, VarType::tensor(DType::I64, vec![Dim::Is(1)])), &first)?;
        let op = Op::new("increment").input("X", [&counter]).output("Out", [&counter]).attr("step", step as f32);
        let outer = layer.block();
        layer.set_block(0);
        let result = layer.insert_op(0, op);
        layer.set_block(outer);
        result?;
        layer.stop_gradient(&counter)?;
        Ok(counter)
    }

    /// The type of a variable that must be a dense tensor.
    pub(crate) fn tensor_type(&self, var: &VarRef) -> Result<VarType> {
        let ty = self.var(var)?.ty();
        if ty.kind == VarKind::Tensor {
            return Ok(ty);
        }
        Err(Error::new(Kind::Argument, format!("`{var}` must be a tensor, but it is {ty}")))
    }
}

/// A variable that is declared again keeps its type: what was built on the first declaration would be wrong otherwise.
fn check_same(old: &Var, ty: &VarType, persistable: bool) -> Result<()> {
    let name = &old.name;
    let what = if old.ty() != *ty {
        format!("variable `{name}` has been created before: it is {} there and {ty} here", old.ty())
    } else if old.persistable != persistable {
        let outlives = |yes| if yes { "persistable" } else { "not persistable" };
        format!(
            "variable `{name}` has been created before: it is {} there and {} here",
            outlives(old.persistable),
            outlives(persistable)
        )
    } else {
        return Ok(());
    };
    Err(Error::new(Kind::Argument, what).help("give it another name, or build in a program of its own (program_guard)"))
}

declare! {
    /// Declares a variable that is fed, with the batch as an additional first dimension.
    ///
    /// ``fluid.data`` takes the whole shape and checks what is fed; new programs should use it. Feeds of this variable
    /// are not checked, as in Fluid; sizes that do not fit are an error of the operator that uses them.
    ///
    /// Args:
    ///     name (str): the key of ``feed``.
    ///     shape (list or tuple): the sizes of one sample; -1 or ``None`` for a size that varies.
    ///     append_batch_size (bool): put the size of the batch, -1, in front of ``shape``, unless a size in ``shape``
    ///         is -1 or ``None``.
    ///     dtype (dtype): the element type.
    ///     lod_level (int): the number of LoD levels of sequences; 0: there are none.
    ///     type (VarType): only ``LOD_TENSOR``.
    ///     stop_gradient (bool): no gradient is computed for it.
    ///
    /// Returns:
    ///     Variable: ``[-1, *shape]``, or ``shape`` without ``append_batch_size``.
    ///
    /// Example:
    ///     >>> fluid.layers.data("x", [13]).shape
    ///     (-1, 13)
    ///     >>> fluid.layers.data("words", [1], dtype="int64", lod_level=1).lod_level
    ///     1
    "io.data(name, shape, append_batch_size=True, dtype='float32', lod_level=0, \
     type=core.VarDesc.VarType.LOD_TENSOR, stop_gradient=True)"
        => |net, a| net.data(&a.str("name")?, Data::of(a.shape("shape")?)
        .append_batch_size(a.bool("append_batch_size")?).dtype(a.dtype("dtype")?).lod_level(a.usize("lod_level")?)
        .stop_gradient(a.bool("stop_gradient")?));

    /// Declares a variable that is fed; what is fed must have the declared shape and element type.
    ///
    /// No gradient is computed for it unless its ``stop_gradient`` is set to ``False``.
    ///
    /// Args:
    ///     name (str): the key of ``feed``; every variable of a program has a name of its own.
    ///     shape (list or tuple): all sizes, with that of the batch first; ``None`` or -1 for a size that is known only
    ///         when the program runs.
    ///     dtype (dtype): the element type.
    ///     lod_level (int): the number of LoD levels of sequences; 0: there are none.
    ///
    /// Returns:
    ///     Variable: ``shape``, with -1 for ``None``.
    ///
    /// Raises:
    ///     ValueError: the program has a variable of this name with another shape or type.
    ///     fluid.core.EnforceNotMet: another shape is fed (when the program runs).
    ///     TypeError: another element type is fed (when the program runs).
    ///
    /// Example:
    ///     >>> x = fluid.data("x", [None, 2])
    ///     >>> x.shape
    ///     (-1, 2)
    ///     >>> total = fluid.layers.reduce_sum(x)
    ///     >>> fluid.Executor().run(feed={"x": np.ones([3, 2], "float32")}, fetch_list=[total])[0].tolist()
    ///     [6.0]
    "fluid.data(name, shape, dtype='float32', lod_level=0)"
        => |net, a| net.checked_data(&a.str("name")?, &a.shape("shape")?, a.dtype("dtype")?, a.usize("lod_level")?);

    /// Makes a parameter that belongs to no layer, for layers of your own.
    ///
    /// The startup program sets its first value; optimizers train it.
    ///
    /// Args:
    ///     shape (list or tuple): the sizes; all are known.
    ///     dtype (dtype): the element type.
    ///     name (str): its name; ``None``: it is generated.
    ///     attr (ParamAttr): name, initializer, regularizer and learning rate.
    ///     is_bias (bool): the default initializer is 0 instead of Xavier's.
    ///     default_initializer (Initializer): used if ``attr`` has none; ``None``: the default.
    ///
    /// Returns:
    ///     Variable: the parameter.
    ///
    /// Raises:
    ///     ValueError: a size is negative.
    ///     TypeError: ``dtype`` is no element type.
    ///
    /// Example:
    ///     >>> x = fluid.layers.assign(np.array([[1, 2]], "float32"))
    ///     >>> ones = fluid.initializer.Constant(1.0)
    ///     >>> w = fluid.layers.create_parameter([2, 1], "float32", name="w", default_initializer=ones)
    ///     >>> out = fluid.layers.matmul(x, w)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> exe.run(fetch_list=[out])[0].tolist()
    ///     [[3.0]]
    "tensor.create_parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None)" => |net, a| {
        let (shape, dtype) = (a.sizes("shape")?, a.dtype("dtype")?);
        let mut attr = a.param_attr("attr")?;
        attr.initializer = attr.initializer.or(a.opt("default_initializer", Args::initializer)?);
        match a.bool("is_bias")? {
            true => net.create_bias(&shape, dtype, &attr),
            false => net.create_parameter(&shape, dtype, &attr),
        }
    };

    /// Makes a variable with a first value that no optimizer changes, such as a counter or a learning rate.
    ///
    /// It belongs to the global block; the startup program sets its value.
    ///
    /// Args:
    ///     shape (list or tuple): the sizes.
    ///     value (float): the first value of every element.
    ///     dtype (dtype): the element type.
    ///     persistable (bool): keep the value between runs and save it with the model.
    ///     force_cpu (bool): accepted; values are always on the CPU.
    ///     name (str): its name; ``None``: it is generated.
    ///
    /// Returns:
    ///     Variable: the variable.
    ///
    /// Example:
    ///     >>> count = fluid.layers.create_global_var([1], value=0, dtype="int64", persistable=True)
    ///     >>> count = fluid.layers.increment(count)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> [exe.run(fetch_list=[count])[0].tolist() for _ in range(3)]
    ///     [[1], [2], [3]]
    "tensor.create_global_var(shape, value, dtype, persistable=False, force_cpu=False, name=None)"
        => |net, a| net.create_global_var(GlobalVar::new(a.i64s("shape")?, a.f64("value")?, a.dtype("dtype")?)
        .persistable(a.bool("persistable")?).force_cpu(a.bool("force_cpu")?));

    /// Makes a variable without a value, which an operator of the program will write.
    ///
    /// Pass it as the result of another layer, such as ``out`` or ``output``.
    ///
    /// Args:
    ///     dtype (dtype): the element type.
    ///     name (str): its name; ``None``: it is generated.
    ///     persistable (bool): keep the value between runs and save it with the model.
    ///
    /// Returns:
    ///     Variable: the variable; its shape is that of the value written.
    ///
    /// Example:
    ///     >>> copy = fluid.layers.create_tensor("float32")
    ///     >>> x = fluid.layers.fill_constant([2], "float32", 3.0)
    ///     >>> _ = fluid.layers.assign(x, output=copy)
    ///     >>> fluid.Executor().run(fetch_list=[copy])[0].tolist()
    ///     [3.0, 3.0]
    "tensor.create_tensor(dtype, name=None, persistable=False)"
        => |net, a| Ok::<_, Error>(net.create_tensor(a.dtype("dtype")?, a.bool("persistable")?));

    /// Makes a counter that grows by ``step`` in every run of the program.
    ///
    /// Learning rate schedules use it. It is persistable: a model that is saved goes on counting when it is loaded.
    /// Calls with one name return the same counter.
    ///
    /// Args:
    ///     counter_name (str): the name of the variable; ``None``: ``@STEP_COUNTER@``.
    ///     begin (int): the value in the first run if ``step`` is 1; otherwise that is ``begin - 1 + step``, as in
    ///         Fluid.
    ///     step (int): the increase per run.
    ///
    /// Returns:
    ///     Variable: int64 ``[1]``.
    ///
    /// Example:
    ///     >>> counter = fluid.layers.autoincreased_step_counter(begin=5)
    ///     >>> exe = fluid.Executor()
    ///     >>> _ = exe.run(fluid.default_startup_program())
    ///     >>> [exe.run(fetch_list=[counter])[0].tolist() for _ in range(3)]
    ///     [[5], [6], [7]]
    "nn.autoincreased_step_counter(counter_name=None, begin=1, step=1)"
        => |net, a| net.autoincreased_step_counter(a.opt_str("counter_name")?.as_deref(),
        a.i64("begin")?, a.i64("step")?);
}
