//! Programs for one machine that tests of transpiled programs, servers and collective workers start from, and ways to compare what
//! they learn. Included by the tests of three crates.

use std::path::PathBuf;

use oarlock_exec::Scope;
use oarlock_ir::Program;
use oarlock_tensor::{DType, Dims, Tensor};
use oarlock_testkit::Npz;
use oarlock_transpile::DistributeTranspiler;

fn archive() -> Npz {
    Npz::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../oarlock-transpile/tests/golden/programs.npz"))
}

pub(crate) fn local(case: &str) -> (Program, Program) {
    let archive = archive();
    let [mut main, startup] = ["main", "startup"]
        .map(|name| Program::from_bytes(archive.array(&format!("{case}.{name}")).bytes()).expect("a program"));
    main.random_seed = 90;
    (main, startup)
}

/// A parameter, joined from the servers.
pub(crate) fn joined(transpiler: &DistributeTranspiler, servers: &[Scope], param: &str) -> Tensor {
    let blocks = transpiler.placement().expect("placed").blocks(param);
    let parts: Vec<Tensor> =
        blocks.iter().map(|b| servers[b.server].tensor(&b.block.name()).expect("a block")).collect();
    let rows = parts.iter().map(|p| p.dims()[0]).sum();
    let mut whole = Tensor::new();
    whole.resize(parts[0].dtype(), parts[0].dims().with_rows(rows));
    let bytes: Vec<u8> = parts.iter().flat_map(|p| p.bytes().to_vec()).collect();
    whole.bytes_mut().copy_from_slice(&bytes);
    whole
}

pub(crate) fn noise(rows: usize, width: usize, seed: usize) -> Tensor {
    let mut tensor = Tensor::zeros(DType::F32, Dims::from([rows, width]));
    let values = tensor.data_mut::<f32>().expect("f32").iter_mut().enumerate();
    values.for_each(|(i, v)| *v = ((i * 37 + seed * 101 + 11) % 89) as f32 / 89.0 - 0.5);
    tensor
}

pub(crate) fn rows_of(tensor: &Tensor, from: usize, count: usize) -> Tensor {
    let size = tensor.dtype().size() * tensor.dims().iter().skip(1).product::<usize>();
    let mut part = Tensor::new();
    part.resize(tensor.dtype(), tensor.dims().with_rows(count));
    part.bytes_mut().copy_from_slice(&tensor.bytes()[from * size..][..count * size]);
    part
}
