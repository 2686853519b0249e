"""The code of the Fluid manuals, as scripts that import ``paddle``. docs/seeds.md lists completions, corrections, and
listings that are not here."""

import subprocess
import sys

import pytest

LISTINGS = {}

LISTINGS["a simple network"] = """
import paddle.fluid as fluid

x = fluid.layers.data(name='x', shape=[13], dtype='float32')
y = fluid.layers.data(name='y', shape=[1], dtype='float32')

y_predict = fluid.layers.fc(input=x, size=1, act=None)

cost = fluid.layers.square_error_cost(input=y_predict, label=y)
avg_cost = fluid.layers.mean(cost)

sgd_optimizer = fluid.optimizer.SGD(learning_rate=0.001)

# Completed: it trains.
import paddle
sgd_optimizer.minimize(avg_cost)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
feeder = fluid.DataFeeder(place=fluid.CPUPlace(), feed_list=[x, y])
reader = paddle.batch(paddle.dataset.uci_housing.train(), batch_size=20)
costs = [exe.run(feed=feeder.feed(data), fetch_list=[avg_cost])[0] for _ in range(3) for data in reader()]
assert sum(costs[-5:]) < sum(costs[:5]) / 2
"""

LISTINGS["training on one device"] = """
import paddle.fluid as fluid

image = fluid.layers.data(name="image", shape=[784])
label = fluid.layers.data(name="label", shape=[1], dtype="int64")
hidden = fluid.layers.fc(input=image, size=100, act='relu')
prediction = fluid.layers.fc(input=hidden, size=10, act='softmax')
loss = fluid.layers.cross_entropy(input=prediction, label=label)
loss = fluid.layers.mean(loss)
sgd = fluid.optimizer.SGD(learning_rate=0.001)
sgd.minimize(loss)

# Here the fluid.default_startup_program() and fluid.default_main_program()
# has been constructed.

exe = fluid.Executor(fluid.CPUPlace())
exe.run(program=fluid.default_startup_program())

# Completed: the parameters are in the global scope, and a step runs.
import numpy
for p in fluid.default_main_program().all_parameters():
    assert numpy.array(fluid.global_scope().find_var(p.name).get_tensor()).shape == p.shape
feed = {"image": numpy.zeros([4, 784], "float32"), "label": numpy.zeros([4, 1], "int64")}
assert abs(exe.run(feed=feed, fetch_list=[loss])[0][0] - numpy.log(10)) < 1e-5
"""

LISTINGS["single card"] = """
import paddle.fluid as fluid
from paddle.fluid import compiler
import numpy

train_program = fluid.Program()
startup_program = fluid.Program()
with fluid.program_guard(train_program, startup_program):
    data = fluid.layers.data(name='X', shape=[1], dtype='float32')
    hidden = fluid.layers.fc(input=data, size=10)
    loss = fluid.layers.mean(hidden)
    sgd = fluid.optimizer.SGD(learning_rate=0.001)
    sgd.minimize(loss)

use_cuda = False
place = fluid.CUDAPlace(0) if use_cuda else fluid.CPUPlace()
exe = fluid.Executor(place)

# Run the startup program once and only once.
# Not need to optimize/compile the startup program.
startup_program.random_seed=1
exe.run(startup_program)

# Run the main program directly without compile.
x = numpy.random.random(size=(10, 1)).astype('float32')
loss_data, = exe.run(train_program,
                     feed={"X": x},
                     fetch_list=[loss.name])

# Or use CompiledProgram:
compiled_prog = compiler.CompiledProgram(train_program)
loss_data, = exe.run(compiled_prog,
             feed={"X": x},
             fetch_list=[loss.name])
"""

LISTINGS["several cards"] = LISTINGS["single card"] + """
import os

# NOTE: If you use CPU to run the program, you need
# to specify the CPU_NUM, otherwise, fluid will use
# all the number of the logic cores as the CPU_NUM,
# in that case, the batch size of the input should be
# greater than CPU_NUM, if not, the process will be
# failed by an exception.
if not use_cuda:
    os.environ['CPU_NUM'] = str(2)

compiled_prog = compiler.CompiledProgram(
    train_program).with_data_parallel(
    loss_name=loss.name)
loss_data, = exe.run(compiled_prog,
                     feed={"X": x},
                     fetch_list=[loss.name])

# Completed: the losses of both replicas.
assert loss_data.shape == (2,)
"""

LISTINGS["a test program on several cards"] = """
import os
import numpy
import paddle.fluid as fluid

os.environ['CPU_NUM'] = str(2)
img = fluid.layers.data(name="image", shape=[784])
label = fluid.layers.data(name="label", shape=[1], dtype="int64")
prediction = fluid.layers.fc(input=img, size=10, act='softmax')
loss = fluid.layers.mean(fluid.layers.cross_entropy(input=prediction, label=label))
acc = fluid.layers.accuracy(input=prediction, label=label)
test_program = fluid.default_main_program().clone(for_test=True)
fluid.optimizer.Adam(learning_rate=0.001).minimize(loss)
fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
batch = {"image": numpy.random.rand(8, 784).astype("float32"), "label": numpy.zeros([8, 1], "int64")}

train_exec = fluid.ParallelExecutor(use_cuda=False, loss_name=loss.name)
train_exec.run(fetch_list=[loss.name], feed=batch)
test_exec = fluid.ParallelExecutor(use_cuda=False, share_vars_from=train_exec,
                                   main_program=test_program)
test_acc = test_exec.run(fetch_list=[acc], feed=batch)
assert test_acc[0].shape == (2,)
"""

LISTINGS["a test program by clone"] = """
import paddle.fluid as fluid

img = fluid.layers.data(name="image", shape=[784])
prediction = fluid.layers.fc(
  input=fluid.layers.fc(input=img, size=100, act='relu'),
  size=10,
  act='softmax'
)
label = fluid.layers.data(name="label", shape=[1], dtype="int64")
loss = fluid.layers.mean(fluid.layers.cross_entropy(input=prediction, label=label))
acc = fluid.layers.accuracy(input=prediction, label=label)

test_program = fluid.default_main_program().clone(for_test=True)

adam = fluid.optimizer.Adam(learning_rate=0.001)
adam.minimize(loss)

# Completed: train, then test.
import numpy
import paddle
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
feeder = fluid.DataFeeder(feed_list=["image", "label"], place=fluid.CPUPlace())
for data in paddle.batch(paddle.dataset.mnist.train(), batch_size=128)():
    exe.run(feed=feeder.feed(data), fetch_list=[loss])
before = numpy.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor())
test_data_batch = feeder.feed(next(paddle.batch(paddle.dataset.mnist.test(), batch_size=256)()))

exe = fluid.Executor(fluid.CPUPlace())
test_acc = exe.run(program=test_program, feed=test_data_batch, fetch_list=[acc])
print('Test accuracy is ', test_acc)

assert test_acc[0] > 0.8
assert (numpy.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor()) == before).all()
"""

LISTINGS["a test program of its own"] = """
import paddle.fluid as fluid

def network(is_test):
    img = fluid.layers.data(name="img", shape=[20])
    label = fluid.layers.data(name="label", shape=[1], dtype="int64")
    hidden = fluid.layers.fc(input=img, size=100, act="relu")
    hidden = fluid.layers.batch_norm(input=hidden, is_test=is_test)
    prediction = fluid.layers.fc(input=hidden, size=2, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(input=prediction, label=label))
    return loss

with fluid.unique_name.guard():
    train_loss = network(is_test=False)
    sgd = fluid.optimizer.SGD(0.001)
    sgd.minimize(train_loss)

test_program = fluid.Program()
with fluid.unique_name.guard():
    with fluid.program_guard(test_program, fluid.Program()):
        test_loss = network(is_test=True)

# fluid.default_main_program() is the train program
# fluid.test_program is the test program

# Completed: both programs have the same parameters.
import numpy
names = lambda program: sorted(p.name for p in program.all_parameters())
assert names(test_program) == names(fluid.default_main_program())
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
rng = numpy.random.RandomState(0)
img = rng.rand(64, 20).astype("float32")
feed = {"img": img, "label": (img.sum(1, keepdims=True) > 10).astype("int64")}
test = lambda: exe.run(test_program, feed=feed, fetch_list=[test_loss])[0][0]
first = test()
assert first == test()
for _ in range(200):
    exe.run(feed=feed, fetch_list=[train_loss])
assert test() < first
"""

LISTINGS["exe.close"] = """
import paddle.fluid as fluid

exe = fluid.Executor(fluid.CPUPlace())
# training process ...
exe.close() # notify PServer to destory the resource
"""

LISTINGS["a distributed embedding, built"] = """
import paddle.fluid as fluid
input = fluid.layers.data(name="ids", shape=[1], dtype="int64")
dict_size, embedding_width = 1000, 8

emb = fluid.layers.embedding(
    is_distributed=True,
    input=input,
    size=[dict_size, embedding_width],
    is_sparse=True)

assert emb.shape == (-1, embedding_width)
"""

LISTINGS["memory_optimize"] = """
import paddle.fluid as fluid
role = "TRAINER"
loss = fluid.layers.mean(fluid.layers.fc(fluid.layers.data(name="x", shape=[4]), 2))
fluid.optimizer.SGD(0.1).minimize(loss)

if role == "TRAINER":
    fluid.memory_optimize(fluid.default_main_program(), skip_grads=True)

import numpy
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
exe.run(feed={"x": numpy.ones([3, 4], "float32")}, fetch_list=[loss])
"""

LISTINGS["saving and loading parameters"] = """
import paddle.fluid as fluid
# Completed: a network with parameters.
x = fluid.layers.fill_constant(shape=[2, 3], dtype="float32", value=1.0)
y = fluid.layers.fc(input=x, size=2)
fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
value = lambda: fluid.Executor(fluid.CPUPlace()).run(fetch_list=[y])[0]
saved = value()

import paddle.fluid as fluid

exe = fluid.Executor(fluid.CPUPlace())
param_path = "./my_paddle_model"
prog = fluid.default_main_program()
fluid.io.save_params(executor=exe, dirname=param_path, main_program=None)

# Completed: other values, until the old ones are loaded.
exe.run(fluid.default_startup_program())
assert (value() != saved).any()

import paddle.fluid as fluid

exe = fluid.Executor(fluid.CPUPlace())
param_path = "./my_paddle_model"
prog = fluid.default_main_program()
fluid.io.load_params(executor=exe, dirname=param_path,
                     main_program=prog)

assert (value() == saved).all()
"""

LISTINGS["training that goes on"] = """
import paddle.fluid as fluid
# Completed: a network that trains without being fed.
x = fluid.layers.fill_constant(shape=[2, 3], dtype="float32", value=1.0)
loss = fluid.layers.mean(fluid.layers.fc(input=x, size=2))
fluid.optimizer.Adam(0.1).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
for _ in range(3):
    exe.run(fluid.default_main_program())

import paddle.fluid as fluid

exe = fluid.Executor(fluid.CPUPlace())
path = "./models"
trainer_id = 0
if trainer_id == 0:
    prog = fluid.default_main_program()
    fluid.io.save_persistables(exe, path, prog)

exe = fluid.Executor(fluid.CPUPlace())
path = "./models"
prog = fluid.default_main_program()
fluid.io.save_persistables(exe, path, prog)

# Completed: what a fourth step gives, in this training and in the one that goes on.
fourth = exe.run(fetch_list=[loss])[0]

with fluid.scope_guard(fluid.Scope()):
    import paddle.fluid as fluid

    exe = fluid.Executor(fluid.CPUPlace())
    path = "./models"
    startup_prog = fluid.default_startup_program()
    exe.run(startup_prog)
    fluid.io.load_persistables(exe, path, startup_prog)
    main_prog = fluid.default_main_program()
    went_on, = exe.run(main_prog, fetch_list=[loss])

assert (went_on == fourth).all()
"""

LISTINGS["a trainer with checkpoints"] = """
import paddle.fluid as fluid
from paddle.fluid import CheckpointConfig, Trainer

config = CheckpointConfig(
    checkpoint_dir = "ckpt", max_num_checkpoints = 2, 
    epoch_interval = 2, step_interval = 10)

# Completed: a network, an optimizer and data.
import os
import numpy

def network():
    x = fluid.layers.data(name="x", shape=[3])
    y = fluid.layers.data(name="y", shape=[1])
    return fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))

def batches():
    for i in range(25):
        yield [(numpy.full([3], i, "float32") / 25, [float(i)])]

trainer = Trainer(network, lambda: fluid.optimizer.SGD(0.01), place=fluid.CPUPlace(), checkpoint_config=config)
steps = []
trainer.train(
    num_epochs=1, event_handler=lambda e: steps.append(e.step) if isinstance(e, fluid.EndStepEvent) and
    os.path.isdir("ckpt") else None, reader=batches, feed_order=["x", "y"])
assert steps
"""


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, tmp_path, monkeypatch):
    monkeypatch.setenv("OARLOCK_SYNTHETIC_DATA", "1")
    (tmp_path / "listing.py").write_text(LISTINGS[name])
    done = subprocess.run(
        [sys.executable, "-m", "oarlock.paddle", "listing.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
