"""Loads files that Oarlock wrote with PaddlePaddle 1.8, and compares what it makes of them with known results.

Usage: python check_with_fluid.py WRITTEN GOLDEN

WRITTEN holds, for each network: `sep` and `comb` (inference models), `final` and `all` (all variables, separate and
combined), and for some `save` (a program with its state); and beside them a pickle of many element types. GOLDEN is
Fluid's own data for the same networks. The tests of `oarlock-io` write the files and run this script;
it needs a Python in which `import paddle.fluid` works.
"""

import os
import pickle
import sys

import numpy as np
import paddle.fluid as fluid


def same(what, found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    if found.dtype != expected.dtype or found.shape != expected.shape or found.tobytes() != expected.tobytes():
        sys.exit("%s: %s %s is not %s %s" % (what, found.dtype, found, expected.dtype, expected))


def feeds(path):
    """What is fed to a model: arrays, some with the offsets of sequences."""
    arrays = np.load(path)
    fed = {}
    for name in arrays.files:
        if name.endswith(".lod0"):
            continue
        tensor = fluid.LoDTensor()
        tensor.set(arrays[name], fluid.CPUPlace())
        if name + ".lod0" in arrays.files:
            tensor.set_lod([arrays[name + ".lod0"].tolist()])
        fed[name] = tensor
    return fed


def predict(model, params, fed):
    with fluid.scope_guard(fluid.Scope()):
        exe = fluid.Executor(fluid.CPUPlace())
        program, names, targets = fluid.io.load_inference_model(model, exe, params_filename=params)
        assert sorted(names) == sorted(fed), (names, sorted(fed))
        return np.array(exe.run(program, feed=fed, fetch_list=targets, return_numpy=False)[0])


def check_inference(written, golden):
    """Predicts the same bits as Fluid's own model, which another machine rounds differently."""
    fed = feeds(os.path.join(golden, "infer_in.npz"))
    expected = predict(os.path.join(golden, "infer_sep"), None, fed)
    known = np.load(os.path.join(golden, "infer_out.npy"))
    np.testing.assert_allclose(expected, known, rtol=1e-5, atol=1e-6, err_msg=golden)
    same(written, predict(os.path.join(written, "sep"), None, fed), expected)
    same(written, predict(os.path.join(written, "comb"), "__params__", fed), expected)


def program_of(path):
    with open(path, "rb") as f:
        return fluid.Program.parse_from_string(f.read())


def values(program, load):
    """All persistable variables after a load."""
    with fluid.scope_guard(fluid.Scope()):
        exe = fluid.Executor(fluid.CPUPlace())
        load(exe, program)
        scope = fluid.global_scope()
        persistable = [v.name for v in program.list_vars() if fluid.io.is_persistable(v)]
        return {name: np.array(scope.find_var(name).get_tensor()) for name in persistable}


def check_variables(written, golden):
    """Separate and combined files hold what Fluid's own files hold."""
    program = program_of(os.path.join(golden, "main.program"))

    def loader(directory, filename=None):
        return lambda exe, program: fluid.io.load_persistables(exe, directory, program, filename)

    expected = values(program, loader(os.path.join(golden, "final")))
    for load in loader(os.path.join(written, "final")), loader(os.path.join(written, "all"), "__all__"):
        found = values(program, load)
        assert sorted(found) == sorted(expected)
        for name in expected:
            same(written + " " + name, found[name], expected[name])
    # Every file of the directory is read as a variable: the list of files, too.
    state = fluid.io.load_program_state(os.path.join(written, "final"))
    assert sorted(set(state) - {"oarlock.manifest"}) == sorted(expected), sorted(state)
    for name in expected:
        same(written + " " + name, state[name], expected[name])


def check_state(written, golden):
    """A program's state is read as Fluid's own."""
    found = fluid.io.load_program_state(os.path.join(written, "model"))
    expected = fluid.io.load_program_state(os.path.join(golden, "model"))
    assert sorted(found) == sorted(expected)
    for name in expected:
        same(written + " " + name, found[name], expected[name])
    program_of(os.path.join(written, "model.pdmodel"))


def check_pickle(path):
    """A pickle of many types reads well, and is what Python itself writes."""
    with open(path, "rb") as f:
        data = f.read()
    arrays = pickle.loads(data, encoding="latin1")
    for name, array in arrays.items():
        same(path + " " + name, array, np.arange(array.size).reshape(array.shape).astype(name.split("_")[0]))
    if pickle.dumps(arrays, protocol=2) != data:
        sys.exit("%s is not what Python writes" % path)


def check_operators(written, golden):
    """Sequences and selected rows, through the `load` operator."""
    for name in "t_lod1", "t_selected_rows":
        results = []
        for directory in written, golden:
            program = fluid.Program()
            block = program.global_block()
            kind = "SELECTED_ROWS" if name == "t_selected_rows" else "LOD_TENSOR"
            var = block.create_var(name="a", persistable=True, type=getattr(fluid.core.VarDesc.VarType, kind))
            block.append_op(type="load", outputs={"Out": [var]}, attrs={"file_path": os.path.join(directory, name)})
            with fluid.scope_guard(fluid.Scope()):
                fluid.Executor(fluid.CPUPlace()).run(program)
                found = fluid.global_scope().find_var("a")
                if kind == "SELECTED_ROWS":
                    rows = found.get_selected_rows()
                    results.append((np.array(rows.get_tensor()), list(rows.rows()), rows.height()))
                else:
                    results.append((np.array(found.get_tensor()), found.get_tensor().lod(), None))
        same(name, results[0][0], results[1][0])
        assert results[0][1:] == results[1][1:], results


def main():
    written, golden = sys.argv[1:]
    checked = 0
    for net in sorted(os.listdir(written)):
        ours, theirs = os.path.join(written, net), os.path.join(golden, net)
        if net.endswith(".pickle"):
            check_pickle(ours)
        elif net == "ops":
            check_operators(ours, os.path.join(theirs, "files"))
        else:
            check_inference(ours, theirs)
            check_variables(ours, theirs)
            if os.path.isdir(os.path.join(ours, "save")):
                check_state(os.path.join(ours, "save"), os.path.join(theirs, "save"))
        checked += 1
    print("checked %d" % checked)


if __name__ == "__main__":
    main()
