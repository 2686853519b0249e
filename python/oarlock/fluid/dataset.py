"""Data sets of files: described here, read and parsed by the core."""

import random
import time

from .. import _core
from .core import VarDesc
from .framework import Variable

__all__ = ["DatasetFactory", "InMemoryDataset", "QueueDataset"]

_NUMPY = {int(kind): name for name, kind in VarDesc.VarType.by_numpy.items()}


class DatasetFactory:
    """Makes data sets by the names of their classes."""

    def create_dataset(self, datafeed_class="QueueDataset"):
        """A data set; ``QueueDataset`` or ``InMemoryDataset``."""
        classes = {"QueueDataset": QueueDataset, "InMemoryDataset": InMemoryDataset}
        if datafeed_class not in classes:
            raise ValueError("datafeed class %s does not exist; there are %s" % (datafeed_class, ", ".join(classes)))
        return classes[datafeed_class]()


def _peers(fleet):
    """The workers that ``fleet`` has besides this one; None if there are none."""
    return None if fleet is None or fleet.worker_num() == 1 else fleet._role()._peers()


def _refuse(what):
    raise NotImplementedError("%s belongs to page-view and BoxPS training, which Oarlock does not have" % what)


class DatasetBase:
    """The base of all data sets."""

    _in_memory = False
    _feed_class = "MultiSlotDataFeed"

    def __init__(self):
        self._core = _core.Dataset(self._in_memory)
        self.thread_num = 1
        self.filelist = []
        self._pipe_command = "cat"
        self._batch_size = 32
        self._vars = []
        self._queue = 4
        self._skip_bad_lines = False
        self._memory_limit = None
        self._table = None
        self._hadoop = []

    def set_pipe_command(self, pipe_command):
        """The shell command that each file is sent through. With ``cat``, the default, files are read without a process."""
        self._pipe_command = pipe_command

    def set_batch_size(self, batch_size):
        """How many samples a batch has."""
        if batch_size <= 0:
            raise ValueError("a batch needs at least one sample, not %d" % batch_size)
        self._batch_size = int(batch_size)

    def set_thread(self, thread_num):
        """Sets the number of threads that read, and that train unless the executor has another number."""
        if thread_num < 0:
            raise ValueError("a number of threads cannot be %d" % thread_num)
        self.thread_num = int(thread_num)

    def set_filelist(self, filelist):
        """The files: names, patterns such as ``part-*``, or URLs of HDFS or an object store. Those named ``.gz`` and ``.zst`` are
        decompressed."""
        if isinstance(filelist, str):
            raise TypeError("set_filelist takes a list of names, not the string %r" % filelist)
        self.filelist = [str(name) for name in filelist]

    def set_use_var(self, var_list):
        """The variables that a line fills, in the order of its slots."""
        for var in var_list:
            if not isinstance(var, Variable):
                raise TypeError("set_use_var takes Variables, not %r" % (var,))
            if _NUMPY.get(int(var.dtype)) not in ("float32", "int64"):
                raise ValueError("Currently, fluid.dataset only supports dtype=float32 and dtype=int64, not %s of %s"
                                 % (_NUMPY.get(int(var.dtype)), var.name))
        self._vars = list(var_list)

    def set_bad_lines(self, policy):
        """Sets the treatment of malformed lines: ``"fail"`` ends the run, ``"skip"`` leaves them out and counts
        them. Not in Fluid."""
        if policy not in ("fail", "skip"):
            raise ValueError("bad lines either fail or are skipped, not %r" % (policy,))
        self._skip_bad_lines = policy == "skip"

    def set_csv(self, columns=None, delimiter=",", header=True, list_separator="|", missing=None):
        """The files are CSV. ``columns`` says by the name of a variable which column fills it, or which columns do, one behind the
        other; a variable that is not in it is filled by the column of its name. ``list_separator`` stands between the values of one
        field. Without ``header``, columns are called ``"0"``, ``"1"`` and so on. ``missing`` stands for values that are not there; without
        it they are 0 where a variable has LoD, and an error where it has none. Not in Fluid."""
        self._table = ("csv", dict(columns or {}), missing, delimiter, list_separator, bool(header))

    def set_parquet(self, columns=None, missing=None):
        """The files are Parquet; ``columns`` and ``missing`` are as in ``set_csv``, and a column may hold lists. Not in Fluid."""
        self._table = ("parquet", dict(columns or {}), missing, ",", "|", True)

    def _records(self):
        """The settings of ``set_csv`` or ``set_parquet``, with the columns of every variable."""
        if self._table is None:
            return None
        kind, columns = self._table[:2]
        named = {getattr(var, "name", var): names for var, names in columns.items()}
        unknown = sorted(set(named) - {v.name for v in self._vars})
        if unknown:
            raise ValueError("columns are given for %s, which set_use_var does not list" % ", ".join(unknown))
        of = [named.get(v.name, v.name) for v in self._vars]
        return (kind, [[names] if isinstance(names, str) else [str(n) for n in names] for names in of]) + self._table[2:]

    def set_hdfs_config(self, fs_name, fs_ugi):
        """The cluster and the user for files whose names begin with ``hdfs:``; Hadoop's client reads them."""
        self._hadoop = [("fs.default.name", fs_name), ("hadoop.job.ugi", fs_ugi)]

    def set_download_cmd(self, download_cmd):
        """Files are not fetched by a command of their own."""
        raise NotImplementedError("set_download_cmd: use set_pipe_command, which gets each file on its standard input")

    def set_rank_offset(self, rank_offset):
        """Page views are not supported."""
        _refuse("set_rank_offset")

    def set_pv_batch_size(self, pv_batch_size):
        """Page views are not supported."""
        _refuse("set_pv_batch_size")

    def set_fea_eval(self, record_candidate_size, fea_eval=True):
        """Evaluating slots by shuffling them is not supported."""
        if fea_eval:
            raise NotImplementedError("set_fea_eval: shuffling single slots is not there yet")

    def slots_shuffle(self, slots):
        """Evaluating slots by shuffling them is not supported."""
        raise NotImplementedError("slots_shuffle: shuffling single slots is not there yet")

    def _leading(self):
        return []

    def _slots(self):
        return [(v.name, _NUMPY[int(v.dtype)], v.lod_level, list(v.shape), True) for v in self._vars]

    def _configure(self):
        """Hands all settings to the core."""
        self._core.configure(
            self.filelist, self._pipe_command, self._slots(), self._leading(), self._batch_size, self._queue,
            self._skip_bad_lines, self._memory_limit, self._records(), self._hadoop,
        )
        return self._core

    def _threads(self, thread):
        return thread if thread > 0 else max(1, self.thread_num)

    def desc(self):
        """The description as Fluid prints it: text of a ``DataFeedDesc``."""
        lines = ['name: "%s"' % self._feed_class, "batch_size: %d" % self._batch_size, "multi_slot_desc {"]
        for name, dtype, lod_level, shape, _ in self._slots():
            lines += ["  slots {", '    name: "%s"' % name, '    type: "%s"' % ("float" if dtype == "float32" else "uint64")]
            lines += ["    is_dense: true"] if lod_level == 0 else []
            lines += ["    is_used: true"]
            lines += ["    shape: %d" % d for d in shape] if lod_level == 0 else []
            lines += ["  }"]
        return "\n".join(lines + ["}", 'pipe_command: "%s"' % self._pipe_command, ""])


class QueueDataset(DatasetBase):
    """A data set that is read while it is used: each thread has files of its own and a queue of a few batches."""

    def local_shuffle(self):
        """A stream cannot be shuffled."""
        raise NotImplementedError("QueueDataset does not support local shuffle, please use InMemoryDataset for local_shuffle")

    def global_shuffle(self, fleet=None):
        """A stream cannot be shuffled."""
        raise NotImplementedError("QueueDataset does not support global shuffle, please use InMemoryDataset for global_shuffle")


class InMemoryDataset(DatasetBase):
    """A data set that is loaded before it is used, and can be shuffled. As in Fluid, zeros in sparse slots are taken for padding and
    left out."""

    _in_memory = True
    _feed_class = "MultiSlotInMemoryDataFeed"

    def __init__(self):
        super().__init__()
        self.queue_num = None
        self.parse_ins_id = self.parse_content = self.parse_logkey = False
        self.merge_by_lineid = False
        self._merge_size = None
        self._shuffled = 0

    def _leading(self):
        wanted = [("ins_id", self.parse_ins_id), ("content", self.parse_content), ("logkey", self.parse_logkey)]
        return [name for name, is_wanted in wanted if is_wanted]

    def set_memory_limit(self, limit):
        """How many bytes the samples may take; ``None``, the default, is what the machine has but for a reserve. Not in Fluid."""
        self._memory_limit = limit

    def set_feed_type(self, data_feed_type):
        """Only the default is there."""
        if data_feed_type != self._feed_class:
            _refuse("the feed type %s" % data_feed_type)

    def set_queue_num(self, queue_num):
        """Into how many queues samples are dealt. Threads take batches in turn here, so any number gives the same."""
        self.queue_num = queue_num

    def set_parse_ins_id(self, parse_ins_id):
        """Does a line begin with its id, as ``1 <id>``?"""
        self.parse_ins_id = parse_ins_id

    def set_parse_content(self, parse_content):
        """Has a line a content, as ``1 <text>``?"""
        self.parse_content = parse_content

    def set_parse_logkey(self, parse_logkey):
        """Has a line a log key, as ``1 <key>``?"""
        self.parse_logkey = parse_logkey

    def set_merge_by_lineid(self, merge_size=2):
        """After a global shuffle, samples with one id become one; groups of another size than ``merge_size`` are dropped."""
        self.merge_by_lineid = self.parse_ins_id = True
        self._merge_size = merge_size if merge_size > 0 else None

    def set_merge_by_sid(self, merge_by_sid):
        """Page views are not supported; the default has no effect without them."""
        if not merge_by_sid:
            _refuse("set_merge_by_sid(False)")

    def set_enable_pv_merge(self, enable_pv_merge):
        """Page views are not supported."""
        if enable_pv_merge:
            _refuse("set_enable_pv_merge")

    def preprocess_instance(self):
        """Page views are not supported."""
        _refuse("preprocess_instance")

    def postprocess_instance(self):
        """Page views are not supported."""
        _refuse("postprocess_instance")

    def set_current_phase(self, current_phase):
        """Page views are not supported."""
        _refuse("set_current_phase")

    def get_pv_data_size(self):
        """Page views are not supported."""
        _refuse("get_pv_data_size")

    def set_generate_unique_feasigns(self, generate_uni_feasigns, shard_num):
        """Tables of BoxPS are not supported."""
        if generate_uni_feasigns:
            _refuse("set_generate_unique_feasigns")

    def generate_local_tables_unlock(self, table_id, fea_dim, read_thread_num, consume_thread_num, shard_num):
        """Tables of BoxPS are not supported."""
        _refuse("generate_local_tables_unlock")

    def set_fleet_send_batch_size(self, fleet_send_batch_size=1024):
        """How many samples go in one message of a global shuffle: decided by bytes here, so it has no effect."""

    def set_fleet_send_sleep_seconds(self, fleet_send_sleep_seconds=0):
        """A pause between two messages of a global shuffle: none is needed here."""

    def load_into_memory(self):
        """Loads all files, and prints how much memory that took. Refuses before the machine has no memory left."""
        from .executor import _watch_signals

        _watch_signals()
        print(self._configure().load_into_memory(self._threads(0)), flush=True)
        self._shuffled = 0

    def preload_into_memory(self, thread_num=None):
        """Loads in the background, while the samples of before can still be used."""
        self._configure().preload_into_memory(self._threads(thread_num or 0))

    def wait_preload_done(self):
        """Waits for ``preload_into_memory``."""
        while self._core.is_preloading():
            time.sleep(0.01)
        print(self._core.finish_preload(), flush=True)
        self._shuffled = 0

    def local_shuffle(self):
        """Brings the samples into a random order, which ``random.seed`` decides."""
        self._core.local_shuffle(random.getrandbits(64))

    def global_shuffle(self, fleet=None, thread_num=12):
        """Deals the samples of all workers of ``fleet`` out again, through its servers or, if it has none, from worker to worker; every
        worker must call it. ``random.seed`` decides who gets what, and in which order. Without ``fleet``, and with a single worker,
        a trainer shuffles its own."""
        self._core.global_shuffle(self.merge_by_lineid, random.getrandbits(64), _peers(fleet))
        self._shuffled = len(self._core)
        if self.merge_by_lineid:
            self._core.merge_by_line_id(self._merge_size)

    def release_memory(self):
        """Forgets the samples."""
        self._core.release_memory()
        self._shuffled = 0

    def get_memory_data_size(self, fleet=None):
        """How many samples are in memory, at all workers of ``fleet`` together; every worker must ask."""
        return self._of_all(len(self._core), fleet)

    def get_shuffle_data_size(self, fleet=None):
        """How many samples the last ``global_shuffle`` brought here, at all workers of ``fleet`` together; every worker must ask."""
        return self._of_all(self._shuffled, fleet)

    def _of_all(self, size, fleet):
        peers = _peers(fleet)
        if peers is None:
            return size
        return sum(int.from_bytes(part, "little") for part in peers.gather(size.to_bytes(8, "little")))
