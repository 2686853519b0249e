"""Linear regression on house prices.

OARLOCK_HOUSING=path/to/housing.data trains on the real UCI housing data; without it, on made data of the same shape.
"""

try:
    import oarlock

    oarlock.install_as_paddle()  # `paddle` is Oarlock; without these lines it is PaddlePaddle
except ImportError:
    pass

import os

import numpy as np
import paddle
import paddle.fluid as fluid

EPOCHS = 40
BATCH = 20


def housing():
    """Rows of 13 features and a price, features centred and scaled to a range of one."""
    path = os.environ.get("OARLOCK_HOUSING")
    if path:
        rows = np.fromfile(path, sep=" ").reshape(-1, 14)
    else:
        rng = np.random.RandomState(7)
        features = rng.rand(506, 13)
        price = features.dot(rng.uniform(-10, 10, (13, 1))) + 22 + rng.normal(0, 2, (506, 1))
        rows = np.concatenate([features, price], axis=1)
    x = rows[:, :-1]
    rows[:, :-1] = (x - x.mean(axis=0)) / (x.max(axis=0) - x.min(axis=0))
    return rows[:404].astype("float32"), rows[404:].astype("float32")


def reader_of(rows):
    def reader():
        for row in rows:
            yield row[:-1], row[-1:]

    return reader


def main():
    main_program = fluid.default_main_program()
    startup_program = fluid.default_startup_program()
    main_program.random_seed = startup_program.random_seed = 90

    x = fluid.data(name="x", shape=[None, 13], dtype="float32")
    y = fluid.data(name="y", shape=[None, 1], dtype="float32")
    y_predict = fluid.layers.fc(input=x, size=1, act=None)
    cost = fluid.layers.square_error_cost(input=y_predict, label=y)
    avg_loss = fluid.layers.mean(cost)
    test_program = main_program.clone(for_test=True)
    fluid.optimizer.SGD(learning_rate=0.05).minimize(avg_loss)

    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup_program)
    feeder = fluid.DataFeeder(place=place, feed_list=[x, y])
    train_rows, test_rows = housing()
    train_reader = paddle.batch(reader_of(train_rows), batch_size=BATCH)
    test_reader = paddle.batch(reader_of(test_rows), batch_size=len(test_rows))
    for epoch in range(EPOCHS):
        for data in train_reader():
            loss, = exe.run(main_program, feed=feeder.feed(data), fetch_list=[avg_loss])
        if epoch % 10 == 0:
            print("epoch %d loss %.6f" % (epoch, loss[0]))
    test_loss, = exe.run(test_program, feed=feeder.feed(next(test_reader())), fetch_list=[avg_loss])
    print("metric: test_mse %.6f" % test_loss[0])


if __name__ == "__main__":
    main()
