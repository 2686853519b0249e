"""Models on two replicas, as ``test_replicas.py`` runs them. Runs under Fluid 1.8.5, too: ``python replica_models.py > replicas.json``
there wrote what the tests compare with."""

import json
import os


def mlp(fluid, optimizer, test_of=None):
    x, y = fluid.data("x", [None, 4]), fluid.data("y", [None, 1])
    hidden = fluid.layers.fc(x, 3, act="tanh")
    loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(hidden, 1), y))
    return loss, optimizer


def sgd(fluid):
    return mlp(fluid, fluid.optimizer.SGD(0.1))


def adam_decayed(fluid):
    return mlp(fluid, fluid.optimizer.Adam(fluid.layers.exponential_decay(0.1, 2, 0.5)))


def clipped(fluid):
    fluid.clip.set_gradient_clip(fluid.clip.GradientClipByGlobalNorm(0.05))
    made = mlp(fluid, fluid.optimizer.Momentum(0.1, 0.9, regularization=fluid.regularizer.L2Decay(0.1)))
    return made


def batch_norm(fluid):
    x, y = fluid.data("x", [None, 4]), fluid.data("y", [None, 1])
    hidden = fluid.layers.batch_norm(fluid.layers.fc(x, 3), act="relu")
    loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(hidden, 1), y))
    return loss, fluid.optimizer.SGD(0.1)


def words(fluid):
    ids = fluid.data("ids", [None, 1], "int64", lod_level=1)
    y = fluid.data("y", [None, 1])
    rows = fluid.layers.embedding(ids, [20, 4], is_sparse=True)
    pooled = fluid.layers.sequence_pool(rows, "sum")
    loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(pooled, 1), y))
    return loss, fluid.optimizer.Adagrad(0.1)


MODELS = [sgd, adam_decayed, clipped, batch_norm, words]


def feed_of(fluid, model, samples=6):
    import numpy as np

    rng = np.random.RandomState(3)
    y = rng.rand(samples, 1).astype("float32")
    if model is words:
        lengths = [1 + i % 3 for i in range(samples)]
        ids = rng.randint(0, 20, [sum(lengths), 1]).astype("int64")
        return {"ids": fluid.create_lod_tensor(ids, [lengths], fluid.CPUPlace()), "y": y}
    return {"x": rng.rand(samples, 4).astype("float32"), "y": y}


def build(fluid, model):
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 7
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        loss, optimizer = model(fluid)
        test = main.clone(for_test=True)
        optimizer.minimize(loss)
    return main, startup, test, loss


def run(fluid, model, steps=4, places=2, samples=6, **strategy):
    """Losses of all steps and replicas, and the parameters at the end."""
    import numpy as np

    main, startup, test, loss = build(fluid, model)
    how = fluid.BuildStrategy()
    for name, value in strategy.items():
        setattr(how, name, value)
    scope, exe = fluid.Scope(), fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(scope):
        exe.run(startup)
        compiled = fluid.CompiledProgram(main)
        if places:
            compiled = compiled.with_data_parallel(loss_name=loss.name, build_strategy=how, places=[fluid.CPUPlace()] * places)
        losses = [exe.run(compiled, feed=feed_of(fluid, model, samples), fetch_list=[loss])[0].tolist() for _ in range(steps)]
        names = sorted(p.name for p in main.global_block().all_parameters())
        params = {name: np.array(scope.find_var(name).get_tensor()).tolist() for name in names}
    return {"losses": losses, "params": params}


if __name__ == "__main__":
    os.environ["CPU_NUM"] = "2"
    import paddle.fluid as fluid

    print(json.dumps({model.__name__: run(fluid, model) for model in MODELS}, indent=1))
