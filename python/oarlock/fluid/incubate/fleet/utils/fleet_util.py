"""Helpers of scripts around training with Fleet 1.x: metrics over all workers, saves by day and pass, lists of finished saves."""

import logging
import math
import os
import re
import time

import numpy as np

from ..... import _core
from .....distributed.fleet import metrics
from .....distributed.fleet.base.util_factory import UtilBase
from .... import io
from ....core import CPUPlace
from ....executor import global_scope, scope_guard
from ....framework import Program
from ..parameter_server.distribute_transpiler import fleet as _fleet
from . import utils
from .hdfs import HDFSClient

__all__ = ["FleetUtil"]

_log = logging.getLogger("oarlock")

_PSLIB = "it belongs to pslib, Baidu's own parameter server, which Oarlock does not have"

# Other methods of Fluid's class, and the reason why they are not supported.
_ABSENT = {
    "load_fleet_model_one_table": _PSLIB + ": load_fleet_model loads all tables, fluid.io.load_vars one",
    "save_delta_model": _PSLIB + ": save_model saves everything",
    "save_xbox_base_model": _PSLIB + ": save_paddle_inference_model saves what predicts",
    "save_cache_model": _PSLIB + ": tables keep no cache",
    "save_cache_base_model": _PSLIB + ": tables keep no cache",
    "write_xbox_donefile": _PSLIB + ": write_model_donefile notes a save",
    "write_cache_donefile": _PSLIB + ": tables keep no cache",
    "get_last_save_xbox": _PSLIB + ": get_last_save_model finds the last save",
    "get_last_save_xbox_base": _PSLIB + ": get_last_save_model finds the last save",
}


class FleetUtil:
    """Helpers of the Fleet that ``mode`` names. There is one, ``"transpiler"``."""

    def __init__(self, mode="pslib"):
        if mode == "pslib":
            raise NotImplementedError('FleetUtil(mode="pslib") is not supported: %s. Use FleetUtil(mode="transpiler")' % _PSLIB)
        if mode != "transpiler":
            raise ValueError('the mode of FleetUtil is "transpiler", not %r' % (mode,))

    def __getattr__(self, name):
        if name in _ABSENT:
            raise NotImplementedError("FleetUtil.%s is not supported: %s" % (name, _ABSENT[name]))
        raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))

    def rank0_print(self, s):
        """Prints on the first worker."""
        if _fleet.worker_index() == 0:
            print(s, flush=True)

    def rank0_info(self, s):
        """Logs on the first worker."""
        if _fleet.worker_index() == 0:
            _log.info("%s", s)

    def rank0_error(self, s):
        """Logs an error on the first worker."""
        if _fleet.worker_index() == 0:
            _log.error("%s", s)

    def set_zero(self, var_name, scope=None, place=None, param_type="int64"):
        """Sets a variable, such as the counts of ``layers.auc``, to zeros."""
        tensor = _variable(scope, var_name).get_tensor()
        tensor.set(np.zeros(tensor.shape(), param_type), place or CPUPlace())

    def get_global_auc(self, scope=None, stat_pos="_generated_var_2", stat_neg="_generated_var_3"):
        """The area under the ROC curve over the data of all workers, from the counts of ``layers.auc``; None if there are none."""
        if not self._has("auc bucket", scope, stat_pos, stat_neg):
            return None
        return metrics.auc(stat_pos, stat_neg, scope, _util())

    def print_global_auc(self, scope=None, stat_pos="_generated_var_2", stat_neg="_generated_var_3", print_prefix=""):
        """Prints ``get_global_auc`` on the first worker."""
        self.rank0_print("%s global auc = %s" % (print_prefix, self.get_global_auc(scope, stat_pos, stat_neg)))

    def get_global_metrics(self, scope=None, stat_pos_name="_generated_var_2", stat_neg_name="_generated_var_3",
                           sqrerr_name="sqrerr", abserr_name="abserr", prob_name="prob", q_name="q", pos_ins_num_name="pos",
                           total_ins_num_name="total"):
        """Metrics of click prediction over the data of all workers: ``[auc, bucket_error, mae, rmse, actual_ctr, predicted_ctr, copc,
        mean_predict_qvalue, total_ins_num]``; a list of None if a variable is missing."""
        names = [sqrerr_name, abserr_name, prob_name, q_name, pos_ins_num_name, total_ins_num_name]
        if not self._has("auc bucket", scope, stat_pos_name, stat_neg_name) or not all(self._has(n, scope, n) for n in names):
            return [None] * 9
        util = _util()
        positive, negative = (metrics.sum(name, scope, util).ravel() for name in (stat_pos_name, stat_neg_name))
        area = _core.area_under_curve([float(v) for v in positive], [float(v) for v in negative])
        sqrerr, abserr, prob, q, clicks, total = (float(metrics.sum(name, scope, util).ravel()[0]) for name in names)
        if total == 0:
            raise ValueError("no worker saw a sample: there are no metrics of nothing")
        actual, predicted = clicks / total, prob / total
        return [
            area, _bucket_error(positive, negative), abserr / total, math.sqrt(sqrerr / total), actual, predicted,
            actual / predicted if predicted > 1e-6 else 0.0, q / total, int(total),
        ]

    def print_global_metrics(self, scope=None, stat_pos_name="_generated_var_2", stat_neg_name="_generated_var_3",
                             sqrerr_name="sqrerr", abserr_name="abserr", prob_name="prob", q_name="q", pos_ins_num_name="pos",
                             total_ins_num_name="total", print_prefix=""):
        """Prints ``get_global_metrics`` on the first worker."""
        found = self.get_global_metrics(scope, stat_pos_name, stat_neg_name, sqrerr_name, abserr_name, prob_name, q_name,
                                        pos_ins_num_name, total_ins_num_name)
        if found[0] is not None:
            self.rank0_print(
                "%s global AUC=%.6f BUCKET_ERROR=%.6f MAE=%.6f RMSE=%.6f Actural_CTR=%.6f Predicted_CTR=%.6f COPC=%.6f "
                "MEAN Q_VALUE=%.6f Ins number=%s" % (print_prefix, *found)
            )

    def program_type_trans(self, prog_dir, prog_fn, is_text):
        """Writes a saved program in the other form, bytes or text; returns the name of the new file.

        Args:
            prog_dir (str), prog_fn (str): directory and name of the file.
            is_text (bool): whether it holds text.
        """
        return utils.program_type_trans(prog_dir, prog_fn, is_text)

    def draw_from_program_file(self, model_filename, is_text, output_dir, output_filename):
        """Draws the first block of a saved program.

        Args:
            model_filename (str): the file of the program.
            is_text (bool): whether it holds text.
            output_dir (str), output_filename (str): directory and name of the drawing, without an ending.
        """
        self.draw_from_program(utils.load_program(model_filename, is_text), output_dir, output_filename)

    def draw_from_program(self, program, output_dir, output_name):
        """Draws the first block of a program.

        Args:
            program (Program): the program.
            output_dir (str), output_name (str): directory and name of the drawing, without an ending.
        """
        utils.graphviz(program.global_block(), output_dir, output_name)

    def parse_program_proto(self, prog_path, is_text, output_dir):
        """Writes lists of the variables and operators of a saved program.

        Args:
            prog_path (str): the file of the program.
            is_text (bool): whether it holds text.
            output_dir (str): the directory of ``vars_persistable.log``, ``vars_all.log`` and ``ops.log``.
        """
        utils.parse_program(utils.load_program(prog_path, is_text), output_dir)

    def check_vars_and_dump(self, config):
        """Loads a saved model, checks its parameters, runs it once and returns the results.

        Args:
            config: has ``dump_model_dir``, ``dump_program_filename``, ``is_text_dump_program``, ``feed_config``, ``fetch_config``,
                ``batch_size`` and ``save_params_filename``.
        """
        return utils.check_saved_vars_try_dump(
            config.dump_model_dir, config.dump_program_filename, config.is_text_dump_program, config.feed_config, config.fetch_config,
            config.batch_size, config.save_params_filename)

    def _has(self, what, scope, *names):
        if all((scope or global_scope()).find_var(name) is not None for name in names):
            return True
        self.rank0_print("not found %s" % what)
        return False

    def load_fleet_model(self, path, mode=0):
        """A server takes over what ``save_fleet_model`` saved; workers fetch it from servers anyway."""
        _only_everything("load_fleet_model", mode)
        if _fleet.is_server():
            _fleet.init_server(path)

    def save_fleet_model(self, path, mode=0):
        """Saves parameters and tables of all servers. Every worker calls it; the first one saves."""
        _only_everything("save_fleet_model", mode)
        if _fleet.is_first_worker():
            _fleet.save_persistables(_fleet._executor, path)
        _fleet.barrier_worker()

    def load_model(self, output_path, day, pass_id):
        """``load_fleet_model`` of a day and a pass."""
        self.load_fleet_model(_save_path(output_path, day, pass_id))

    def save_model(self, output_path, day, pass_id):
        """``save_fleet_model`` under a day and a pass."""
        self.save_fleet_model(_save_path(output_path, day, pass_id))

    def save_batch_model(self, output_path, day):
        """``save_fleet_model`` under a day, as its pass 0."""
        self.save_model(output_path, day, 0)

    def pull_all_dense_params(self, scope, program):
        """The first worker takes the parameters that servers hold over into a scope; every worker calls it. Saving does so by
        itself."""
        if _fleet._strategy._name == "geo":
            raise NotImplementedError("pull_all_dense_params is not supported with GEO: it would undo what this worker has learned")
        _fleet.barrier_worker()
        if _fleet.is_first_worker():
            with scope_guard(scope):
                _fleet._executor.run(_fetches(_fleet.startup_program))
        _fleet.barrier_worker()

    def save_paddle_inference_model(self, executor, scope, program, feeded_vars, target_vars, output_path, day, pass_id,
                                    hadoop_fs_name, hadoop_fs_ugi, hadoop_home="$HADOOP_HOME", save_combine=True):
        """The first worker saves what predicts ``target_vars`` and copies it to HDFS, under a day and a pass (-1: ``base``)."""
        _fleet.barrier_worker()
        if _fleet.is_first_worker():
            client = _client(hadoop_home, hadoop_fs_name, hadoop_fs_ugi)
            with scope_guard(scope):
                io.save_inference_model(
                    "inference_model", [var.name for var in feeded_vars], target_vars, executor, program,
                    params_filename="params" if save_combine else None,
                )
            client.upload_dir(_plugin_path(output_path, day, pass_id), "inference_model", overwrite=True)
        _fleet.barrier_worker()

    def save_paddle_params(self, executor, scope, program, model_name, output_path, day, pass_id, hadoop_fs_name, hadoop_fs_ugi,
                           hadoop_home="$HADOOP_HOME", var_names=None, save_combine=True):
        """The first worker saves variables, in one file or a directory ``model_name``, and copies them to HDFS."""
        _fleet.barrier_worker()
        if _fleet.is_first_worker():
            client = _client(hadoop_home, hadoop_fs_name, hadoop_fs_ugi)
            variables = [program.global_block().var(name) for name in var_names or ()]
            with scope_guard(scope):
                if save_combine:
                    io.save_vars(executor, "./", program, vars=variables, filename=model_name)
                else:
                    io.save_vars(executor, model_name, program, vars=variables)
            upload = client.upload if save_combine else client.upload_dir
            upload(_plugin_path(output_path, day, pass_id), model_name)
        _fleet.barrier_worker()

    def write_model_donefile(self, output_path, day, pass_id, xbox_base_key, hadoop_fs_name, hadoop_fs_ugi,
                             hadoop_home="$HADOOP_HOME", donefile_name="donefile.txt"):
        """The first worker notes a save of a day and a pass at the end of a list on HDFS, unless it is noted there."""
        day, pass_id, key = str(day), str(pass_id), int(xbox_base_key)
        if _fleet.is_first_worker():
            client = _client(hadoop_home, hadoop_fs_name, hadoop_fs_ugi)
            path = "%s/%s" % (output_path, donefile_name)
            lines = client.cat(path).splitlines()
            if any((int(fields[0]), int(fields[3])) == (int(day), int(pass_id)) for fields in (line.split("\t") for line in lines)):
                self.rank0_error("not write %s because %s/%s already exists" % (donefile_name, day, pass_id))
            else:
                saved = _save_path(output_path.rstrip("/"), day, "0" if pass_id == "-1" else pass_id)
                lines.append("\t".join([day, str(key), saved, pass_id, "0"]))
                with open(donefile_name, "w") as f:
                    f.write("\n".join(lines) + "\n")
                client.delete(path)
                client.upload(output_path, donefile_name, multi_processes=1)
                self.rank0_info("write %s/%s %s succeed" % (day, pass_id, donefile_name))
        _fleet.barrier_worker()

    def get_last_save_model(self, output_path, hadoop_fs_name, hadoop_fs_ugi, hadoop_home="$HADOOP_HOME"):
        """The last save that ``write_model_donefile`` noted: ``[day, pass, path, key]``; ``[-1, -1, "", now]`` if there is none."""
        lines = _client(hadoop_home, hadoop_fs_name, hadoop_fs_ugi).cat(output_path + "/donefile.txt").splitlines()
        if not lines:
            return [-1, -1, "", int(time.time())]
        day, key, path, pass_id = lines[-1].split("\t")[:4]
        return [int(day), int(pass_id), path, int(key)]

    def get_online_pass_interval(self, days, hours, split_interval, split_per_pass, is_data_hourly_placed):
        """Which directories of data each pass of a day reads, ``split_per_pass`` of them: one for every ``split_interval`` minutes of
        ``hours``, such as ``"{0..23}"`` or ``"0 1 2"``, called ``0630``, or ``06`` if data is placed hourly."""
        wanted = [int(hour) for hour in re.findall(r"\d+", str(hours))]
        starts = range(0, 24 * 60, int(split_interval))
        starts = [start for start in starts if wanted[0] <= start // 60 <= wanted[-1]]
        names = ["%02d" % (s // 60) if is_data_hourly_placed else "%02d%02d" % (s // 60, s % 60) for s in starts]
        count = int(split_per_pass)
        return [names[at:at + count] for at in range(0, len(names) - count + 1, count)]

    def check_two_programs(self, config):
        """Has every variable of the program saved at ``config.pruned_prog_path`` the same shape and type in the one at
        ``config.train_prog_path``?"""
        if config.is_text_train_program or config.is_text_pruned_program or config.draw:
            raise NotImplementedError("check_two_programs reads programs in binary form, and draws none")
        train, pruned = (_read_program(path) for path in (config.train_prog_path, config.pruned_prog_path))
        known = train.global_block()
        differs = [
            var.name for var in pruned.list_vars()
            if var.persistable and not (known.has_var(var.name) and _declared(known.var(var.name)) == _declared(var))
        ]
        _log.info("check_programs %s", "succeed" if not differs else "failed: %s differ" % ", ".join(differs))
        return not differs


def _util():
    return UtilBase(_fleet)


def _variable(scope, name):
    found = (scope or global_scope()).find_var(name)
    if found is None:
        raise ValueError("there is no variable %s in this scope" % name)
    return found


def _only_everything(what, mode):
    if mode != 0:
        raise NotImplementedError("%s(mode=%r) is not supported: 0 is everything, other modes belong to pslib" % (what, mode))


def _save_path(output_path, day, pass_id):
    return "%s/%s/%s/" % (output_path, day, pass_id)


def _plugin_path(output_path, day, pass_id):
    return "%s/%s/%s/dnn_plugin/" % (output_path, day, "base" if str(pass_id) == "-1" else "delta-%s" % pass_id)


def _client(hadoop_home, fs_name, fs_ugi):
    return HDFSClient(os.path.expandvars(hadoop_home), {"fs.default.name": fs_name, "hadoop.job.ugi": fs_ugi})


def _fetches(startup):
    """The part of a trainer's startup program that fetches parameters from servers."""
    program = startup.clone()
    block = program.global_block()
    for at in reversed(range(len(block.ops))):
        if block.ops[at].type not in ("recv", "concat", "fetch_barrier"):
            block._remove_op(at)
    return program


def _read_program(path):
    with open(path, "rb") as f:
        return Program.parse_from_string(f.read())


def _declared(var):
    return tuple(var.shape), var.dtype, var.type


def _bucket_error(positive, negative):
    """By how much predicted click rates are wrong, over groups of neighbouring buckets that have enough shows to tell."""
    span, enough = 0.01, 0.05
    first, shows, predicted, clicks = -1.0, 0.0, 0.0, 0.0
    error_sum = error_count = 0.0
    for i, (clicked, not_clicked) in enumerate(zip(positive, negative)):
        rate = i / len(positive)
        if abs(rate - first) > span:
            first, shows, predicted, clicks = rate, 0.0, 0.0, 0.0
        shows += clicked + not_clicked
        predicted += rate * (clicked + not_clicked)
        clicks += clicked
        mean = predicted / shows if shows else 0.0
        if mean and math.sqrt((1 - mean) / (mean * shows)) < enough:
            error_sum += abs(clicks / shows / mean - 1) * shows
            error_count += shows
            first = -1.0
    return error_sum / error_count if error_count else 0.0
