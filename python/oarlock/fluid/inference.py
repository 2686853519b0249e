"""Predictors as scripts know them from ``fluid.core``: ``AnalysisConfig``, ``create_paddle_predictor``, tensors."""

import enum

import numpy as np

from .. import _core

__all__ = [
    "AnalysisConfig", "AnalysisPredictor", "NativeConfig", "PaddleBuf", "PaddleDType", "PaddlePredictor", "PaddleTensor",
    "ZeroCopyTensor", "create_paddle_predictor",
]


class PaddleDType(enum.Enum):
    """Element types of a predictor's tensors."""

    FLOAT32 = "float32"
    INT32 = "int32"
    INT64 = "int64"


class PaddleBuf:
    """The values of a tensor, as a flat list."""

    def __init__(self, data=()):
        self._data = np.asarray(data)

    def reset(self, data):
        """Takes other values."""
        self._data = np.asarray(data)

    def empty(self):
        """Has it no values?"""
        return self._data.size == 0

    def length(self):
        """Bytes of the values."""
        return self._data.nbytes

    def float_data(self):
        """The values as a list of floats."""
        return self._data.astype("float32").ravel().tolist()

    def int64_data(self):
        """The values as a list of integers."""
        return self._data.astype("int64").ravel().tolist()

    def int32_data(self):
        """The values as a list of integers."""
        return self._data.astype("int32").ravel().tolist()

    def tolist(self, dtype=None):
        """The values as a list.

        Args:
            dtype (str): the element type to read them as; ``None``: as they are.
        """
        return (self._data if dtype is None else self._data.astype(dtype)).ravel().tolist()


class PaddleTensor:
    """An array with a name and sequences, for ``PaddlePredictor.run``."""

    def __init__(self, data=None, name="", lod=None, copy=True):
        self.name = name
        self.lod = [list(level) for level in lod or []]
        array = np.zeros([0], "float32") if data is None else np.asarray(data)
        self._array = array.copy() if copy else array

    @property
    def data(self):
        """Its values."""
        return PaddleBuf(self._array)

    @data.setter
    def data(self, buf):
        self._array = np.asarray(buf._data if isinstance(buf, PaddleBuf) else buf)

    @property
    def shape(self):
        """Its sizes."""
        return list(self._array.shape)

    @shape.setter
    def shape(self, sizes):
        self._array = self._array.reshape(sizes)

    @property
    def dtype(self):
        """Its element type."""
        return PaddleDType(self._array.dtype.name)

    @dtype.setter
    def dtype(self, dtype):
        self._array = self._array.astype(dtype.value)

    def as_ndarray(self):
        """Its values as an array."""
        return self._array


class ZeroCopyTensor:
    """An input or an output in the predictor's own memory."""

    def __init__(self, tensor):
        self.copy_from_cpu = tensor.copy_from_cpu
        self.copy_to_cpu = tensor.copy_to_cpu
        self.lod = tensor.lod
        self.reshape = tensor.reshape
        self.set_lod = tensor.set_lod
        self.shape = tensor.shape
        self._dtype = tensor.dtype

    def type(self):
        """Its element type."""
        return PaddleDType(self._dtype())


def _only_cpu(what):
    raise RuntimeError("%s cannot be used: this build computes on CPUs. Leave the call out" % what)


class AnalysisConfig:
    """Where a model is and how it is computed.

    Settings that cannot change results on a CPU (``switch_ir_optim``, ``enable_mkldnn``, memory and cache hints) are
    accepted; those that ask for other hardware or other numbers are refused.
    """

    class Precision(enum.Enum):
        """Precisions of other engines; predictions are computed in the model's own."""

        Float32 = 0
        Int8 = 1
        Half = 2

    def __init__(self, model_dir=None, params_file=None):
        if isinstance(model_dir, AnalysisConfig):
            self.__dict__.update(model_dir.__dict__)
            return
        self._dir, self._prog, self._params, self._buffer = "", "", "", None
        self._threads, self._by_name, self._ir, self._mkldnn, self._feed_fetch, self._quiet = 1, False, True, False, True, False
        if model_dir is not None:
            self.set_model(*([model_dir] if params_file is None else [model_dir, params_file]))

    def set_model(self, model, params=None):
        """The model's directory; or its network's file and its parameters' file."""
        self._buffer = None
        if params is None:
            self._dir, self._prog, self._params = model, "", ""
        else:
            self._dir, self._prog, self._params = "", model, params

    def set_prog_file(self, path):
        """The network's file."""
        self._prog = path

    def set_params_file(self, path):
        """The parameters' file."""
        self._params = path

    def set_model_buffer(self, prog, prog_size, params, params_size):
        """The bytes of the network's file and of the parameters' file."""
        as_bytes = lambda data, size: (data.encode("latin-1") if isinstance(data, str) else bytes(data))[:size]
        self._buffer = (as_bytes(prog, prog_size), as_bytes(params, params_size))

    def model_dir(self):
        """The model's directory."""
        return self._dir

    def prog_file(self):
        """The network's file."""
        return self._prog

    def params_file(self):
        """The parameters' file."""
        return self._params

    def model_from_memory(self):
        """Was the model given as bytes?"""
        return self._buffer is not None

    def set_cpu_math_library_num_threads(self, threads):
        """How many threads a predictor computes with."""
        if threads < 1:
            raise ValueError("a predictor needs at least one thread, not %r" % (threads,))
        self._threads = int(threads)

    def cpu_math_library_num_threads(self):
        """How many threads a predictor computes with."""
        return self._threads

    def switch_specify_input_names(self, x=True):
        """``run`` finds inputs by the names of its tensors instead of by their order."""
        self._by_name = bool(x)

    def specify_input_name(self):
        """Does ``run`` find inputs by name?"""
        return self._by_name

    def switch_ir_optim(self, x=True):
        """Accepted: operators are fused in any case, which does not change results."""
        self._ir = bool(x)

    def ir_optim(self):
        """The value given to ``switch_ir_optim``."""
        return self._ir

    def switch_use_feed_fetch_ops(self, x=True):
        """Accepted: both ways of feeding always work."""
        self._feed_fetch = bool(x)

    def use_feed_fetch_ops_enabled(self):
        """The value given to ``switch_use_feed_fetch_ops``."""
        return self._feed_fetch

    def enable_mkldnn(self):
        """Accepted: the kernels are Oarlock's own."""
        self._mkldnn = True

    def mkldnn_enabled(self):
        """Was ``enable_mkldnn`` called?"""
        return self._mkldnn

    def set_mkldnn_op(self, ops):
        """Accepted: the kernels are Oarlock's own."""

    def set_mkldnn_cache_capacity(self, capacity=0):
        """Accepted: the kernels are Oarlock's own."""

    def enable_memory_optim(self, x=True):
        """Accepted: temporaries share memory in any case."""

    def switch_ir_debug(self, x=True):
        """Accepted: the network as it runs is ``predictor.program_text()``."""

    def set_optim_cache_dir(self, path):
        """Accepted: nothing needs a cache."""

    def disable_glog_info(self):
        """Accepted: predictors print nothing."""
        self._quiet = True

    def glog_info_disabled(self):
        """Was ``disable_glog_info`` called?"""
        return self._quiet

    def disable_gpu(self):
        """Accepted: this build computes on CPUs."""

    def use_gpu(self):
        """Always False: this build computes on CPUs."""
        return False

    def gpu_device_id(self):
        """Always 0: this build computes on CPUs."""
        return 0

    def tensorrt_engine_enabled(self):
        """Always False: this build computes on CPUs."""
        return False

    def lite_engine_enabled(self):
        """Always False: there is one engine."""
        return False

    def enable_use_gpu(self, memory_pool_init_size_mb, device_id=0):
        """Refused: this build computes on CPUs."""
        _only_cpu("enable_use_gpu")

    def enable_tensorrt_engine(self, *args, **kwargs):
        """Refused: this build computes on CPUs."""
        _only_cpu("enable_tensorrt_engine")

    def enable_lite_engine(self, *args, **kwargs):
        """Refused: there is one engine."""
        _only_cpu("enable_lite_engine")

    def enable_quantizer(self):
        """Refused: predictions are computed in the model's own precision."""
        raise NotImplementedError("enable_quantizer: quantized predictions are not there. Leave the call out")

    def to_native_config(self):
        """The same for the simpler predictor."""
        return self


class NativeConfig:
    """Where a model is, as plain fields."""

    def __init__(self):
        self.model_dir = self.prog_file = self.param_file = ""
        self.use_gpu, self.device, self.fraction_of_gpu_memory, self.specify_input_name = False, 0, 0.0, False
        self._threads = 1

    def set_cpu_math_library_num_threads(self, threads):
        """How many threads a predictor computes with."""
        self._threads = int(threads)

    def cpu_math_library_num_threads(self):
        """How many threads a predictor computes with."""
        return self._threads

    def _as_analysis(self):
        if self.use_gpu:
            _only_cpu("use_gpu")
        config = AnalysisConfig(self.model_dir) if self.model_dir else AnalysisConfig(self.prog_file, self.param_file)
        config.set_cpu_math_library_num_threads(self._threads)
        config.switch_specify_input_names(self.specify_input_name)
        return config


class PaddlePredictor:
    """Computes a model. Each thread uses a ``clone`` of its own; all read the same weights."""

    Config = AnalysisConfig

    def __init__(self, core, by_name=False):
        self._core, self._by_name = core, by_name
        self.zero_copy_run = core.zero_copy_run
        self.get_input_names = core.get_input_names
        self.get_output_names = core.get_output_names
        self.program_text = core.program_text

    def get_input_tensor(self, name):
        """An input, to fill."""
        return ZeroCopyTensor(self._core.get_input_tensor(name))

    def get_output_tensor(self, name):
        """An output, to read after a run."""
        return ZeroCopyTensor(self._core.get_output_tensor(name))

    def clone(self):
        """Another predictor with the same weights, for another thread."""
        return PaddlePredictor(self._core.clone(), self._by_name)

    def run(self, inputs):
        """Predicts from a list of ``PaddleTensor``, in the order of the model's inputs; returns a list of them."""
        names = self.get_input_names()
        if len(inputs) != len(names):
            raise ValueError("the model has %d inputs (%s), but %d are given" % (len(names), ", ".join(names), len(inputs)))
        if self._by_name and sorted(given.name for given in inputs) != sorted(names):
            given = ", ".join(repr(i.name) for i in inputs)
            raise ValueError("inputs are found by name: the model has %s, but %s are given" % (", ".join(names), given))
        for name, given in zip(names, inputs):
            tensor = self._core.get_input_tensor(given.name if self._by_name else name)
            tensor.copy_from_cpu(given.as_ndarray())
            tensor.set_lod(given.lod)
        self._core.zero_copy_run()
        found = []
        for name in self.get_output_names():
            tensor = self._core.get_output_tensor(name)
            found.append(PaddleTensor(tensor.copy_to_cpu(), name, tensor.lod(), copy=False))
        return found


AnalysisPredictor = PaddlePredictor


def create_paddle_predictor(config):
    """Loads a model and holds it ready to compute."""
    if isinstance(config, NativeConfig):
        config = config._as_analysis()
    if not isinstance(config, AnalysisConfig):
        raise TypeError("create_paddle_predictor takes an AnalysisConfig, not %r" % (config,))
    threads = config.cpu_math_library_num_threads()
    if config._buffer is not None:
        core = _core.Predictor.from_bytes(*config._buffer, threads)
    elif config._prog:
        core = _core.Predictor.load_files(config._prog, config._params, threads)
    elif config._dir:
        core = _core.Predictor.load(config._dir, threads)
    else:
        raise ValueError("the config names no model: give AnalysisConfig a directory, or two files")
    return PaddlePredictor(core, config.specify_input_name())
