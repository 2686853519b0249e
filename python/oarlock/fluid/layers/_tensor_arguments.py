"""Arguments of layers in the forms that Fluid takes beside plain numbers: names of element types as numpy has them, paddings as pairs
for every dimension, and Variables where the core takes numbers. Layers pass here on their way to the core."""

import numpy as np

from ..core import EnforceNotMet, VarDesc
from ..framework import Variable, default_main_program
from .. import unique_name

_KNOWN = list(VarDesc.VarType.by_numpy) + ["bfloat16"]
_NAMES = {"double": "float64", "float": "float64", "half": "float16", "int": "int64"}


def plain_dtype(dtype):
    """An element type by the name that the core knows: ``"double"`` and numpy's types are others."""
    if isinstance(dtype, str):
        return _NAMES.get(dtype, dtype)
    return np.dtype(dtype).name if isinstance(dtype, type) and not isinstance(dtype, VarDesc.VarType) else dtype


# By layer: the argument that holds paddings, and the number of dimensions of an image.
_PADDED = {
    "conv2d": ("padding", 2), "conv3d": ("padding", 3), "conv2d_transpose": ("padding", 2), "conv3d_transpose": ("padding", 3),
    "pool2d": ("pool_padding", 2), "pool3d": ("pool_padding", 3),
}


def _paired_padding(name, args):
    """Paddings as pairs of all dimensions, such as ``[[0, 0], [0, 0], [1, 0], [1, 1]]``, become a flat list of those of the image."""
    key, rank = _PADDED[name]
    pairs = args.get(key)
    if not isinstance(pairs, (list, tuple)) or len(pairs) != rank + 2 or not all(isinstance(p, (list, tuple)) for p in pairs):
        return None
    data_format = args.get("data_format") or "NC"
    channels_last = data_format.endswith("C")
    image = pairs[1:-1] if channels_last else pairs[2:]
    others = [pairs[0], pairs[-1] if channels_last else pairs[1]]
    if any(tuple(pair) != (0, 0) for pair in others):
        raise ValueError("Non-zero padding(%s) in the batch or channel dimensions is not supported." % (pairs,))
    return [int(size) for pair in image for size in pair]


def _check(name, args):
    """Refuses values that Fluid refuses, where the core would take them."""
    if name in _PADDED and not isinstance(args.get("use_cudnn", True), bool):
        kind = TypeError if name.startswith("pool") else ValueError
        raise kind("Attr(use_cudnn) should be True or False. Received Attr(use_cudnn): %r." % (args["use_cudnn"],))
    for key, choices in _CHOICES.get(name, {}).items():
        if args.get(key) not in choices:
            raise ValueError("%s of %s must be %s, but received %r" % (key, name, " or ".join(map(repr, choices)), args.get(key)))
    if name in ("conv2d", "conv3d") and len(args["input"].shape) < 2:
        raise ValueError("the input of %s needs batch and channels, but has shape %s" % (name, tuple(args["input"].shape)))
    if name in ("expand", "expand_as") and args["x"].dtype == VarDesc.VarType.BOOL and args["x"].stop_gradient:
        raise ValueError("%s of bool needs x.stop_gradient to be False" % name)
    if name == "get_tensor_from_selected_rows" and args["x"].type != VarDesc.VarType.SELECTED_ROWS:
        raise TypeError("x of get_tensor_from_selected_rows must be SELECTED_ROWS, not %s" % args["x"].type)
    if name in ("tril", "triu"):
        if len(args["input"].shape) < 2:
            raise ValueError("input shape in %s must be at least 2-D" % name)
        if not isinstance(args["diagonal"], (int, np.integer)):
            raise TypeError("diagonal in %s must be a python Int" % name)
    if name == "reshape":
        _check_reshape(args)
    if name == "crop_tensor":
        _check_crop(args)
    if name == "fc":
        _check_fc(args)
    if name == "eye":
        for key in ("num_rows", "num_columns"):
            if args[key] is not None and (not isinstance(args[key], (int, np.integer)) or args[key] < 0):
                raise TypeError("%s should be a non-negative int, not %r" % (key, args[key]))
    if name == "dropout":
        if isinstance(args["dropout_prob"], (int, float)) and not 0 <= args["dropout_prob"] <= 1:
            raise EnforceNotMet("dropout_prob must be between 0.0 and 1.0, not %r" % args["dropout_prob"])
        if args["dropout_implementation"] not in ("downgrade_in_infer", "upscale_in_train"):
            raise EnforceNotMet("dropout_implementation is downgrade_in_infer or upscale_in_train, not %r" % (args["dropout_implementation"],))


_IMAGES, _VOLUMES = ("NCHW", "NHWC"), ("NCDHW", "NDHWC")
# By layer: arguments that take few values.
_CHOICES = {
    "conv2d": {"data_format": _IMAGES}, "conv2d_transpose": {"data_format": _IMAGES}, "pool2d": {"data_format": _IMAGES},
    "conv3d": {"data_format": _VOLUMES}, "conv3d_transpose": {"data_format": _VOLUMES}, "pool3d": {"data_format": _VOLUMES},
    "resize_nearest": {"data_format": _IMAGES}, "resize_bilinear": {"data_format": _IMAGES}, "resize_trilinear": {"data_format": _VOLUMES},
    "maxout": {"axis": (1, -1, 3)}, "prelu": {"mode": ("all", "channel", "element")},
}


def _numbers(values):
    return [size for size in values if not isinstance(size, Variable)] if isinstance(values, (list, tuple)) else []


def _check_reshape(args):
    # Fluid asserts these; scripts that catch it catch AssertionError.
    shape = args["shape"]
    for at, size in enumerate(shape if isinstance(shape, (list, tuple)) else ()):
        if isinstance(size, Variable):
            continue
        if size == 0 and at >= len(args["x"].shape):
            raise AssertionError("size %d of reshape is 0, which stands for a size of x, but x has %d" % (at, len(args["x"].shape)))
        if size < -1:
            raise AssertionError("size %d of reshape is %d: only -1 may be negative" % (at, size))
    if sum(size == -1 for size in _numbers(shape)) > 1:
        raise AssertionError("only one size of reshape may be -1, but shape is %s" % (shape,))


def _check_crop(args):
    for key, low in (("shape", -1), ("offsets", 0)):
        values = args[key]
        if values is not None and not isinstance(values, (list, tuple, Variable)):
            raise TypeError("%s of crop_tensor must be a list, a tuple or a Variable, not %r" % (key, type(values)))
        for value in _numbers(values):
            if not isinstance(value, (int, np.integer)):
                raise TypeError("%s of crop_tensor takes int, not %r" % (key, value))
            if value < low or (key == "shape" and value == 0):
                raise ValueError("%s of crop_tensor cannot hold %d" % (key, value))


def _check_fc(args):
    for var in args["input"] if isinstance(args["input"], (list, tuple)) else [args["input"]]:
        if not isinstance(var, Variable):
            raise TypeError("The input of fc must be a Variable or a list of Variables, not %r" % type(var))
        if var.dtype not in (VarDesc.VarType.FP16, VarDesc.VarType.FP32, VarDesc.VarType.FP64, VarDesc.VarType.BF16):
            raise TypeError("The input of fc must be float16, float32 or float64, not %s" % var.dtype.name)
    if args["num_flatten_dims"] == -1:
        first = args["input"][0] if isinstance(args["input"], (list, tuple)) else args["input"]
        args["num_flatten_dims"] = len(first.shape) - 1


def normalized(name, args, unread=()):
    """The arguments of a layer, in forms that the core knows; ``unread`` are those that it does not look at."""
    _check(name, args)
    changed = {}
    dtype = args.get("dtype")
    if dtype is not None and "dtype" not in unread:
        plain = plain_dtype(dtype)
        if isinstance(plain, str) and plain not in _KNOWN and name not in ("data", "fluid.data"):
            raise ValueError("dtype must be any of [%s], but received %s" % (", ".join(_KNOWN), dtype))
        if plain is not dtype:
            changed["dtype"] = plain
    if name in _PADDED:
        flat = _paired_padding(name, args)
        if flat is not None:
            changed[_PADDED[name][0]] = flat
    return dict(args, **changed) if changed else args


def _new(dtype, name):
    block = default_main_program().current_block()
    return block.create_var(name=unique_name.generate(name + ".tmp"), dtype=dtype)


def _append(op_type, inputs, outputs, attrs):
    default_main_program().current_block().append_op(type=op_type, inputs=inputs, outputs=outputs, attrs=attrs)


def _number(value):
    """A number as a variable of one int32."""
    if isinstance(value, Variable):
        value.stop_gradient = True
        return value
    out = _new("int32", "fill_constant")
    _append("fill_constant", {}, {"Out": [out]}, {"shape": [1], "dtype": int(VarDesc.VarType.INT32), "value": float(value), "force_cpu": True})
    return out


def _has_variable(value):
    return isinstance(value, (list, tuple)) and any(isinstance(each, Variable) for each in value)


def _joined_array(array, axis, use_stack):
    """The tensors of an array as one; None if it is no array."""
    array = array[0] if isinstance(array, (list, tuple)) and len(array) == 1 else array
    if not isinstance(array, Variable) or array.type != VarDesc.VarType.LOD_TENSOR_ARRAY:
        return None
    out, sizes = _new(array.dtype, "tensor_array_to_tensor"), _new("int32", "tensor_array_to_tensor")
    _append("tensor_array_to_tensor", {"X": [array]}, {"Out": [out], "OutIndex": [sizes]}, {"axis": int(axis), "use_stack": use_stack})
    return out


def _stack(args):
    return _joined_array(args["x"], args["axis"], True)


def _concat(args):
    axis = args["axis"]
    joined = None if isinstance(axis, Variable) else _joined_array(args["input"], axis, False)
    if joined is not None:
        return joined
    if not isinstance(axis, Variable):
        return None
    axis.stop_gradient = True
    given = args["input"] if isinstance(args["input"], (list, tuple)) else [args["input"]]
    out = _new(given[0].dtype, "concat")
    _append("concat", {"X": list(given), "AxisTensor": [axis]}, {"Out": [out]}, {})
    return out


def _unsqueeze(args):
    axes = args["axes"]
    if not isinstance(axes, Variable) and not _has_variable(axes):
        return None
    x = args["input"]
    out, shape = _new(x.dtype, "unsqueeze2"), _new(x.dtype, "unsqueeze2")
    given = {"AxesTensor": [axes]} if isinstance(axes, Variable) else {"AxesTensorList": [_number(axis) for axis in axes]}
    _append("unsqueeze2", dict(given, X=[x]), {"Out": [out], "XShape": [shape]}, {})
    return out


def _fill_constant(args):
    value, out, shape = args["value"], args.get("out"), args["shape"]
    if not isinstance(shape, Variable) and not len(shape):
        raise AssertionError("The size of 'shape' in fill_constant can't be zero.")
    if out is not None and not isinstance(out, Variable):
        raise TypeError("The argument 'out' of fill_constant must be a Variable, not %r" % type(out))
    if out is not None and isinstance(args["dtype"], str) and out.dtype != VarDesc.VarType.by_numpy.get(plain_dtype(args["dtype"])):
        raise TypeError("'out' of fill_constant is %s, but dtype is %s" % (out.dtype.name, args["dtype"]))
    for size in shape if isinstance(shape, (list, tuple)) else ():
        if isinstance(size, Variable) and size.dtype not in (VarDesc.VarType.INT32, VarDesc.VarType.INT64):
            raise TypeError("a size in 'shape' of fill_constant must be int32 or int64, not %s" % size.dtype.name)
    fed = isinstance(shape, Variable) and (out is not None or shape.dtype == VarDesc.VarType.INT64)
    if not isinstance(value, Variable) and not fed:
        return None
    dtype = args["dtype"]
    kind = dtype if isinstance(dtype, VarDesc.VarType) else VarDesc.VarType.by_numpy[np.dtype(dtype).name]
    out = _new(dtype, "fill_constant") if out is None else out
    inputs, attrs = {}, {"dtype": int(kind), "value": 0.0}
    if isinstance(value, Variable):
        inputs["ValueTensor"] = [value]
    else:
        attrs.update(value=float(value), str_value=str(value))
    if isinstance(shape, Variable):
        inputs["ShapeTensor"] = [shape]
    elif _has_variable(shape):
        inputs["ShapeTensorList"] = [_number(size) for size in shape]
    else:
        attrs["shape"] = [int(size) for size in shape]
    _append("fill_constant", inputs, {"Out": [out]}, attrs)
    out.stop_gradient = True
    return out


def _reshape(args):
    shape, x = args["shape"], args["x"]
    # The core knows lists with Variables, but not beside a size that it has to find.
    if not _has_variable(shape) or -1 not in [size for size in shape if not isinstance(size, Variable)]:
        return None
    out, kept = _new(x.dtype, "reshape2"), _new(x.dtype, "reshape2")
    _append("reshape2", {"X": [x], "ShapeTensor": [_number(size) for size in shape]}, {"Out": [out], "XShape": [kept]},
            {"shape": [-1 if isinstance(size, Variable) else int(size) for size in shape]})
    if not args.get("act"):
        return out
    made = _new(x.dtype, args["act"])
    _append(args["act"], {"X": [out]}, {"Out": [made]}, {})
    return made


def _split(args):
    parts, dim, x = args["num_or_sections"], args["dim"], args["input"]
    if not isinstance(dim, Variable) and not _has_variable(parts):
        return None
    inputs, attrs = {"X": [x]}, {}
    if isinstance(dim, Variable):
        dim.stop_gradient = True
        inputs["AxisTensor"] = [dim]
    else:
        attrs["axis"] = int(dim) % len(x.shape)
    if _has_variable(parts):
        inputs["SectionsTensorList"] = [_number(size) for size in parts]
        attrs["sections"] = [-1 if isinstance(size, Variable) else int(size) for size in parts]
    elif isinstance(parts, (list, tuple)):
        attrs["sections"] = [int(size) for size in parts]
    else:
        attrs["num"] = int(parts)
    count = len(parts) if isinstance(parts, (list, tuple)) else int(parts)
    outs = [_new(x.dtype, "split") for _ in range(count)]
    _append("split", inputs, {"Out": outs}, attrs)
    return outs


def _one_hot(op_type):
    def build(args):
        depth = args["depth"]
        if not isinstance(depth, Variable):
            return None
        depth.stop_gradient = True
        out = _new("float32", op_type)
        _append(op_type, {"X": [args["input"]], "depth_tensor": [depth]}, {"Out": [out]},
                {"allow_out_of_range": bool(args.get("allow_out_of_range", False)), "dtype": int(VarDesc.VarType.FP32)})
        out.stop_gradient = True
        return out

    return build


def _linspace(args):
    if not any(isinstance(args[name], Variable) for name in ("start", "stop", "num")):
        return None
    from .tensor import fill_constant

    as_variable = lambda value, dtype: value if isinstance(value, Variable) else fill_constant([1], dtype, value)
    start, stop = (as_variable(args[name], args["dtype"]) for name in ("start", "stop"))
    out = _new(start.dtype, "linspace")
    _append("linspace", {"Start": [start], "Stop": [stop], "Num": [as_variable(args["num"], "int32")]}, {"Out": [out]}, {})
    out.stop_gradient = True
    return out


# By layer: builds it if an argument is a Variable that the core does not take there; None otherwise.
WITH_VARIABLES = {
    "concat": _concat, "fill_constant": _fill_constant, "fluid.one_hot": _one_hot("one_hot_v2"), "linspace": _linspace,
    "one_hot": _one_hot("one_hot"), "reshape": _reshape, "split": _split, "stack": _stack, "unsqueeze": _unsqueeze,
}
