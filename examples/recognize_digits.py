"""Handwritten digits with a perceptron or with LeNet: ``recognize_digits.py mlp|lenet``.

OARLOCK_MNIST=directory with t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz trains on 8,000 of those 10,000
real digits and tests on the other 2,000; without it, on made digits of the same shape.
"""

import as_paddle  # `paddle` is Oarlock where it is installed

import gzip
import os
import sys

import numpy as np
import paddle
import paddle.fluid as fluid

BATCH = 64


def made_digits(count, rng):
    """Ten blurred shapes, shifted by up to two pixels and covered with noise."""
    shapes = np.kron(np.random.RandomState(3).rand(10, 7, 7) > 0.5, np.ones((4, 4)))
    labels = rng.randint(0, 10, count)
    images = shapes[labels] * 2.0 - 1.0
    for image, shift in zip(images, rng.randint(-2, 3, (count, 2))):
        image[:] = np.roll(image, tuple(shift), axis=(0, 1))
    images = np.clip(images + rng.normal(0, 1.5, images.shape), -1, 1)
    return images.reshape(count, 784).astype("float32"), labels.astype("int64")


def real_digits(directory):
    with gzip.open(os.path.join(directory, "t10k-images-idx3-ubyte.gz")) as f:
        images = np.frombuffer(f.read(), "uint8", offset=16).reshape(-1, 784)
    with gzip.open(os.path.join(directory, "t10k-labels-idx1-ubyte.gz")) as f:
        labels = np.frombuffer(f.read(), "uint8", offset=8)
    return (images / 127.5 - 1.0).astype("float32"), labels.astype("int64")


def digits():
    """Training and test images in [-1, 1] with their labels."""
    directory = os.environ.get("OARLOCK_MNIST")
    if directory:
        images, labels = real_digits(directory)
        return (images[:8000], labels[:8000]), (images[8000:], labels[8000:])
    rng = np.random.RandomState(11)
    return made_digits(1280, rng), made_digits(640, rng)


def reader_of(images, labels):
    def reader():
        for image, label in zip(images, labels):
            yield image, label

    return reader


def multilayer_perceptron(img):
    hidden = fluid.layers.fc(input=img, size=200, act="tanh")
    hidden = fluid.layers.fc(input=hidden, size=200, act="tanh")
    return fluid.layers.fc(input=hidden, size=10, act="softmax")


def convolutional_neural_network(img):
    img = fluid.layers.reshape(img, shape=[-1, 1, 28, 28])
    conv_pool_1 = fluid.nets.simple_img_conv_pool(
        input=img, filter_size=5, num_filters=20, pool_size=2, pool_stride=2, act="relu")
    conv_pool_1 = fluid.layers.batch_norm(conv_pool_1)
    conv_pool_2 = fluid.nets.simple_img_conv_pool(
        input=conv_pool_1, filter_size=5, num_filters=50, pool_size=2, pool_stride=2, act="relu")
    return fluid.layers.fc(input=conv_pool_2, size=10, act="softmax")


NETWORKS = {"mlp": (multilayer_perceptron, 6), "lenet": (convolutional_neural_network, 2)}


def main(name):
    if name not in NETWORKS:
        sys.exit("there is no network %r: choose %s" % (name, " or ".join(NETWORKS)))
    network, epochs = NETWORKS[name]
    main_program = fluid.default_main_program()
    startup_program = fluid.default_startup_program()
    main_program.random_seed = startup_program.random_seed = 90

    img = fluid.data(name="img", shape=[None, 784], dtype="float32")
    label = fluid.data(name="label", shape=[None, 1], dtype="int64")
    prediction = network(img)
    cost = fluid.layers.cross_entropy(input=prediction, label=label)
    avg_cost = fluid.layers.mean(cost)
    acc = fluid.layers.accuracy(input=prediction, label=label)
    test_program = main_program.clone(for_test=True)
    fluid.optimizer.Adam(learning_rate=0.001).minimize(avg_cost)

    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup_program)
    feeder = fluid.DataFeeder(feed_list=[img, label], place=place)
    train, test = digits()
    train_reader = paddle.batch(reader_of(*train), batch_size=BATCH)
    test_reader = paddle.batch(reader_of(*test), batch_size=BATCH)
    for epoch in range(epochs):
        for data in train_reader():
            loss, = exe.run(main_program, feed=feeder.feed(data), fetch_list=[avg_cost])
        print("epoch %d loss %.6f" % (epoch, loss[0]))
    right = 0
    for data in test_reader():
        share, = exe.run(test_program, feed=feeder.feed(data), fetch_list=[acc])
        right += share[0] * len(data)
    print("metric: test_accuracy %.6f" % (right / len(test[1])))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "mlp")
