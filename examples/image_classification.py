"""Small colour images with VGG or ResNet blocks: ``image_classification.py vgg|resnet``."""

import as_paddle  # `paddle` is Oarlock where it is installed

import sys

import numpy as np
import paddle
import paddle.fluid as fluid

CLASSES = 5
SIDE = 16
BATCH = 32
EPOCHS = 4


def images(count, rng):
    """Made images: each class is a grating of its own direction and colour, at any phase and under noise."""
    rows, cols = np.mgrid[0:SIDE, 0:SIDE]
    colours = np.random.RandomState(2).rand(CLASSES, 3)
    labels = rng.randint(0, CLASSES, count)
    samples = []
    for label in labels:
        angle = np.pi * label / CLASSES
        wave = np.sin(0.9 * (rows * np.cos(angle) + cols * np.sin(angle)) + rng.uniform(0, 2 * np.pi))
        image = colours[label][:, None, None] * wave + rng.normal(0, 0.9, (3, SIDE, SIDE))
        samples.append((image.astype("float32"), int(label)))
    return samples


def vgg_bn_drop(input):
    def conv_block(ipt, num_filter, groups, dropouts):
        return fluid.nets.img_conv_group(
            input=ipt, pool_size=2, pool_stride=2, conv_num_filter=[num_filter] * groups, conv_filter_size=3,
            conv_act="relu", conv_with_batchnorm=True, conv_batchnorm_drop_rate=dropouts, pool_type="max")

    conv1 = conv_block(input, 16, 2, [0.1, 0])
    conv2 = conv_block(conv1, 32, 2, [0.1, 0])
    drop = fluid.layers.dropout(x=conv2, dropout_prob=0.2)
    fc1 = fluid.layers.fc(input=drop, size=64, act=None)
    bn = fluid.layers.batch_norm(input=fc1, act="relu")
    fc2 = fluid.layers.fc(input=bn, size=64, act=None)
    return fluid.layers.fc(input=fc2, size=CLASSES, act="softmax")


def conv_bn_layer(input, ch_out, filter_size, stride, padding, act="relu", bias_attr=False):
    tmp = fluid.layers.conv2d(
        input=input, filter_size=filter_size, num_filters=ch_out, stride=stride, padding=padding, act=None,
        bias_attr=bias_attr)
    return fluid.layers.batch_norm(input=tmp, act=act)


def shortcut(input, ch_in, ch_out, stride):
    if ch_in != ch_out:
        return conv_bn_layer(input, ch_out, 1, stride, 0, None)
    return input


def basicblock(input, ch_in, ch_out, stride):
    tmp = conv_bn_layer(input, ch_out, 3, stride, 1)
    tmp = conv_bn_layer(tmp, ch_out, 3, 1, 1, act=None, bias_attr=True)
    short = shortcut(input, ch_in, ch_out, stride)
    return fluid.layers.elementwise_add(x=tmp, y=short, act="relu")


def resnet(ipt):
    conv1 = conv_bn_layer(ipt, ch_out=8, filter_size=3, stride=1, padding=1)
    res1 = basicblock(conv1, 8, 8, 1)
    res2 = basicblock(res1, 8, 16, 2)
    res3 = basicblock(res2, 16, 32, 2)
    pool = fluid.layers.pool2d(input=res3, pool_size=4, pool_type="avg", pool_stride=1)
    return fluid.layers.fc(input=pool, size=CLASSES, act="softmax")


NETWORKS = {"vgg": vgg_bn_drop, "resnet": resnet}


def main(name):
    if name not in NETWORKS:
        sys.exit("there is no network %r: choose %s" % (name, " or ".join(NETWORKS)))
    main_program = fluid.default_main_program()
    startup_program = fluid.default_startup_program()
    main_program.random_seed = startup_program.random_seed = 90

    pixel = fluid.data(name="pixel", shape=[None, 3, SIDE, SIDE], dtype="float32")
    label = fluid.data(name="label", shape=[None, 1], dtype="int64")
    predict = NETWORKS[name](pixel)
    cost = fluid.layers.cross_entropy(input=predict, label=label)
    avg_cost = fluid.layers.mean(cost)
    acc = fluid.layers.accuracy(input=predict, label=label)
    test_program = main_program.clone(for_test=True)
    fluid.optimizer.Adam(learning_rate=0.001).minimize(avg_cost)

    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup_program)
    feeder = fluid.DataFeeder(feed_list=[pixel, label], place=place)
    rng = np.random.RandomState(19)
    train, test = images(960, rng), images(320, rng)
    train_reader = paddle.batch(lambda: iter(train), batch_size=BATCH)
    test_reader = paddle.batch(lambda: iter(test), batch_size=BATCH)
    for epoch in range(EPOCHS):
        for data in train_reader():
            loss, = exe.run(main_program, feed=feeder.feed(data), fetch_list=[avg_cost])
        print("epoch %d loss %.6f" % (epoch, loss[0]))
    right = [exe.run(test_program, feed=feeder.feed(data), fetch_list=[acc])[0][0] for data in test_reader()]
    print("metric: test_accuracy %.6f" % np.mean(right))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "resnet")
