"""What a mistake is answered with: what it is, and what to do."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import oarlock
import oarlock.fluid as fluid
from oarlock import nn, optimizer, static
from oarlock.fluid import layers
from oarlock.fluid.executor import _Number

MISSPELT = {
    "fc": (lambda x: layers.fc(x, sise=4), "fc() got an unexpected keyword argument 'sise'; did you mean 'size'?"),
    "layers.nn.fc": (lambda x: layers.nn.fc(x, 4, param_atr="w"), "'param_atr'; did you mean 'param_attr'?"),
    "data": (lambda x: fluid.data("z", shap=[1]), "data() got an unexpected keyword argument 'shap'; did you mean 'shape'?"),
    "nothing is near": (lambda x: layers.relu(x, zzzzzz=1), "relu() got an unexpected keyword argument 'zzzzzz'; it takes x, name"),
    "class": (lambda x: fluid.ParamAttr(nmae="w"), "ParamAttr() got an unexpected keyword argument 'nmae'; did you mean 'name'?"),
    "optimizer": (lambda x: fluid.optimizer.Adam(learnin_rate=1.0), "AdamOptimizer() got an unexpected keyword argument 'learnin_rate'; did you mean 'learning_rate'?"),
    "initializer": (lambda x: fluid.initializer.Constant(valu=1.0), "did you mean 'value'?"),
    "nets": (lambda x: fluid.nets.glu(x, dimm=1), "did you mean 'dim'?"),
    "static.nn": (lambda x: static.nn.fc(x, 4, activaton="relu"), "did you mean 'activation'?"),
    "functional": (lambda x: nn.functional.softmax(x, axs=1), "did you mean 'axis'?"),
    "2.0 optimizer": (lambda x: optimizer.SGD(learning_rte=1.0), "SGD() got an unexpected keyword argument 'learning_rte'; did you mean 'learning_rate'?"),
    "scheduler": (lambda x: optimizer.lr.NoamDecay(d_mode=8, warmup_steps=2), "did you mean 'd_model'?"),
}


@pytest.mark.parametrize("case", MISSPELT)
def test_a_misspelt_keyword_is_answered_with_the_one_that_was_meant(case):
    call, text = MISSPELT[case]
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x = fluid.data("x", [None, 4])
        with pytest.raises(TypeError) as raised:
            call(x)
    assert text in str(raised.value)


def test_a_misspelt_layer_is_answered_with_the_one_that_was_meant():
    with pytest.raises(AttributeError, match="no layer fluid.layers.embeding; did you mean embedding"):
        layers.embeding


def test_a_function_stays_one_under_its_two_names():
    assert layers.fc is layers.nn.fc and fluid.data is fluid.input.data
    assert layers.fc.__name__ == "fc" and layers.fc.__doc__


def test_a_fetch_of_an_unknown_name_is_answered_with_what_the_layer_wrote():
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        layers.mean(layers.fc(fluid.data("x", [None, 4]), 2, act="relu"))
        exe = fluid.Executor()
        exe.run(startup)
        for name, meant in (("mean_0", "mean_0.tmp_0"), ("fc_0", "fc_0.tmp_2"), ("mean_0.tmp_1", "mean_0.tmp_0")):
            with pytest.raises(fluid.core.EnforceNotMet, match="did you mean `%s`" % meant):
                exe.run(main, feed={"x": np.zeros((1, 4), "float32")}, fetch_list=[name])


def test_a_loss_that_is_no_number_is_answered_for_every_language():
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        loss = layers.fc(fluid.data("x", [None, 4]), 2)
        with pytest.raises(fluid.core.EnforceNotMet, match="take the mean of it") as raised:
            fluid.optimizer.SGD(0.1).minimize(loss)
    assert "net." not in str(raised.value) and "&" not in str(raised.value)


def test_exceptions_live_where_users_find_them():
    for name in ("EnforceNotMet", "EOFException"):
        made = getattr(fluid.core, name)
        assert "%s.%s" % (made.__module__, made.__qualname__) == "oarlock.fluid.core." + name
        assert isinstance(pickle.loads(pickle.dumps(made("text"))), made) and issubclass(made, RuntimeError)


def test_a_fetched_number_prints_as_an_array():
    for value in (np.array([0.44], "float32"), np.array([[3]]), np.array(1.5)):
        number = value.view(_Number)
        assert repr(number) == repr(value) and str(number) == str(value) and "%r" % number == "%r" % value
        assert float(number) == float(value.item())


def test_a_split_method_that_is_none_is_named():
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        loss = layers.mean(layers.fc(fluid.data("x", [None, 4]), 2))
        fluid.optimizer.SGD(0.1).minimize(loss)
        config = fluid.DistributeTranspilerConfig()
        config.split_method = "foo"
        with pytest.raises(TypeError, match="(?s)split_method must be a class .* not 'foo'.*HashName"):
            fluid.DistributeTranspiler(config).transpile(0, pservers="127.0.0.1:1", trainers=1)
        with pytest.raises(TypeError, match="not 'bar'"):
            fluid.DistributeTranspiler().transpile(0, pservers="127.0.0.1:1", trainers=1, split_method="bar")


def dataset_of(path):
    made = fluid.DatasetFactory().create_dataset("QueueDataset")
    made.set_use_var([fluid.data("x", [None, 2])])
    made.set_filelist([str(path)])
    return made


def test_files_and_lines_of_a_data_set_are_answered_with_help(tmp_path):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()):
        exe = fluid.Executor()
        (tmp_path / "bad").write_text("2 1.0 oops\n")
        bad = dataset_of(tmp_path / "bad")
        layers.mean(fluid.data("x", [None, 2]))
        with pytest.raises(RuntimeError, match=r'set_bad_lines\("skip"\)'):
            exe.train_from_dataset(main, bad)
        with pytest.raises(FileNotFoundError, match="(?s)cannot read nowhere/part-0.*help: .*working directory"):
            exe.train_from_dataset(main, dataset_of("nowhere/part-0"))


def test_launchers_speak_of_themselves():
    def says(*words):
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run = "import sys; sys.argv[0] = '/usr/bin/fleetrun'; from oarlock.distributed.launch import main; sys.exit(main())"
    assert says("-c", run, "--version") == "fleetrun %s\n" % oarlock.__version__
    assert "Usage: fleetrun [OPTIONS]" in says("-c", run, "--help")
    assert "Usage: python -m oarlock.distributed.launch [OPTIONS]" in says("-m", "oarlock.distributed.launch", "--help")
    assert "Usage: oarlock launch" in says("-m", "oarlock", "launch", "--help")
