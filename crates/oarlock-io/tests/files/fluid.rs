//! Fluid 1.8 loads the files we write, and computes the same with them. Runs where PaddlePaddle 1.8 is installed:
//! `OARLOCK_PEER_FLUID` names a Python that has it, else `python3` is asked.

use std::path::{Path, PathBuf};
use std::process::Command;

use oarlock_io::{
    InferenceModel, Local, ModelFiles, load_program, load_vars, persistables, read_pickle, save_program, save_vars,
    write_pickle, write_rows, write_tensor,
};
use oarlock_ir::Name;
use oarlock_tensor::{DType, Dims, Element, Tensor, by_element};

use super::common::{TempDir, Values, golden, nets, program, read};

#[expect(clippy::disallowed_methods, reason = "the place where these tests look for Fluid 1.8")]
fn python() -> String {
    std::env::var("OARLOCK_PEER_FLUID").unwrap_or_else(|_| "python3".into())
}

/// Does this Python have PaddlePaddle 1.8?
fn has_fluid() -> bool {
    let code = "import paddle, paddle.fluid; assert paddle.__version__.startswith('1.8')";
    Command::new(python()).args(["-c", code]).output().is_ok_and(|out| out.status.success())
}

/// Everything we write for one network.
fn write_net(net: &str, out: &Path) {
    let dir = golden().join(net);
    let values = Values::default();
    let model = InferenceModel::load(&Local::at(dir.join("infer_sep")), &ModelFiles::separate(), &values).unwrap();
    let scale_of = |fetch: &Name| {
        let mut ops = model.program.global().ops.iter();
        ops.find(|op| op.outputs.args().any(|o| o == fetch)).unwrap().inputs.get("X")[0].clone()
    };
    let targets: Vec<Name> = model.fetches.iter().map(scale_of).collect();
    let (feeds, targets): (Vec<&str>, Vec<&str>) =
        (model.feeds.iter().map(Name::as_str).collect(), targets.iter().map(Name::as_str).collect());
    let main = program(dir.join("main.program"));
    let export = InferenceModel::export(&main, &feeds, &targets).unwrap();
    export.save(&Local::at(out.join("sep")), &ModelFiles::separate(), &values).unwrap();
    export.save(&Local::at(out.join("comb")), &ModelFiles::combined("__params__"), &values).unwrap();
    let (vars, all) = (persistables(&main), Values::default());
    load_vars(&Local::at(dir.join("final")), None, &vars, &all).unwrap();
    save_vars(&Local::at(out.join("final")), None, &vars, &all).unwrap();
    save_vars(&Local::at(out.join("all")), Some("__all__"), &vars, &all).unwrap();
    if dir.join("save").is_dir() {
        write_state(&dir.join("save"), &out.join("save"));
    }
}

fn write_state(from: &Path, to: &Path) {
    let mut main = program(from.join("model.pdmodel"));
    for (name, _) in read_pickle(&read(from.join("model.pdparams")), "p").unwrap() {
        main.find_var_mut(0, &name).unwrap().meta.is_parameter = true;
    }
    let values = Values::default();
    load_program(&Local::at(from), "model", &main, None, &values).unwrap();
    save_program(&Local::at(to), "model", &main, &values).unwrap();
}

/// A pickle of every element type and many shapes, twice over, so that references to earlier objects occur.
fn write_mixed(path: &Path, rounds: usize) {
    fn counted<T: Element>(dims: Dims) -> Tensor {
        let data: Vec<T> = (0..dims.numel()).map(|i| T::from_i64(i as i64)).collect();
        Tensor::from_slice(dims, &data).unwrap()
    }
    let shapes: [&[usize]; 4] = [&[2], &[3, 5], &[1, 300, 1], &[2, 1, 2, 3]];
    let types = DType::ALL.into_iter().filter(|d| *d != DType::BF16);
    let mut items: Vec<(Name, Tensor)> = Vec::new();
    for round in 0..rounds {
        for dtype in types.clone() {
            for (i, shape) in shapes.iter().enumerate() {
                let tensor = by_element!(dtype, T => counted::<T>(Dims::new(shape)));
                items.push((format!("{}_{round}_{i}", dtype.name()).into(), tensor));
            }
        }
    }
    let items: Vec<(Name, &Tensor)> = items.iter().map(|(n, t)| (n.clone(), t)).collect();
    let mut bytes = Vec::new();
    write_pickle(&items, &mut bytes).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn write_operator_files(out: &Path) {
    std::fs::create_dir(out).unwrap();
    let files = golden().join("ops/files");
    let mut bytes = Vec::new();
    write_tensor(&oarlock_io::decode_tensor(&read(files.join("t_lod1")), "t").unwrap().0, &mut bytes).unwrap();
    std::fs::write(out.join("t_lod1"), &bytes).unwrap();
    bytes.clear();
    write_rows(&oarlock_io::decode_rows(&read(files.join("t_selected_rows")), "t").unwrap().0, &mut bytes).unwrap();
    std::fs::write(out.join("t_selected_rows"), &bytes).unwrap();
}

#[test]
fn fluid_loads_the_files_we_write() {
    if !has_fluid() {
        return oarlock_testkit::skip("no Python with PaddlePaddle 1.8 (name one in OARLOCK_PEER_FLUID)");
    }
    let out = TempDir::new();
    for net in nets() {
        write_net(net, &out.path().join(net));
    }
    write_mixed(&out.path().join("mixed.pickle"), 1);
    // More than the thousand items that Python writes at a time, and more than the 255 objects a byte can number.
    write_mixed(&out.path().join("many.pickle"), 30);
    write_operator_files(&out.path().join("ops"));
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tools/check_with_fluid.py");
    let ran = Command::new(python()).arg(script).arg(out.path()).arg(golden()).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{text}");
    assert!(text.contains(&format!("checked {}", nets().len() + 3)), "{text}");
}
