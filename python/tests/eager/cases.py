"""What is computed both here and by Fluid 1.8.5: functions that take the module ``fluid`` and return arrays by name.

They are written for Python 3.7 and up, because ``record.py`` runs them with Fluid 1.8.5.
"""

import numpy as np

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def numbers(*shape, **kwargs):
    """Numbers that look random and are the same everywhere."""
    count = int(np.prod(shape))
    start = kwargs.get("start", 1)
    values = np.sin(np.arange(start, start + count, dtype="float64") * 12.9898) * 43758.5453
    values = (values - np.floor(values)) * 2 - 1
    return (values * kwargs.get("scale", 1.0)).reshape(shape).astype(kwargs.get("dtype", "float32"))


def integers(high, *shape, **kwargs):
    return np.floor((numbers(*shape, start=kwargs.get("start", 7), dtype="float64") + 1) / 2 * high).astype("int64")


def fill(layer):
    """Gives every parameter of a layer the same value everywhere."""
    for at, param in enumerate(layer.parameters()):
        if not param.stop_gradient:
            param.set_value(numbers(*param.shape, start=100 * (at + 1), scale=0.5))


def run_layer(fluid, make, *arrays):
    """Results, and gradients of inputs and parameters, of a layer with known parameters."""
    with fluid.dygraph.guard():
        layer = make(fluid)
        fill(layer)
        inputs = [fluid.dygraph.to_variable(array) for array in arrays]
        for each in inputs:
            each.stop_gradient = each.numpy().dtype.kind != "f"
        out = layer(*inputs)
        out = out[0] if isinstance(out, tuple) else out
        weights = fluid.dygraph.to_variable(numbers(*out.shape, start=500))
        fluid.layers.reduce_sum(out * weights).backward()
        found = {"out": out.numpy(), "names": [p.name for p in layer.parameters()]}
        for at, each in enumerate(inputs):
            if not each.stop_gradient:
                found["input%d" % at] = each.gradient()
        for param in layer.parameters():
            if not param.stop_gradient and param.gradient() is not None:
                found[param.name] = dense(param.gradient(), param.shape)
        return found


def dense(gradient, shape):
    if not isinstance(gradient, tuple):
        return gradient
    whole = np.zeros(shape, gradient[0].dtype)
    np.add.at(whole, gradient[1], gradient[0])
    return whole


LAYERS = {
    "conv2d": (lambda f: f.Conv2D(3, 4, 3, stride=2, padding=1, act="relu"), numbers(2, 3, 7, 7)),
    "conv2d_groups": (lambda f: f.Conv2D(4, 4, 3, groups=2, dilation=2, bias_attr=False), numbers(2, 4, 7, 7)),
    "conv2d_depthwise": (lambda f: f.Conv2D(4, 4, 3, groups=4, use_cudnn=False), numbers(1, 4, 5, 5)),
    "conv3d": (lambda f: f.Conv3D(2, 3, 2), numbers(1, 2, 4, 4, 4)),
    "conv2d_transpose": (lambda f: f.Conv2DTranspose(3, 2, 3, stride=2, act="tanh"), numbers(1, 3, 4, 4)),
    "conv3d_transpose": (lambda f: f.dygraph.Conv3DTranspose(2, 2, 2, bias_attr=f.ParamAttr(name="b")), numbers(1, 2, 3, 3, 3)),
    "pool2d_max": (lambda f: f.Pool2D(2, "max", 2), numbers(2, 2, 6, 6)),
    "pool2d_avg": (lambda f: f.Pool2D(3, "avg", 2, 1, exclusive=False), numbers(2, 2, 6, 6)),
    "pool2d_global": (lambda f: f.Pool2D(pool_type="avg", global_pooling=True), numbers(2, 2, 6, 6)),
    "linear": (lambda f: f.Linear(4, 3, act="sigmoid"), numbers(5, 4)),
    "linear_3d": (lambda f: f.Linear(4, 3), numbers(2, 5, 4)),
    "instance_norm": (lambda f: f.InstanceNorm(3), numbers(2, 3, 4, 4)),
    "batch_norm": (lambda f: f.BatchNorm(3, act="relu"), numbers(4, 3, 2, 2)),
    "embedding": (lambda f: f.Embedding([10, 4]), integers(10, 6)),
    "embedding_sparse": (lambda f: f.Embedding([10, 4], is_sparse=True, padding_idx=-1), integers(10, 3, 2)),
    "layer_norm": (lambda f: f.LayerNorm([4, 3], act="relu"), numbers(2, 4, 3)),
    "layer_norm_plain": (lambda f: f.LayerNorm(3, scale=False, shift=False), numbers(4, 3)),
    "gru_unit": (lambda f: f.GRUUnit(9), numbers(4, 9), numbers(4, 3, start=50)),
    "prelu_all": (lambda f: f.PRelu("all"), numbers(2, 3, 4, 4)),
    "prelu_channel": (lambda f: f.PRelu("channel", channel=3), numbers(2, 3, 4, 4)),
    "prelu_element": (lambda f: f.PRelu("element", input_shape=[2, 3, 4, 4]), numbers(2, 3, 4, 4)),
    "bilinear": (lambda f: f.BilinearTensorProduct(3, 4, 2, act="tanh"), numbers(5, 3), numbers(5, 4, start=90)),
    "group_norm": (lambda f: f.dygraph.GroupNorm(4, 2, param_attr=f.ParamAttr(), bias_attr=f.ParamAttr()), numbers(2, 4, 3, 3)),
    "dropout_none": (lambda f: f.Dropout(0.0), numbers(3, 4)),
    "mse_loss": (lambda f: f.dygraph.MSELoss(), numbers(4, 3), numbers(4, 3, start=40)),
    "l1_loss": (lambda f: f.dygraph.L1Loss("sum"), numbers(4, 3), numbers(4, 3, start=40)),
    "nll_loss": (lambda f: f.dygraph.NLLLoss(), numbers(4, 3), integers(3, 4)),
    "nll_loss_3d": (lambda f: f.dygraph.NLLLoss(reduction="none"), numbers(2, 3, 4), integers(3, 2, 4)),
    "sequential": (lambda f: f.dygraph.Sequential(f.Linear(4, 3, act="tanh"), f.Linear(3, 2)), numbers(5, 4)),
}
for _name, _made in LAYERS.items():
    CASES["layer_" + _name] = lambda fluid, made=_made: run_layer(fluid, *made)


@case
def layer_bce_loss(fluid):
    with fluid.dygraph.guard():
        x = fluid.dygraph.to_variable((numbers(4, 3) + 1.1) / 2.2)
        x.stop_gradient = False
        label = fluid.dygraph.to_variable((numbers(4, 3, start=9) > 0).astype("float32"))
        loss = fluid.dygraph.BCELoss()(x, label)
        loss.backward()
        return {"loss": loss.numpy(), "gradient": x.gradient()}


@case
def layer_spectral_norm(fluid):
    with fluid.dygraph.guard():
        layer = fluid.dygraph.SpectralNorm([4, 6], power_iters=2)
        layer.weight_u.set_value(numbers(4))
        layer.weight_v.set_value(numbers(6))
        x = fluid.dygraph.to_variable(numbers(4, 6, start=3))
        x.stop_gradient = False
        out = layer(x)
        fluid.layers.reduce_sum(out * fluid.dygraph.to_variable(numbers(4, 6, start=70))).backward()
        return {"out": out.numpy(), "gradient": x.gradient()}


@case
def batch_norm_keeps_moving_means_and_uses_them_after_eval(fluid):
    with fluid.dygraph.guard():
        layer = fluid.BatchNorm(3)
        for at in range(3):
            layer(fluid.dygraph.to_variable(numbers(4, 3, 2, 2, start=10 * at + 1)))
        layer.eval()
        out = layer(fluid.dygraph.to_variable(numbers(4, 3, 2, 2)))
        return {"mean": layer._mean.numpy(), "variance": layer._variance.numpy(), "out": out.numpy(), "stop": [out.stop_gradient]}


OPTIMIZERS = {
    "sgd": lambda f, p: f.optimizer.SGD(0.1, parameter_list=p),
    "momentum": lambda f, p: f.optimizer.Momentum(0.1, 0.9, parameter_list=p),
    "momentum_nesterov": lambda f, p: f.optimizer.Momentum(0.1, 0.9, parameter_list=p, use_nesterov=True),
    "adagrad": lambda f, p: f.optimizer.Adagrad(0.1, parameter_list=p),
    "adam": lambda f, p: f.optimizer.Adam(0.1, parameter_list=p),
    "adamax": lambda f, p: f.optimizer.Adamax(0.1, parameter_list=p),
    "decayed_adagrad": lambda f, p: f.optimizer.DecayedAdagrad(0.1, parameter_list=p),
    "adadelta": lambda f, p: f.optimizer.Adadelta(0.1, parameter_list=p),
    "rmsprop": lambda f, p: f.optimizer.RMSPropOptimizer(0.1, parameter_list=p),
    "rmsprop_centered": lambda f, p: f.optimizer.RMSPropOptimizer(0.1, momentum=0.5, centered=True, parameter_list=p),
    "ftrl": lambda f, p: f.optimizer.Ftrl(0.1, parameter_list=p),
    "lamb": lambda f, p: f.optimizer.LambOptimizer(0.1, parameter_list=p),
    "lars": lambda f, p: f.optimizer.LarsMomentum(0.1, 0.9, parameter_list=p),
    "l2": lambda f, p: f.optimizer.SGD(0.1, parameter_list=p, regularization=f.regularizer.L2Decay(0.3)),
    "l1": lambda f, p: f.optimizer.Adam(0.1, parameter_list=p, regularization=f.regularizer.L1Decay(0.3)),
    "clip_value": lambda f, p: f.optimizer.SGD(0.1, parameter_list=p, grad_clip=f.clip.GradientClipByValue(0.01)),
    "clip_norm": lambda f, p: f.optimizer.Momentum(0.1, 0.9, parameter_list=p, grad_clip=f.clip.GradientClipByNorm(0.02)),
    "clip_global_norm": lambda f, p: f.optimizer.Adam(0.1, parameter_list=p, grad_clip=f.clip.GradientClipByGlobalNorm(0.05)),
    "clip_some": lambda f, p: f.optimizer.SGD(
        0.1, parameter_list=p, grad_clip=f.clip.GradientClipByGlobalNorm(0.01, need_clip=lambda param: param.name.endswith("w_0"))),
    "decay": lambda f, p: f.optimizer.Adam(f.dygraph.PiecewiseDecay([2, 4], [0.1, 0.05, 0.01], 0), parameter_list=p),
}


def train(fluid, make, steps=5):
    """The loss of each step, and parameters, gradients and state at the end."""
    with fluid.dygraph.guard():
        layer = fluid.Linear(4, 3, param_attr=fluid.ParamAttr(learning_rate=0.5))
        fill(layer)
        optimizer = make(fluid, layer.parameters())
        x, y = fluid.dygraph.to_variable(numbers(8, 4)), fluid.dygraph.to_variable(numbers(8, 3, start=60))
        losses, rates = [], []
        for _ in range(steps):
            loss = fluid.layers.reduce_mean(fluid.layers.square_error_cost(layer(x), y))
            loss.backward()
            optimizer.minimize(loss)
            losses.append(loss.numpy()[0])
            rates.append(optimizer.current_step_lr())
            gradient = layer.weight.gradient()
            layer.clear_gradients()
        found = {"losses": losses, "rates": rates, "weight": layer.weight.numpy(), "bias": layer.bias.numpy(), "gradient": gradient}
        state = optimizer.state_dict()
        found["state_names"] = sorted(state)
        for name, value in state.items():
            if name != "LR_Scheduler":
                found[name] = value.numpy()
        return found


for _name, _make in OPTIMIZERS.items():
    CASES["optimizer_" + _name] = lambda fluid, make=_make: train(fluid, make)


@case
def optimizer_of_sparse_embedding(fluid):
    found = {}
    for name, make in (
        ("sgd", lambda p: fluid.optimizer.SGD(0.1, parameter_list=p)), ("adam", lambda p: fluid.optimizer.Adam(0.1, parameter_list=p)),
        ("lazy", lambda p: fluid.optimizer.Adam(0.1, parameter_list=p, lazy_mode=True)),
        ("momentum", lambda p: fluid.optimizer.Momentum(0.1, 0.9, parameter_list=p)),
        ("clip", lambda p: fluid.optimizer.SGD(0.1, parameter_list=p, grad_clip=fluid.clip.GradientClipByGlobalNorm(0.01))),
    ):
        with fluid.dygraph.guard():
            layer = fluid.Embedding([10, 4], is_sparse=True)
            fill(layer)
            optimizer = make(layer.parameters())
            for at in range(3):
                # Momentum of Fluid 1.8.5 finds rows only if they are sorted.
                ids = fluid.dygraph.to_variable(np.sort(integers(10, 5, start=at + 1)))
                loss = fluid.layers.reduce_mean(fluid.layers.square(layer(ids)))
                loss.backward()
                optimizer.minimize(loss)
                layer.clear_gradients()
            found[name] = layer.weight.numpy()
    return found


SCHEDULES = {
    "noam": lambda d: d.NoamDecay(512, 8), "piecewise": lambda d: d.PiecewiseDecay([5, 12], [0.1, 0.05, 0.001], 0),
    "natural_exp": lambda d: d.NaturalExpDecay(0.1, 5, 0.5), "natural_exp_staircase": lambda d: d.NaturalExpDecay(0.1, 5, 0.5, True),
    "exponential": lambda d: d.ExponentialDecay(0.1, 5, 0.5), "exponential_staircase": lambda d: d.ExponentialDecay(0.1, 5, 0.5, True),
    "inverse_time": lambda d: d.InverseTimeDecay(0.1, 5, 0.5), "inverse_time_staircase": lambda d: d.InverseTimeDecay(0.1, 5, 0.5, True),
    "polynomial": lambda d: d.PolynomialDecay(0.1, 15, 0.01, 2.0), "polynomial_cycle": lambda d: d.PolynomialDecay(0.1, 6, 0.01, 1.5, True),
    "cosine": lambda d: d.CosineDecay(0.1, 3, 7), "warmup": lambda d: d.LinearLrWarmup(0.1, 8, 0.0, 0.1),
    "warmup_decay": lambda d: d.LinearLrWarmup(d.ExponentialDecay(0.1, 5, 0.5), 8, 0.0, 0.1),
}
EPOCHS = {
    "step": lambda d: d.StepDecay(0.5, 3, 0.3), "multi_step": lambda d: d.MultiStepDecay(0.5, [4, 9], 0.3),
    "lambda": lambda d: d.LambdaDecay(0.5, lambda epoch: 0.95 ** epoch),
}


def number(rate):
    return rate if isinstance(rate, (int, float)) else rate.numpy()[0]


@case
def schedules_of_steps(fluid):
    with fluid.dygraph.guard():
        return {name: [number(rate()) for _ in range(20)] for name, rate in ((n, make(fluid.dygraph)) for n, make in SCHEDULES.items())}


@case
def schedules_of_epochs(fluid):
    found = {}
    with fluid.dygraph.guard():
        for name, make in EPOCHS.items():
            rate, found[name] = make(fluid.dygraph), []
            for _ in range(20):
                found[name].append(number(rate()))
                rate.epoch()
    return found


@case
def schedule_on_plateau(fluid):
    with fluid.dygraph.guard():
        rate, found = fluid.dygraph.ReduceLROnPlateau(1.0, decay_rate=0.5, patience=2, cooldown=1), []
        for loss in [5.0, 4.0, 4.5, 4.4, 4.2, 4.1, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]:
            found.append(number(rate()))
            rate.step(fluid.dygraph.to_variable(np.array([loss], "float32")))
        return {"rates": found, "state": [rate.state_dict()["epoch_num"]]}


@case
def mnist_losses(fluid):
    with fluid.dygraph.guard():
        class Net(fluid.dygraph.Layer):
            def __init__(self):
                super(Net, self).__init__()
                self.conv1 = fluid.Conv2D(1, 6, 5, act="relu")
                self.conv2 = fluid.Conv2D(6, 8, 5)
                self.norm = fluid.BatchNorm(8, act="relu")
                self.pool = fluid.Pool2D(2, "max", 2)
                self.fc = fluid.Linear(8 * 4 * 4, 10, act="softmax")

            def forward(self, x):
                x = self.pool(self.norm(self.conv2(self.pool(self.conv1(x)))))
                return self.fc(fluid.layers.reshape(x, [-1, 8 * 4 * 4]))

        net = Net()
        fill(net)
        for param in net.parameters():
            if not param.stop_gradient:
                param.set_value(param.numpy() * np.float32(0.3))
        optimizer = fluid.optimizer.Adam(1e-3, parameter_list=net.parameters())
        losses = []
        for at in range(8):
            images = fluid.dygraph.to_variable(numbers(16, 1, 28, 28, start=at + 1))
            labels = fluid.dygraph.to_variable(integers(10, 16, 1, start=at + 1))
            loss = fluid.layers.mean(fluid.layers.cross_entropy(net(images), labels))
            loss.backward()
            optimizer.minimize(loss)
            net.clear_gradients()
            losses.append(loss.numpy()[0])
        return {"losses": losses, "names": [p.name for p in net.parameters()], "keys": sorted(net.state_dict())}


@case
def ptb_losses(fluid):
    layers, hidden, steps, batch, words, depth = fluid.layers, 8, 5, 4, 20, 2
    with fluid.dygraph.guard():
        class Net(fluid.dygraph.Layer):
            def __init__(self):
                super(Net, self).__init__()
                self.table = fluid.Embedding([words, hidden])
                self.cells = fluid.dygraph.ParameterList(
                    [self.create_parameter([2 * hidden, 4 * hidden]) for _ in range(depth)])
                self.biases = fluid.dygraph.ParameterList(
                    [self.create_parameter([4 * hidden], is_bias=True) for _ in range(depth)])
                self.out = fluid.Linear(hidden, words)

            def forward(self, ids, label, states):
                x, outs = self.table(ids), []
                for step in range(steps):
                    now = x[:, step]
                    for at in range(depth):
                        h, c = states[at]
                        gates = layers.elementwise_add(layers.matmul(layers.concat([now, h], 1), self.cells[at]), self.biases[at])
                        i, j, f, o = layers.split(gates, 4, dim=-1)
                        c = c * layers.sigmoid(f) + layers.sigmoid(i) * layers.tanh(j)
                        now = layers.tanh(c) * layers.sigmoid(o)
                        states[at] = (now, c)
                    outs.append(layers.reshape(now, [1, -1, hidden]))
                out = layers.transpose(layers.concat(outs, 0), [1, 0, 2])
                loss = layers.softmax_with_cross_entropy(layers.reshape(self.out(out), [-1, words]), label)
                return layers.reduce_sum(layers.reduce_mean(layers.reshape(loss, [-1, steps]), dim=[0])), states

        net = Net()
        fill(net)
        optimizer = fluid.optimizer.SGD(
            0.5, parameter_list=net.parameters(), grad_clip=fluid.clip.GradientClipByGlobalNorm(1.0))
        zeros = np.zeros([batch, hidden], "float32")
        states, losses = [(fluid.dygraph.to_variable(zeros), fluid.dygraph.to_variable(zeros)) for _ in range(depth)], []
        for at in range(10):
            ids = fluid.dygraph.to_variable(integers(words, batch, steps, start=at + 1))
            label = fluid.dygraph.to_variable(integers(words, batch * steps, 1, start=at + 9))
            loss, states = net(ids, label, states)
            states = [(h.detach(), c.detach()) for h, c in states]
            loss.backward()
            optimizer.minimize(loss)
            net.clear_gradients()
            losses.append(loss.numpy()[0])
        return {"losses": losses, "names": [p.name for p in net.parameters()]}


@case
def gradients_of_gradients(fluid):
    found = {}
    with fluid.dygraph.guard():
        x = fluid.dygraph.to_variable(numbers(3, 4))
        x.stop_gradient = False
        w = fluid.dygraph.to_variable(numbers(4, 2, start=30))
        w.stop_gradient = False
        y = fluid.layers.square(fluid.layers.mul(x, w))
        dx, = fluid.dygraph.grad(y, x, create_graph=True)
        found["dx"] = dx.numpy()
        penalty = fluid.layers.reduce_sum(dx * dx) + fluid.layers.reduce_sum(y)
        penalty.backward()
        found["w"], found["x"] = w.gradient(), x.gradient()
    return found


@case
def gradients_with_given_gradients(fluid):
    found = {}
    with fluid.dygraph.guard():
        x = fluid.dygraph.to_variable(numbers(3))
        x.stop_gradient = False
        y, z = x * x, x * 3.0
        given = [fluid.dygraph.to_variable(numbers(3, start=20)), None]
        found["both"] = fluid.dygraph.grad([y, z], x, grad_outputs=given, retain_graph=True)[0].numpy()
        found["without"] = fluid.dygraph.grad(y * 3.0 + x, [x], retain_graph=True, no_grad_vars=[y])[0].numpy()
        other = fluid.dygraph.to_variable(numbers(3))
        other.stop_gradient = False
        found["unused"] = [fluid.dygraph.grad(y, [x, other], allow_unused=True)[1] is None]
    return found


@case
def second_backward_overwrites(fluid):
    with fluid.dygraph.guard():
        x = fluid.dygraph.to_variable(np.array([3.0], "float32"))
        x.stop_gradient = False
        found = []
        for _ in range(2):
            (x * x).backward()
            found.append(x.gradient())
        x.clear_gradient()
        return {"gradients": found, "cleared": x.gradient()}


@case
def gradients_follow_stop_gradient_and_no_grad(fluid):
    with fluid.dygraph.guard():
        one, two = fluid.Linear(2, 2), fluid.Linear(2, 2)
        fill(one), fill(two)
        x = fluid.dygraph.to_variable(numbers(3, 2))
        with fluid.dygraph.no_grad():
            hidden = one(x)
        two(hidden).backward()

        @fluid.dygraph.no_grad
        def predict():
            return two(x)

        detached = one(x).detach()
        return {
            "one": [one.weight.gradient() is None], "two": two.weight.gradient(), "stops": [hidden.stop_gradient, predict().stop_gradient],
            "detached": [detached.stop_gradient], "input": [x.stop_gradient, one.weight.stop_gradient],
        }


@case
def eval_turns_gradients_off(fluid):
    with fluid.dygraph.guard():
        layer, other = fluid.Linear(2, 2), fluid.Linear(2, 2)
        x = fluid.dygraph.to_variable(numbers(3, 2))
        stops = [layer(x).stop_gradient]
        layer.eval()
        stops += [layer(x).stop_gradient, other(x).stop_gradient, layer.training, other.training]
        layer.train()
        stops += [layer(x).stop_gradient, other(x).stop_gradient, layer.training]
        return {"stops": stops}


ITEMS = [
    "x[0]", "x[-1]", "x[1, 2]", "x[0, 0, 0]", "x[:]", "x[0:1]", "x[1:5]", "x[:, -2:-1]", "x[:, 1, :]", "x[::-1]", "x[:, ::2]", "x[::-1, 0]",
    "x[1:2, 0:1]", "x[:, ::-1, 1]", "x[:, 0:2, 1:3]", "x[0][1][2]", "x[-1, -1, -1]", "x[:, :, 3]", "x[0:2, 1]", "x[:, 2:0:-1]",
]


@case
def items(fluid):
    found = {}
    with fluid.dygraph.guard():
        for text in ITEMS:
            x = fluid.dygraph.to_variable(numbers(2, 3, 4))
            x.stop_gradient = False
            y = eval(text, {"x": x})
            found[text], found["shape of " + text] = y.numpy(), list(y.shape)
            (y * 2.0).backward()
            found["gradient of " + text] = x.gradient()
        found["iterated"] = [each.numpy() for each in fluid.dygraph.to_variable(numbers(2, 3, 4))]
        found["length"] = [len(fluid.dygraph.to_variable(numbers(2, 3, 4)))]
    return found


OPERATORS = [
    "f + 1", "f - 2.5", "2 - f", "f * 3", "3 * f", "f / 4", "2 / f", "f ** 2", "2 ** f", "-f", "f % 2", "f + f", "f - g", "f * g", "f / g",
    "f ** f", "f == g", "f != g", "f < g", "f <= g", "f > 2", "f >= 2", "f == 1.5", "i + 1", "i + 1.0", "i - 2", "2 - i", "i * 2", "i * 2.0",
    "i / 2", "2 / i", "i // 2", "i % 3", "i ** 2", "2 ** i", "-i", "i // i", "i == 7", "i != 7", "i < 8", "f + True", "m + f", "f + m[0]",
    "m[:, 0] - f", "f.astype('int64')", "i.astype('float64')", "f.astype('bool')", "d * 2", "d + d",
]


@case
def operators_of_python(fluid):
    found = {}
    with fluid.dygraph.guard():
        tensor = fluid.dygraph.to_variable
        names = {
            "f": tensor(np.array([1.5, 2.5], "float32")), "g": tensor(np.array([3.0, 2.5], "float32")),
            "i": tensor(np.array([7, 8], "int64")), "d": tensor(np.array([0.5, 0.25], "float64")), "m": tensor(numbers(2, 2)),
        }
        for text in OPERATORS:
            made = eval(text, dict(names))
            found[text], found["type of " + text] = made.numpy(), [str(made.dtype)]
        found["conversions"] = [float(names["f"][0]), int(names["i"][1]), [1, 2, 3][tensor(np.array([2], "int32"))]]
        found["truth"] = [bool(tensor(np.array([v], "float32"))) for v in (-1.0, 0.0, 0.5)]
        found["text"] = [str(names["i"]).split(",", 1)[1], str(names["f"]).split(",", 1)[1], str(names["m"][0] > 5).split(",", 1)[1]]
    return found


@case
def control_flow_runs_at_once(fluid):
    layers, found = fluid.layers, {}
    with fluid.dygraph.guard():
        i, ten = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 10)
        out = layers.while_loop(lambda i: layers.less_than(i, ten), lambda i: [i + 3], [i])
        found["loop"] = out[0].numpy()
        found["cond"] = layers.cond(i < ten, lambda: i + 1, lambda: i - 1).numpy()
        found["case"] = layers.case([(i > ten, lambda: i + 1), (i < ten, lambda: i + 2)], default=lambda: i).numpy()
        found["switch"] = layers.switch_case(i + 1, {1: lambda: i + 5, 2: lambda: i}).numpy()
        array = layers.array_write(ten, i)
        found["array"] = [layers.array_length(array), int(layers.array_read(array, i))]
    return found


@case
def names_of_parameters(fluid):
    with fluid.dygraph.guard():
        class Net(fluid.dygraph.Layer):
            def __init__(self):
                super(Net, self).__init__()
                self.parts = fluid.dygraph.LayerList([fluid.Linear(2, 2), fluid.Linear(2, 2, param_attr="mine")])
                self.conv = fluid.Conv2D(1, 1, 1)
                self.free = self.create_parameter([2])
                self.norm = fluid.BatchNorm(2)

        net = Net()
        return {
            "names": [p.name for p in net.parameters()], "paths": [path for path, _ in net.named_parameters()],
            "layers": [path for path, _ in net.named_sublayers()], "full": [net.full_name()] + [s.full_name() for s in net.sublayers()],
            "keys": list(net.state_dict()),
        }


@case
def layers_of_fluid_run_at_once(fluid):
    layers, found = fluid.layers, {}
    with fluid.dygraph.guard():
        x = fluid.dygraph.to_variable(numbers(4, 6))
        x.stop_gradient = False
        label, rows = fluid.dygraph.to_variable(integers(6, 4, 1)), fluid.dygraph.to_variable(integers(4, 3))
        for name, make in {
            "softmax": lambda: layers.softmax(x), "relu": lambda: layers.relu(x), "concat": lambda: layers.concat([x, x], 1),
            "split": lambda: layers.split(x, 2, 1)[1], "reshape": lambda: layers.reshape(x, [2, -1]),
            "transpose": lambda: layers.transpose(x, [1, 0]), "topk": lambda: layers.topk(x, 2)[0],
            "reduce": lambda: layers.reduce_max(x, dim=1), "loss": lambda: layers.softmax_with_cross_entropy(x, label),
            "dropout": lambda: layers.dropout(x, 0.0), "clip": lambda: layers.clip(x, -0.5, 0.5), "stack": lambda: layers.stack([x, x]),
            "gather": lambda: layers.gather(x, rows), "one_hot": lambda: layers.one_hot(label, 6), "l2": lambda: layers.l2_normalize(x, 1),
            "expand": lambda: layers.expand(x, [1, 2]), "squeeze": lambda: layers.squeeze(layers.unsqueeze(x, [0]), [0]),
            "accuracy": lambda: layers.accuracy(layers.softmax(x), label), "argmax": lambda: layers.argmax(x, 1),
        }.items():
            made = make()
            found[name] = made.numpy()
            if made.numpy().dtype == np.float32 and not made.stop_gradient:
                made.backward()
                found["gradient of " + name] = x.gradient()
    return found


def network(fluid):
    """A network with an optimizer, for files."""
    layer = fluid.dygraph.Sequential(fluid.Linear(4, 3, act="tanh"), fluid.BatchNorm(3), fluid.Linear(3, 1))
    fill(layer)
    rate = fluid.dygraph.ExponentialDecay(0.05, 3, 0.9)
    return layer, fluid.optimizer.Adam(rate, parameter_list=layer.parameters())


def steps(fluid, layer, optimizer, first, count):
    """The losses of some steps."""
    losses = []
    for at in range(first, first + count):
        x = fluid.dygraph.to_variable(numbers(8, 4, start=at + 1))
        loss = fluid.layers.mean(fluid.layers.square(layer(x)))
        loss.backward()
        optimizer.minimize(loss)
        layer.clear_gradients()
        losses.append(loss.numpy()[0])
    return losses


@case
def losses_around_a_checkpoint(fluid):
    with fluid.dygraph.guard():
        layer, optimizer = network(fluid)
        return {"before": steps(fluid, layer, optimizer, 0, 4), "after": steps(fluid, layer, optimizer, 4, 4)}


def save(fluid, path):
    """Saves the network after four steps."""
    with fluid.dygraph.guard():
        layer, optimizer = network(fluid)
        steps(fluid, layer, optimizer, 0, 4)
        fluid.save_dygraph(layer.state_dict(), path)
        fluid.save_dygraph(optimizer.state_dict(), path)


def go_on(fluid, path):
    """The losses of the steps after a load."""
    with fluid.dygraph.guard():
        layer, optimizer = network(fluid)
        params, state = fluid.load_dygraph(path)
        layer.set_dict(params)
        optimizer.set_dict(state)
        return steps(fluid, layer, optimizer, 4, 4)
