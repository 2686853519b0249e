//! The operators that read and write files: `save`, `load`, `save_combine` and `load_combine`.
//!
//! Files are replaced at once and checked like all others. Fluid 1.8 does not check everything; here the element
//! type of a loaded tensor is checked against the declared variable.

use std::path::{Path, PathBuf};

use oarlock_ir::{Error, In, Infer, Io, Kernel, Kind, OpDef, Prepare, Result, Sig, Traits, Var, VarDType, kernel};
use oarlock_tensor::{DType, Dims, Element, Tensor, Value, by_element, f16};

use crate::model::vars::{
    check, check_saveable, open_one, read_combined_file, read_tensor_part, read_var, write_one_file, write_value,
};

pub(crate) const OPS: [&dyn OpDef; 4] = [&Save, &Load, &SaveCombine, &LoadCombine];

const SIDE_EFFECT: Traits = Traits::GRADIENT_FREE.side_effect();

struct Save;

impl OpDef for Save {
    fn sig(&self) -> Sig {
        save_sig("save", "writes a variable to a file")
            .input("X", "a tensor or selected rows")
            .optional_output("kLookupTablePath", "not used")
            .traits(SIDE_EFFECT)
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        save_kernel(p, vec![p.input("X")?])
    }
}

struct SaveCombine;

impl OpDef for SaveCombine {
    fn sig(&self) -> Sig {
        save_sig("save_combine", "writes variables to one file, in the order given")
            .inputs("X", "tensors")
            .optional_output("Y", "the bytes, with `save_to_memory`")
            .attr("save_to_memory", false, "not supported: a file is written")
            .traits(SIDE_EFFECT)
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        refuse_memory(p, "save_to_memory")?;
        save_kernel(p, p.inputs("X")?)
    }
}

fn save_sig(op_type: &'static str, doc: &'static str) -> Sig {
    Sig::new(op_type, doc)
        .required_attr("file_path", "the file; directories are made as needed")
        .attr("overwrite", true, "replace a file that exists; otherwise that is an error")
        .attr("save_as_fp16", false, "convert to f16 first")
}

/// Programs keep bytes in variables only to hand them to Python, which has a function for that.
fn refuse_memory(p: &Prepare<'_>, attr: &str) -> Result<()> {
    if !p.attrs().bool(attr)? {
        return Ok(());
    }
    let what = format!("`{}` works on files, not on memory (`{attr}`)", p.op().op_type);
    Err(Error::new(Kind::Unsupported, what).help("use the functions that save to and load from bytes"))
}

fn save_kernel(p: &Prepare<'_>, inputs: Vec<In>) -> Result<Box<dyn Kernel>> {
    let attrs = p.attrs();
    let (path, overwrite) = (PathBuf::from(attrs.str("file_path")?), attrs.bool("overwrite")?);
    let as_f16 = attrs.bool("save_as_fp16")?;
    let names = p.op().inputs.get("X").to_vec();
    kernel(move |io| {
        if !overwrite && path.exists() {
            let what = format!("{} exists, and may not be overwritten", path.display());
            return Err(io.op_error(Kind::Io, what).help("choose another file, or set `overwrite`"));
        }
        for (input, name) in inputs.iter().zip(&names) {
            check_saveable(name, &*io.value(*input)?)?;
        }
        save(io, &path, &inputs, as_f16)
    })
}

fn save(io: &Io<'_>, path: &Path, inputs: &[In], as_f16: bool) -> Result<()> {
    let values = inputs.iter().map(|input| io.value(*input)).collect::<Result<Vec<_>>>()?;
    write_one_file(path, &mut |out| {
        values.iter().try_for_each(|value| match &**value {
            Value::Dense(tensor) if as_f16 => write_value(&Value::Dense(to_f16(tensor)), out),
            value => write_value(value, out),
        })
    })
}

/// The nearest halves.
fn to_f16(tensor: &Tensor) -> Tensor {
    fn convert<T: Element>(from: &Tensor, to: &mut [f16]) {
        // The type was just asked for, so the elements are there.
        let data = from.data::<T>().unwrap_or_default();
        to.iter_mut().zip(data).for_each(|(to, from)| *to = f16::from_f64(from.to_f64()));
    }
    let mut halves = Tensor::zeros(DType::F16, *tensor.dims());
    if let Ok(out) = halves.data_mut::<f16>() {
        by_element!(tensor.dtype(), T => convert::<T>(tensor, out));
    }
    halves.set_lod(tensor.lod().clone());
    halves
}

struct Load;

impl OpDef for Load {
    fn sig(&self) -> Sig {
        load_sig("load", "reads a variable from a file")
            .output("Out", "a tensor or selected rows, as declared")
            .attr("seek", -1i64, "read only a part: leave out this number of elements at the start; -1 reads all")
            .attr("shape", Vec::<i64>::new(), "the sizes of that part")
            .traits(SIDE_EFFECT)
    }

    // What a file holds is known when it is read.
    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        let out = p.output("Out")?;
        let attrs = p.attrs();
        let (path, as_f16) = (PathBuf::from(attrs.str("file_path")?), attrs.bool("load_as_fp16")?);
        let part = match usize::try_from(attrs.int("seek")?) {
            Ok(seek) => Some((seek, part_dims(&attrs.ints("shape")?)?)),
            Err(_) => None,
        };
        let vars = declared(p)?;
        let [var] = &vars[..] else { return Err(Error::internal("`load` has one output")) };
        let var = var.clone();
        kernel(move |io| {
            let value = match part {
                Some((seek, dims)) => Value::Dense(read_tensor_part(&path, seek, dims)?),
                None => read_var(open_one(&path)?, &any_dtype(&var, as_f16))?,
            };
            *io.write(out)? = converted(&var, value, as_f16)?;
            Ok(())
        })
    }
}

struct LoadCombine;

impl OpDef for LoadCombine {
    fn sig(&self) -> Sig {
        load_sig("load_combine", "reads variables from one file, in the order given")
            .outputs("Out", "tensors")
            .attr("model_from_memory", false, "not supported: a file is read")
            .traits(SIDE_EFFECT)
    }

    fn infer(&self, _: &mut Infer<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, p: &Prepare<'_>) -> Result<Box<dyn Kernel>> {
        refuse_memory(p, "model_from_memory")?;
        let attrs = p.attrs();
        let (path, as_f16) = (PathBuf::from(attrs.str("file_path")?), attrs.bool("load_as_fp16")?);
        let (outs, vars) = (p.outputs("Out")?, declared(p)?);
        kernel(move |io| {
            let wanted: Vec<Var> = vars.iter().map(|var| any_dtype(var, as_f16)).collect();
            let loaded = read_combined_file(open_one(&path)?, &wanted.iter().collect::<Vec<_>>())?;
            let fit = |((_, value), var): ((_, Value), &Var)| converted(var, value, as_f16);
            let values = loaded.into_iter().zip(&vars).map(fit).collect::<Result<Vec<Value>>>()?;
            for (out, value) in outs.iter().zip(values) {
                if let Some(out) = out {
                    *io.write(*out)? = value;
                }
            }
            Ok(())
        })
    }
}

fn load_sig(op_type: &'static str, doc: &'static str) -> Sig {
    Sig::new(op_type, doc).required_attr("file_path", "the file").attr("load_as_fp16", false, "convert to f16")
}

fn part_dims(sizes: &[i64]) -> Result<Dims> {
    let sizes: Option<Vec<usize>> = sizes.iter().map(|n| usize::try_from(*n).ok()).collect();
    sizes.and_then(|sizes| Dims::try_new(&sizes).ok()).ok_or_else(|| {
        Error::new(Kind::Argument, "attribute `shape` of `load` has a size that cannot be")
            .help("give all sizes of the part")
    })
}

/// The declarations of what is loaded.
fn declared(p: &Prepare<'_>) -> Result<Vec<Var>> {
    let vars: Option<Vec<Var>> = p.out_vars("Out").into_iter().map(|var| var.cloned()).collect();
    vars.ok_or_else(|| Error::internal("a loaded variable is not declared"))
}

/// For a load that converts: what is in the file may be of any type.
fn any_dtype(var: &Var, converts: bool) -> Var {
    let mut var = var.clone();
    if converts {
        var.dtype = VarDType::Other(-1);
    }
    var
}

/// The loaded value, as the variable is declared.
fn converted(var: &Var, value: Value, as_f16: bool) -> Result<Value> {
    let value = match value {
        Value::Dense(tensor) if as_f16 => Value::Dense(to_f16(&tensor)),
        other => other,
    };
    check(var, &value)?;
    Ok(value)
}
