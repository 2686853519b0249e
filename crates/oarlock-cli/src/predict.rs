//! `oarlock predict`: what a saved model computes from arrays of a file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use oarlock::io::{read_npz, write_npz};
use oarlock::ps::client::ClientOptions;
use oarlock::tensor::{DType, Lod, Tensor};
use oarlock::{Error, Kind, Options, Predictor, Result, fleet};
use serde_json::{Map, Value as Json, json};

/// Sequences of `x` are given by their offsets, as an array `x.lod0`.
const OFFSETS: &str = ".lod0";

/// Elements of an output that are printed for people.
const SHOWN: usize = 20;

#[derive(Args)]
pub(crate) struct Predict {
    /// The model: a directory, a prefix, or one of its files.
    model: PathBuf,
    /// Arrays by the names of the model's inputs, as `numpy.savez` writes them. Offsets of sequences of `x` are `x.lod0`.
    #[arg(long)]
    input: PathBuf,
    /// Look rows of sparse tables up on these servers (`host:port,...`), all of a job that runs, instead of loading the tables.
    #[arg(long, value_delimiter = ',')]
    servers: Vec<String>,
    /// Write the outputs to this `.npz` file instead of printing them.
    #[arg(long)]
    output: Option<PathBuf>,
    /// Compute threads.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Print JSON for machines.
    #[arg(long)]
    json: bool,
}

impl Predict {
    pub(crate) fn run(self) -> Result<String> {
        let inputs = read_inputs(&self.input)?;
        let options = Options { threads: self.threads.max(1), ..Options::from_env()? };
        let mut predictor = match &self.servers[..] {
            [] => Predictor::load(&self.model, &options)?,
            servers => fleet::predict_with_servers(&self.model, servers, ClientOptions::from_env()?, &options)?,
        };
        let inputs: Vec<(&str, &Tensor)> = inputs.iter().map(|(name, t)| (name.as_str(), t)).collect();
        let outputs = predictor.predict(&inputs)?;
        let named: Vec<_> = predictor.outputs().iter().cloned().zip(&outputs).collect();
        if let Some(path) = &self.output {
            let mut bytes = Vec::new();
            write_npz(&named, &mut bytes).map_err(|e| file_error("write", path, &e))?;
            fs::write(path, bytes).map_err(|e| file_error("write", path, &e))?;
            return Ok(String::new());
        }
        if self.json {
            let all: Map<String, Json> = named.iter().map(|(name, t)| (name.to_string(), to_json(t))).collect();
            return Ok(format!("{:#}\n", Json::from(all)));
        }
        Ok(named.iter().map(|(name, t)| to_text(name.as_str(), t)).collect())
    }
}

fn file_error(does: &str, path: &Path, e: &std::io::Error) -> Error {
    Error::new(Kind::Io, format!("cannot {does} {}: {e}", path.display()))
}

fn read_inputs(path: &Path) -> Result<Vec<(String, Tensor)>> {
    let bytes = fs::read(path).map_err(|e| file_error("read", path, &e))?;
    let mut arrays: BTreeMap<String, Tensor> = read_npz(&bytes, &path.display().to_string())?;
    let offsets: Vec<String> = arrays.keys().filter(|name| name.ends_with(OFFSETS)).cloned().collect();
    for name in offsets {
        let Some(offsets) = arrays.remove(&name) else { continue };
        if let Some(tensor) = arrays.get_mut(name.trim_end_matches(OFFSETS)) {
            tensor.set_lod(Lod::new(vec![offsets.to_f64().iter().map(|&n| n as usize).collect()]));
        }
    }
    Ok(arrays.into_iter().collect())
}

fn to_text(name: &str, tensor: &Tensor) -> String {
    let all = tensor.to_f64();
    let row = tensor.dims().last().copied().unwrap_or(1).max(1);
    let mut text = format!("{name}: {}{}\n", tensor.dtype(), tensor.dims());
    for values in all[..all.len().min(SHOWN)].chunks(row) {
        // The fewest digits that tell the number from its neighbours, which are further apart in f32.
        let word = |&v: &f64| if tensor.dtype() == DType::F64 { v.to_string() } else { (v as f32).to_string() };
        let words: Vec<String> = values.iter().map(word).collect();
        text += &format!("  {}\n", words.join(" "));
    }
    if all.len() > SHOWN {
        text += &format!("  and {} more; `--output` or `--json` gives all\n", all.len() - SHOWN);
    }
    text
}

fn to_json(tensor: &Tensor) -> Json {
    let whole = !matches!(tensor.dtype(), DType::F16 | DType::BF16 | DType::F32 | DType::F64);
    let number = |v: f64| if whole { json!(v as i64) } else { json!(v) };
    let values: Vec<Json> = tensor.to_f64().into_iter().map(number).collect();
    json!({"dtype": tensor.dtype().name(), "shape": &tensor.dims()[..], "values": values, "lod": tensor.lod().levels()})
}
