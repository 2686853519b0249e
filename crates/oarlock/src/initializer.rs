//! First values of parameters: the operators of the startup program.

use oarlock_ir::{Attr, Error, Kind, Op, Result, Var, VarDType, fail};
use oarlock_tensor::{DType, Dims, Tensor};

/// How a parameter gets its first value. `seed` 0 stands for the startup program's `random_seed`.
#[derive(Debug, Clone, PartialEq)]
pub enum Initializer {
    /// `Constant(value=0.0, force_cpu=False)`
    Constant {
        /// Every element.
        value: f64,
        /// Carried along for saved programs; everything is on the CPU.
        force_cpu: bool,
    },
    /// `Uniform(low=-1.0, high=1.0, seed=0, diag_num=0, diag_step=0, diag_val=1.0)`
    Uniform {
        /// Smallest value.
        low: f64,
        /// Bound of the largest value.
        high: f64,
        /// Seed.
        seed: i32,
        /// How many elements of the diagonal are set; 0 for none.
        diag_num: i32,
        /// From one of them to the next.
        diag_step: i32,
        /// Their value.
        diag_val: f64,
    },
    /// `Normal(loc=0.0, scale=1.0, seed=0)`
    Normal {
        /// Mean.
        loc: f64,
        /// Standard deviation.
        scale: f64,
        /// Seed.
        seed: i32,
    },
    /// `TruncatedNormal(loc=0.0, scale=1.0, seed=0)`: a normal distribution truncated at two standard deviations.
    TruncatedNormal {
        /// Mean.
        loc: f64,
        /// Standard deviation.
        scale: f64,
        /// Seed.
        seed: i32,
    },
    /// `Xavier(uniform=True, fan_in=None, fan_out=None, seed=0)`: keeps the scale of gradients alike in all layers.
    Xavier {
        /// Uniform or normal?
        uniform: bool,
        /// Inputs of one output; by the shape if `None`.
        fan_in: Option<f64>,
        /// Outputs of one input; by the shape if `None`.
        fan_out: Option<f64>,
        /// Seed.
        seed: i32,
    },
    /// `MSRA(uniform=True, fan_in=None, seed=0)`: for layers followed by a rectifier.
    Msra {
        /// Uniform or normal?
        uniform: bool,
        /// Inputs of one output; by the shape if `None`.
        fan_in: Option<f64>,
        /// Seed.
        seed: i32,
    },
    /// `NumpyArrayInitializer(value)`: these very values, of dtype f32 or i32.
    Value(Tensor),
    /// `Bilinear()`: the weights with which a transposed convolution enlarges images.
    Bilinear,
}

impl Initializer {
    /// Every element is `value`.
    pub fn constant(value: f64) -> Initializer {
        Initializer::Constant { value, force_cpu: false }
    }

    /// Uniform in `[low, high)`.
    pub fn uniform(low: f64, high: f64) -> Initializer {
        Initializer::Uniform { low, high, seed: 0, diag_num: 0, diag_step: 0, diag_val: 1.0 }
    }

    /// Normal with this mean and standard deviation.
    pub fn normal(loc: f64, scale: f64) -> Initializer {
        Initializer::Normal { loc, scale, seed: 0 }
    }

    /// Normal with this mean and standard deviation, truncated at two standard deviations.
    pub fn truncated_normal(loc: f64, scale: f64) -> Initializer {
        Initializer::TruncatedNormal { loc, scale, seed: 0 }
    }

    /// Xavier, uniform, fans by the shape: what most layers use for weights.
    pub fn xavier() -> Initializer {
        Initializer::Xavier { uniform: true, fan_in: None, fan_out: None, seed: 0 }
    }

    /// MSRA, uniform, fan by the shape.
    pub fn msra() -> Initializer {
        Initializer::Msra { uniform: true, fan_in: None, seed: 0 }
    }

    /// The operator that gives `var` its first value.
    pub fn op(&self, var: &Var, program_seed: i32) -> Result<Op> {
        use Initializer::*;
        let seeded = |seed: i32| if seed == 0 { program_seed } else { seed };
        match self {
            Constant { value, force_cpu } => {
                Ok(filled("fill_constant", var)?.attr("value", *value as f32).attr("force_cpu", *force_cpu))
            }
            Uniform { low, high, seed, diag_num, diag_step, diag_val } => Ok(uniform(var, *low, *high, seeded(*seed))?
                .attr("diag_num", *diag_num)
                .attr("diag_step", *diag_step)
                .attr("diag_val", *diag_val as f32)),
            Normal { loc, scale, seed } => gaussian("gaussian_random", var, *loc, *scale, seeded(*seed)),
            // This operator's shape is a list of `int`s, that of the others of `long`s.
            TruncatedNormal { loc, scale, seed } => {
                let op = gaussian("truncated_gaussian_random", var, *loc, *scale, seeded(*seed))?;
                Ok(op.attr("shape", ints(&known_sizes(var)?)))
            }
            Xavier { uniform, fan_in, fan_out, seed } => {
                let fans = fans(var)?;
                let fan = fan_in.unwrap_or(fans.0) + fan_out.unwrap_or(fans.1);
                spread(var, *uniform, fan, seeded(*seed))
            }
            Msra { uniform, fan_in, seed } => {
                let fan = fan_in.unwrap_or(fans(var)?.0);
                spread(var, *uniform, fan, seeded(*seed))
            }
            Value(tensor) => assign(var, tensor),
            Bilinear => assign(var, &bilinear(var)?),
        }
    }
}

/// An operator without inputs that fills `var`.
fn filled(op_type: &str, var: &Var) -> Result<Op> {
    let VarDType::Is(dtype) = var.dtype else {
        fail!(Kind::DType, "`{}` has an element type that cannot be initialised", var.name);
    };
    Ok(Op::new(op_type).output("Out", [&var.name]).attr("shape", var.shape.to_i64()).attr("dtype", dtype.proto()))
}

fn uniform(var: &Var, low: f64, high: f64, seed: i32) -> Result<Op> {
    Ok(filled("uniform_random", var)?.attr("min", low as f32).attr("max", high as f32).attr("seed", seed))
}

fn gaussian(op_type: &str, var: &Var, mean: f64, std: f64, seed: i32) -> Result<Op> {
    Ok(filled(op_type, var)?.attr("mean", mean as f32).attr("std", std as f32).attr("seed", seed))
}

/// Uniform within sqrt(6 / fan), or normal with deviation sqrt(2 / fan).
fn spread(var: &Var, is_uniform: bool, fan: f64, seed: i32) -> Result<Op> {
    if is_uniform {
        let limit = (6.0 / fan).sqrt();
        uniform(var, -limit, limit, seed)
    } else {
        gaussian("gaussian_random", var, 0.0, (2.0 / fan).sqrt(), seed)
    }
}

/// Inputs of one output and outputs of one input, by the shape of a weight: a matrix `[in, out]` or filters `[out, in, ...]`.
fn fans(var: &Var) -> Result<(f64, f64)> {
    let sizes = known_sizes(var)?;
    let product = |sizes: &[usize]| sizes.iter().product::<usize>() as f64;
    Ok(match sizes.as_slice() {
        [] => (1.0, 1.0),
        [n] => (*n as f64, *n as f64),
        [rows, columns] => (*rows as f64, *columns as f64),
        [outputs, inputs, field @ ..] => (*inputs as f64 * product(field), *outputs as f64 * product(field)),
    })
}

fn known_sizes(var: &Var) -> Result<Vec<usize>> {
    let sizes: Option<Vec<usize>> = var.shape.iter().map(|d| d.known()).collect();
    sizes.ok_or_else(|| {
        Error::new(Kind::Shape, format!("parameter `{}` of shape {} cannot be initialised", var.name, var.shape))
            .help("every size of a parameter must be known when the program is built")
    })
}

fn ints(sizes: &[usize]) -> Vec<i32> {
    sizes.iter().map(|&n| n as i32).collect()
}

fn assign(var: &Var, value: &Tensor) -> Result<Op> {
    let sizes = known_sizes(var)?;
    // A column may come as a vector.
    let large = |sizes: &[usize]| sizes.iter().copied().filter(|&n| n != 1).collect::<Vec<_>>();
    if large(&sizes) != large(value.dims()) {
        fail!(Kind::Shape, "parameter `{}` has shape {}, but its first value {}", var.name, var.shape, value.dims());
    }
    let (name, values) = assigned_values(value)?;
    Ok(filled("assign_value", var)?.attr("shape", ints(&sizes)).attr("dtype", value.dtype().proto()).attr(name, values))
}

/// The attribute of `assign_value` that holds a tensor, and its value.
pub(crate) fn assigned_values(value: &Tensor) -> Result<(&'static str, Attr)> {
    let wrong = |e: oarlock_tensor::Error| Error::internal(e.to_string());
    Ok(match value.dtype() {
        DType::F32 => ("fp32_values", Attr::Floats(value.data::<f32>().map_err(wrong)?.to_vec())),
        DType::I32 => ("int32_values", Attr::Ints(value.data::<i32>().map_err(wrong)?.to_vec())),
        DType::I64 => ("int64_values", Attr::Longs(value.data::<i64>().map_err(wrong)?.to_vec())),
        DType::Bool => ("bool_values", Attr::Bools(value.to_f64().iter().map(|&v| v != 0.0).collect())),
        other => fail!(Kind::DType, "values of dtype {other} cannot stand in a program; use f32, i32, i64 or bool"),
    })
}

/// Filters `[channels, 1, k, k]`, each a tent that is highest in the middle.
///
/// Rows are counted in whole numbers; Fluid did so on Python 2 only, and on Python 3 made tents that lean.
fn bilinear(var: &Var) -> Result<Tensor> {
    let sizes = known_sizes(var)?;
    let [.., height, width] = sizes[..] else {
        fail!(Kind::Shape, "a bilinear weight has four dimensions, but `{}` has shape {}", var.name, var.shape);
    };
    if sizes.len() != 4 || height != width {
        fail!(Kind::Shape, "a bilinear weight is [channels, 1, k, k], but `{}` has shape {}", var.name, var.shape);
    }
    let factor = (width as f64 / 2.0).ceil();
    let centre = (2.0 * factor - 1.0 - factor % 2.0) / (2.0 * factor);
    let tent = |i: usize| 1.0 - (i as f64 / factor - centre).abs();
    let numel: usize = sizes.iter().product();
    let values: Vec<f32> = (0..numel).map(|i| (tent(i % width) * tent(i / width % width)) as f32).collect();
    Tensor::from_slice(Dims::new(&sizes), &values).map_err(|e| Error::internal(e.to_string()))
}
