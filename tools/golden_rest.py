"""Records golden cases of quantization and of operators that serve one model family by running PaddlePaddle 1.8.

Usage: python golden_rest.py DIRECTORY

Writes what `golden_detection.py` writes, in the same form. `rank_attention` is not here: 1.8 computes it on GPUs only.
"""

import struct
import sys

import numpy as np
import paddle.fluid as fluid

from golden_detection import Recorder

RECORDER = Recorder()
record = RECORDER.record
random = np.random.RandomState(29)


def uniform(*shape, low=-1.0, high=1.0, dtype="float32"):
    # Few digits, so that the file stays small; distinct, so that no order depends on how equal ones are sorted.
    return (np.round(random.uniform(low, high, shape) * 4096) / 4096).astype(dtype)


def one(value, dtype="float32"):
    return np.array([value], dtype)


def record_simulated_quantization():
    x = uniform(3, 4, high=2)
    for bits in [8, 4, 16]:
        record("fake_quantize_abs_max", {"X": (x, [[1, 2]])}, {"bit_length": bits}, ["Out", "OutScale"])
        record("fake_channel_wise_quantize_abs_max", {"X": x}, {"bit_length": bits}, ["Out", "OutScale"])
    record("fake_quantize_abs_max", {"X": np.zeros([2, 3], "float32")}, {}, ["Out", "OutScale"])
    for scale in [0.001, 1.5, 4.0]:
        inputs = {"X": x, "InScale": one(scale)}
        record("fake_quantize_range_abs_max", inputs, {"is_test": True}, ["Out", "-OutScale"])
        average = dict(inputs, InAccum=one(2.5), InState=one(1.7))
        for op in ["fake_quantize_moving_average_abs_max", "fake_quantize_dequantize_moving_average_abs_max"]:
            record(op, inputs, {"is_test": True, "bit_length": 5}, ["Out", "-OutScale"])
            record(op, average, {"moving_rate": 0.8}, ["Out", "OutScale", "OutAccum", "OutState"])
    record("moving_average_abs_max_scale", {"X": x, "InAccum": one(1.0), "InState": one(1.0)}, {},
           ["Out", "OutScale", "OutAccum", "OutState"])
    record("moving_average_abs_max_scale", {"X": x}, {"is_test": True}, ["Out", "-OutScale"])
    for dtype in ["float32", "float64"]:
        levels = np.round(uniform(3, 4, 2, low=-127, high=127)).astype(dtype)
        record("fake_dequantize_max_abs", {"X": (levels, [[2, 1]]), "Scale": one(1.7, dtype)}, {"max_range": 127.0}, ["Out"])
        record("fake_channel_wise_dequantize_max_abs", {"X": levels, "Scales": [uniform(3, low=0.5, dtype=dtype)]},
               {"quant_bits": [8]}, ["Out"])
        record("fake_channel_wise_dequantize_max_abs",
               {"X": levels, "Scales": [uniform(4, low=0.5, dtype=dtype), one(2.5, dtype)]}, {"quant_bits": [8, 5]}, ["Out"])


def record_integers():
    x = uniform(2, 3, 4, 4, low=-3, high=3)
    for negative in [True, False]:
        record("quantize", {"Input": x}, {"Scale": 41.5, "is_negative_input": negative, "output_format": "NCHW"},
               ["Output:int8" if negative else "Output:uint8"])
    for dtype in ["int8", "uint8"]:
        info = np.iinfo(dtype)
        levels = random.randint(info.min, info.max + 1, [2, 3, 4, 4]).astype(dtype)
        record("dequantize", {"Input": levels}, {"Scale": 12.5}, ["Output"])
        for scales in [(2.0, 1.3), (1.5, 4.0)]:
            # Its result has channels last, whatever the sizes say: here there is nothing to put in another order.
            record("requantize", {"Input": levels.reshape(96, 1, 1, 1)}, {"Scale_in": scales[0], "Scale_out": scales[1]}, ["Output:" + dtype])
    levels = random.randint(-128, 128, [5, 6]).astype("int8")
    record("dequantize_abs_max", {"X": (levels, [[2, 3]]), "Scale": one(1.9)}, {"max_range": 127.0}, ["Out"])
    record("dequantize_log", {"X": levels, "Dict": uniform(128)}, {}, ["Out"])
    table = np.concatenate([uniform(7, 1, low=-2, high=-1), uniform(7, 1, low=1, high=2),
                            random.randint(0, 256, [7, 12]).astype("uint8").view("float32")], 1)
    # Bytes that are NaN as floats may change while they are copied.
    table = np.where(np.isnan(table), np.float32(0.5), table)
    ids = random.randint(0, 7, [5, 1]).astype("int64")
    record("lookup_table_dequant", {"W": table, "Ids": (ids, [[3, 2]])}, {}, ["Out"])
    record("lookup_table_dequant", {"W": table, "Ids": ids}, {"padding_idx": int(ids[1, 0])}, ["Out"])


def record_images():
    for dtype in ["float32", "float64"]:
        x = uniform(2, 3, 4, 5, dtype=dtype)
        for corners in [True, False]:
            for sizes in [(7, 9), (2, 3), (4, 9), (1, 1), (4, 5)]:
                attrs = {"out_h": sizes[0], "out_w": sizes[1], "align_corners": corners, "interp_method": "bicubic"}
                record("bicubic_interp", {"X": x}, attrs, ["Out"], ["X"])
        attrs = {"scale": 1.7, "out_h": -1, "out_w": -1, "interp_method": "bicubic", "data_layout": "NHWC"}
        record("bicubic_interp", {"X": x}, attrs, ["Out"], ["X"])
        record("bicubic_interp", {"X": x, "OutSize": np.array([3, 8], "int32")},
               {"interp_method": "bicubic", "out_h": 3, "out_w": 8}, ["Out"], ["X"])
        for kind in ["max", "avg"]:
            record("spp", {"X": uniform(2, 3, 7, 9, dtype=dtype)}, {"pyramid_height": 3, "pooling_type": kind}, ["Out"], ["X"])
            record("spp", {"X": uniform(1, 2, 4, 6, dtype=dtype)}, {"pyramid_height": 2, "pooling_type": kind}, ["Out"], ["X"])
        # Trees use all nodes: beyond the last one Fluid reads memory that is not its own.
        edges = np.array([[[1, 2], [1, 3], [1, 4], [2, 5], [4, 6], [4, 7], [6, 8]],
                          [[1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 8]]], "int32")
        for depth in [2, 3, 5]:
            record("tree_conv", {"NodesVector": uniform(2, 8, 3, dtype=dtype), "EdgeSet": edges,
                                 "Filter": uniform(3, 3, 2, 4, dtype=dtype)}, {"max_depth": depth}, ["Out"],
                   ["NodesVector", "Filter"])
    for case in RECORDER.cases["tree_conv"].values():
        # Fluid multiplies by the filter in another order than the forward pass, so this is no gradient of it.
        del case["grad"]["NodesVector"]
    for dtype in ["float32", "int32", "uint8"]:
        x = random.randint(0, 200, [3, 2, 5, 6]).astype(dtype)
        for shape, seed in [([3, 4], 5), ([2, 2, 5], -7), ([1], 123456789)]:
            record("random_crop", {"X": x, "Seed": one(seed, "int64")}, {"shape": shape}, ["Out:" + dtype, "SeedOut:int64"])


def record_sequences():
    x, y = (uniform(7, 3), [[2, 1, 4]]), (uniform(6, 3), [[3, 2, 1]])
    for channels in [1, 3]:
        record("match_matrix_tensor", {"X": x, "Y": y, "W": uniform(3, channels, 3)}, {"dim_t": channels}, ["Out", "Tmp"],
               ["X", "Y", "W"])
    row, column = (uniform(7, 1), [[2, 1, 4]]), (uniform(8, 1), [[3, 2, 3]])
    for inputs, outputs, kernel, stride in [(1, 1, (1, 1), (1, 1)), (2, 3, (3, 2), (1, 2)), (1, 2, (5, 3), (2, 1))]:
        lengths = [inputs * 6, inputs * 2, inputs * 12]
        record("var_conv_2d", {"X": (uniform(sum(lengths), 1), [lengths]), "ROW": row, "COLUMN": column,
                               "W": uniform(outputs, inputs * kernel[0] * kernel[1])},
               {"InputChannel": inputs, "OutputChannel": outputs, "KernelH": kernel[0], "KernelW": kernel[1],
                "StrideH": stride[0], "StrideW": stride[1]}, ["Out", "Col"], ["X", "W"])
    for dtype in ["float32", "float64"]:
        m, d, rows = 3, 2, (uniform(6, 3, dtype=dtype), [[3, 1, 2]])
        lstm = {"X": rows, "C0": uniform(3, d, dtype=dtype), "AttentionWeight": uniform(m + d, 1, dtype=dtype),
                "LSTMWeight": uniform(m + d, 4 * d, dtype=dtype), "LSTMBias": uniform(1, 4 * d, dtype=dtype)}
        scratch = ["-AttentionedX", "-AttentionFCOut", "-LSTMX", "-LSTMOUT"]
        record("attention_lstm", lstm, {}, ["Hidden", "Cell"] + scratch)
        if dtype == "float32":
            number = lambda value: np.array([[value]], dtype)
            more = dict(lstm, H0=uniform(3, d, dtype=dtype), AttentionBias=number(0.3), AttentionScalar=number(1.5),
                        AttentionScalarBias=number(-0.2))
            record("attention_lstm", more, {}, ["Hidden", "Cell"] + scratch)
            record("attention_lstm", more, {"gate_activation": "relu", "candidate_activation": "identity",
                                            "cell_activation": "sigmoid"}, ["Hidden", "Cell"] + scratch)
    scratch = ["-XX", "-BatchedInput", "-BatchedHidden", "-BatchedCell", "-ReorderedH0", "-ReorderedC0"]
    for dtype in ["float32", "float64"]:
        for peepholes in [True, False]:
            for attrs in [{}, {"use_seq": False}, {"is_reverse": True}]:
                lstm = {"Ids": (random.randint(0, 5, [6, 1]).astype("int64"), [[3, 1, 2]]), "Embeddings": uniform(5, 8, dtype=dtype),
                        "WeightH": uniform(2, 8, dtype=dtype), "Bias": uniform(1, 14 if peepholes else 8, dtype=dtype)}
                attrs = dict(attrs, use_peepholes=peepholes)
                record("fused_embedding_fc_lstm", lstm, attrs, ["Hidden", "Cell"] + scratch)
                lstm.update(H0=uniform(3, 2, dtype=dtype), C0=uniform(3, 2, dtype=dtype))
                record("fused_embedding_fc_lstm", lstm, attrs, ["Hidden", "Cell"] + scratch)


def rotate(x, bits):
    return (x << bits | x >> (64 - bits)) & (2 ** 64 - 1)


def murmur3(key, seed):
    """MurmurHash3, 128 bits, for keys of less than 16 bytes."""
    mask = 2 ** 64 - 1
    c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
    k1, k2 = struct.unpack("<QQ", key.ljust(16, b"\0"))
    h1 = seed ^ (rotate(k1 * c1 & mask, 31) * c2 & mask) ^ len(key)
    h2 = seed ^ (rotate(k2 * c2 & mask, 33) * c1 & mask) ^ len(key)
    h1 = (h1 + h2) & mask
    h2 = (h2 + h1) & mask

    def finish(k):
        k = (k ^ k >> 33) * 0xff51afd7ed558ccd & mask
        k = (k ^ k >> 33) * 0xc4ceb9fe1a85ec53 & mask
        return k ^ k >> 33

    h1, h2 = finish(h1), finish(h2)
    h1 = (h1 + h2) & mask
    return h1, (h2 + h1) & mask


def bloom_filter(terms, bits=512, rounds=3):
    data = bytearray(struct.pack("<QQQQ", 17070416, bits, rounds, len(terms)) + bytes(bits // 8))
    for term in terms:
        for round in range(rounds):
            for hash in murmur3(np.array(term, "float32").tobytes(), round):
                data[32 + hash % bits // 8] |= 0x80 >> hash % bits % 8
    return np.frombuffer(bytes(data), "float32").reshape(-1, 1).copy()


def record_hashes():
    ids = (np.array([3, 5, 7, 9, 2, 8, 8, 8, 4, 1], "int32").reshape(-1, 1), [[4, 1, 2, 3]])
    attrs = {"num_emb": 6, "space_len": 50, "pyramid_layer": 3, "rand_len": 2, "use_filter": False, "seed": 3, "lr": 0.5}
    inputs = {"X": ids, "W": uniform(52, 1)}
    outs = ["Out", "-DropPos:int32", "X_Temp_Out"]
    lists = {"WhiteList": bloom_filter([[3, 5], [5, 7], [5, 7, 9], [8, 8], [8, 4]]), "BlackList": bloom_filter([[5, 7]])}
    filtered = {"use_filter": True, "white_list_len": len(lists["WhiteList"]), "black_list_len": len(lists["BlackList"])}
    for training in [0, 1]:
        record("pyramid_hash", dict(inputs, **lists), dict(attrs, is_training=training, drop_out_percent=0.25), outs)
        record("pyramid_hash", dict(inputs, **lists), dict(attrs, is_training=training, drop_out_percent=0.25, **filtered), outs)
    record("pyramid_hash", dict(inputs, **lists), dict(attrs, is_training=1, drop_out_percent=0.6, pyramid_layer=5), outs)


def record_in_place():
    """`inplace_abn` wants one variable for its input and output, and one for their gradients."""
    op = "inplace_abn"
    cases = RECORDER.cases.setdefault(op, {})
    shapes = [((3, 2, 2, 2), "NCHW", 2), ((4, 3), "NCHW", 3), ((2, 3, 2), "NHWC", 2)]
    kinds = [("identity", 1.0, False), ("leaky_relu", 0.2, False), ("elu", 0.7, False), ("elu", 0.7, True)]
    for dtype, shape, layout, channels, (act, alpha, fixed) in [
            ("float32",) + shape + (kind,) for shape in shapes for kind in kinds] + [
                ("float64",) + shapes[0] + (kinds[1],)]:
        name = "case%d" % len(cases)
        base = "%s/%s" % (op, name)
        attrs = {"activation": act, "alpha": alpha, "data_layout": layout, "use_global_stats": fixed, "epsilon": 1e-3}
        values = {"X": uniform(*shape, dtype=dtype), "Scale": uniform(channels, low=0.5, high=1.5, dtype=dtype),
                  "Bias": uniform(channels, dtype=dtype), "Mean": uniform(channels, dtype=dtype),
                  "Variance": uniform(channels, low=0.5, high=2, dtype=dtype)}
        case = {"attrs": attrs, "in": {}, "out": {}, "grad": {}, "outgrad": {},
                "inplace": {"Y": "X", "MeanOut": "Mean", "VarianceOut": "Variance"}}
        program, feed = fluid.Program(), {}
        block = program.global_block()
        make = lambda name, dims: block.create_var(name=name, shape=dims, dtype=dtype, is_data=True)
        for slot, value in values.items():
            make(slot, value.shape)
            feed[slot] = value
            case["in"][slot] = [RECORDER.tensor("%s/in/%s/0" % (base, slot), value, [])]
        feed["X@GRAD"] = uniform(*shape, dtype=dtype)
        make("X@GRAD", shape)
        case["outgrad"]["Y"] = [RECORDER.tensor("%s/outgrad/Y/0" % base, feed["X@GRAD"], [])]
        for temporary in ["SavedMean", "SavedVariance", "Scale@GRAD", "Bias@GRAD", "XCopy"]:
            block.create_var(name=temporary, dtype=dtype)
        of = lambda slots: {slot: [block.var(name)] for slot, name in slots.items()}
        saved = {"SavedMean": "SavedMean", "SavedVariance": "SavedVariance"}
        block.append_op(type=op, inputs=of({slot: slot for slot in values}), attrs=dict(attrs),
                        outputs=of(dict(saved, Y="X", MeanOut="Mean", VarianceOut="Variance")))
        # The gradient overwrites the output.
        block.append_op(type="assign", inputs=of({"X": "X"}), outputs=of({"Out": "XCopy"}))
        [grad], _ = fluid.core.get_grad_op_desc(block.ops[0].desc, set(), [])
        block.desc.append_op().copy_from(grad)
        wanted = [("out", "Y", "XCopy"), ("out", "MeanOut", "Mean"), ("out", "VarianceOut", "Variance"), 
                  ("grad", "X", "X@GRAD"), ("grad", "Scale", "Scale@GRAD"), ("grad", "Bias", "Bias@GRAD")]
        for (section, slot, _), value in zip(wanted, RECORDER.run(program, feed, [w[2] for w in wanted])):
            key = "%s/%s/%s/0" % (base, section, slot)
            case[section][slot] = [RECORDER.tensor(key, np.array(value), [])]
        cases[name] = case


if __name__ == "__main__":
    record_simulated_quantization()
    record_integers()
    record_images()
    record_sequences()
    record_hashes()
    record_in_place()
    RECORDER.write(sys.argv[1])
    print("%d cases of %d operators" % (sum(map(len, RECORDER.cases.values())), len(RECORDER.cases)))
