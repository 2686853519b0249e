"""Which public names of Fluid 1.8.5 can scripts reach, and why not the rest? Writes docs/compatibility.md.

Usage: python tools/compatibility.py [--check]

`tools/fluid_names.txt` lists the names. Every name that cannot be reached must have a reason in REASONS; a reason that no name
needs any more is an error, too. `--check` writes nothing and fails if the page is stale.
"""

import collections
import importlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = os.path.join(HERE, "fluid_names.txt")
PAGE = os.path.join(HERE, "..", "docs", "compatibility.md")

EAGER = "an inner part of Fluid's eager mode, such as its translator of code"
PSLIB = "belongs to pslib, a parameter server of its own: use `incubate.fleet.parameter_server.distribute_transpiler`"
OPERATOR = "needs an operator that does not exist here yet"
SLIM = "compression of models; use other tools on a saved model"

# Names and prefixes of names, and why they cannot be reached. The longest prefix counts.
REASONS = {
    "paddle.fluid.dygraph": EAGER,
    "paddle.fluid.contrib.slim": SLIM,
    "paddle.fluid.contrib.Compressor": SLIM,
    "paddle.fluid.contrib.mixed_precision": "mixed precision does not exist here yet; parameters and products are float32",
    "paddle.fluid.incubate.fleet.parameter_server.pslib": PSLIB,
    "paddle.fluid.distributed": PSLIB,
    "paddle.fluid.device_worker.DownpourSGD": PSLIB,
    "paddle.fluid.device_worker.DownpourSGDOPT": PSLIB,
    "paddle.fluid.trainer_desc.DistMultiTrainer": PSLIB,
    "paddle.fluid.incubate.fleet.utils.fleet_util.FleetUtil": PSLIB + "; `FleetUtil.save_model` and `get_last_save_model` save and find",
    "paddle.fluid.device_worker.Section": "pipelines over devices: use `PipelineOptimizer`",
    "paddle.fluid.trainer_desc.PipelineTrainer": "pipelines over devices: use `PipelineOptimizer`",
    "paddle.fluid.incubate.fleet.base.role_maker.GeneralRoleMaker": "finds its peers through HDFS: `PaddleCloudRoleMaker` reads the same variables",
}

# Names that can be reached, because scripts look at them, but whose call is refused with one sentence.
REFUSED = {
    "paddle.fluid.Variable.numpy, backward, detach, gradient, clear_gradient, set_value": "belong to eager mode; Fluid raises AssertionError, too",
    "paddle.fluid.optimizer.*.clear_gradients, state_dict, set_dict": "belong to eager mode",
    "paddle.fluid.cuda_places, cuda_pinned_places; running on CUDAPlace": "this build computes on CPUs",
    "paddle.fluid.load_op_library, paddle.sysconfig.get_include, get_lib": "operators are written in Rust, or in Python with `layers.py_func`",
    "paddle.fluid.optimizer.RecomputeOptimizer.load": "not supported by Fluid either: use `fluid.io.load_persistables`",
}

HEAD = """# Which names of Fluid 1.8.5 exist

Written by `python tools/compatibility.py` from `tools/fluid_names.txt`; do not edit.

A name counts if a script can reach it, as `paddle.fluid...` under `oarlock.install_as_paddle()`. Signatures are compared by
`python/tests/api/test_signatures.py`; what differs in behaviour is in the docstrings and in [options.md](options.md).

{reached:,} of {all:,} names can be reached, {share:.1f} %. Without eager mode (`fluid.dygraph`), `contrib.slim` and `pslib`, which
are out of scope: {reached_in:,} of {all_in:,}, {share_in:.1f} %.

"""


def read_names(path=NAMES):
    """The names of the list."""
    found = []
    with open(path) as file:
        for line in file:
            if not line.startswith("#"):
                owners, _, names = line.partition(":")
                found += ["%s.%s" % (owner, name) for owner in owners.split() for name in names.split()]
    return sorted(found)


def reaches(name):
    """Can a script reach it? Modules may refuse with any error."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except Exception:
            continue
        try:
            for part in parts[length:]:
                found = getattr(found, part)
        except Exception:
            return False
        return True
    return False


def is_outside(name):
    """Is it out of scope?"""
    return name.startswith(("paddle.fluid.dygraph", "paddle.fluid.contrib.slim")) or ".pslib" in name


def reason_of(name, reasons):
    """The longest prefix that has a reason, or None."""
    fits = [key for key in reasons if name == key or name.startswith(key + ".")]
    return max(fits, key=len, default=None)


def module_of(name):
    """The module of a name: everything before the first class, or before the last part."""
    parts = name.split(".")
    size = next((i for i, part in enumerate(parts) if part[:1].isupper()), len(parts) - 1)
    return ".".join(parts[: min(size, len(parts) - 1)])


def page(names, missing, reasons=None):
    """The text of the page. Raises ValueError if a name has no reason, or a reason no name."""
    reasons = REASONS if reasons is None else reasons
    by_reason = collections.defaultdict(list)
    for name in missing:
        by_reason[reason_of(name, reasons)].append(name)
    if None in by_reason:
        raise ValueError("names that cannot be reached and have no reason: %s" % ", ".join(by_reason[None]))
    unused = sorted(set(reasons) - set(by_reason))
    if unused:
        raise ValueError("reasons that no name needs: remove %s" % ", ".join(unused))
    inside = [name for name in names if not is_outside(name)]
    missing_inside = [name for name in missing if not is_outside(name)]
    counts = {
        "all": len(names), "reached": len(names) - len(missing), "all_in": len(inside), "reached_in": len(inside) - len(missing_inside),
    }
    counts.update(share=100 * counts["reached"] / counts["all"], share_in=100 * counts["reached_in"] / counts["all_in"])
    return HEAD.format(**counts) + _rest(by_reason, reasons) + _refused() + _modules(names, set(missing))


def _rest(by_reason, reasons):
    rows = ["## The rest", "", "| names | how many | reason |", "|---|---|---|"]
    grouped = collections.defaultdict(dict)
    for key, found in by_reason.items():
        grouped[reasons[key]][key] = found
    for reason, keys in sorted(grouped.items()):
        rows.append("| %s | %d | %s |" % (_shown(keys), sum(map(len, keys.values())), reason))
    return "\n".join(rows) + "\n\n"


def _shown(keys):
    """Names by their owners; only the prefix of modules that are missing as a whole and are large."""
    short = lambda name: name[len("paddle."):]
    owners = collections.defaultdict(list)
    whole = []
    for key, found in sorted(keys.items()):
        if len(found) > 100:
            whole.append("`%s.*`" % short(key))
            continue
        for name in found:
            owner, _, last = name.rpartition(".")
            owners[owner].append(last)
    listed = ["`%s`: %s" % (short(owner), ", ".join("`%s`" % last for last in sorted(names))) for owner, names in sorted(owners.items())]
    return "; ".join(whole + listed)


def _refused():
    rows = ["## Refused when called", "", "| names | reason |", "|---|---|"]
    rows += ["| `%s` | %s |" % (name[len("paddle."):], reason) for name, reason in REFUSED.items()]
    return "\n".join(rows) + "\n\n"


def _modules(names, missing):
    rows = ["## Modules", "", "Names of classes and functions, with those of their methods and fields.", "",
            "| module | names | reached |", "|---|---|---|"]
    counts = collections.defaultdict(lambda: [0, 0])
    for name in names:
        count = counts[module_of(name)]
        count[0] += 1
        count[1] += name not in missing
    rows += ["| `%s` | %d | %s |" % (module, every, reached if reached != every else "all") for module, (every, reached) in sorted(counts.items())]
    return "\n".join(rows) + "\n"


def build():
    """The page as it should be."""
    import oarlock

    oarlock.install_as_paddle()
    names = read_names()
    return page(names, [name for name in names if not reaches(name)])


def main(arguments):
    text = build()
    with open(PAGE) if os.path.exists(PAGE) else open(os.devnull) as file:
        fresh = file.read() == text
    if "--check" in arguments:
        if not fresh:
            sys.exit("docs/compatibility.md is stale: run `python tools/compatibility.py` and commit the result")
    elif not fresh:
        with open(PAGE, "w") as file:
            file.write(text)
    print("docs/compatibility.md is fresh" if fresh else "wrote docs/compatibility.md")


if __name__ == "__main__":
    main(sys.argv[1:])
