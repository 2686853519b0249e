"""Runs every example with Oarlock and with Fluid 1.8.5, and writes both results to docs/models.md.

    OARLOCK_PEER_FLUID=path/to/python python examples/compare.py [NAME...]

Without that variable only Oarlock runs, against the figures of the table. Where there is a cargo, the examples that also
exist in Rust run there, too. NAMEs choose examples (all by default); rows of examples that do not run stay as they are. Some examples also know real data: they run where their variable (see
`EXAMPLES`) says where the data is. The exit status is 1 when a figure is outside its tolerance.
"""

import collections
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "..", "docs", "models.md")

#: `data` is the variable that names real data, `tolerance` the largest difference between two metrics.
Example = collections.namedtuple("Example", "script argument data tolerance")
#: Metrics are numbers, or None where nothing ran.
Row = collections.namedtuple("Row", "metric fluid ours rust tolerance")

# Both systems draw the same random numbers, so most runs agree to five digits. Where a long training amplifies the last
# bits of sums, the tolerance is a few test samples.
EXAMPLES = [
    Example("fit_a_line", "", "", 0.001),
    Example("fit_a_line", "", "OARLOCK_HOUSING", 0.01),
    Example("recognize_digits", "mlp", "", 0.01),
    Example("recognize_digits", "lenet", "", 0.01),
    Example("recognize_digits", "mlp", "OARLOCK_MNIST", 0.01),
    Example("recognize_digits", "lenet", "OARLOCK_MNIST", 0.01),
    Example("word2vec", "", "", 0.02),
    Example("recommender_system", "", "", 0.005),
    Example("image_classification", "vgg", "", 0.02),
    Example("image_classification", "resnet", "", 0.02),
    Example("understand_sentiment", "conv", "", 0.02),
    Example("understand_sentiment", "stacked_lstm", "", 0.02),
    Example("label_semantic_roles", "", "", 0.02),
    Example("machine_translation", "", "", 0.05),
    Example("ctr_dnn", "", "", 0.002),
    Example("wide_deep", "", "", 0.005),
    Example("deepfm", "", "", 0.005),
    Example("dcn", "", "", 0.005),
]

# The commands of those that also exist in Rust, as crates/oarlock/examples/NAME.rs.
TWINS = {"fit_a_line", "recognize_digits mlp", "word2vec"}

HEAD = """# Models

Results of the models of `examples/` with Fluid 1.8.5 and with Oarlock: the same script, the same data, the same seed.
`python examples/compare.py` runs them and writes this table; `python/tests/docs/test_examples.py` checks it. The data is
made by the scripts, except where the command names a file: UCI housing (404 districts for training, 102 for the test)
and 8,000 + 2,000 digits of the MNIST test set. Three of them also exist in Rust, as `crates/oarlock/examples/NAME.rs`, and train on
the same data: `cargo run --release -p oarlock --example fit_a_line`; `crates/oarlock/tests/twins.rs` checks those.

Where this was measured, Fluid 1.8.5 computes a wrong gradient of `dynamic_lstm` at hidden size 8 (most of it is zero; finite
differences of its own forward pass agree with Oarlock) and at 32 trains otherwise, but is right at 4. The examples use sizes that
are no multiples of 8.

| example | metric | Fluid 1.8.5 | Oarlock | from Rust | tolerance | command |
|---|---|---|---|---|---|---|
"""

_ROW = re.compile(r"^\| [^|]+ \| (\S+) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \| `([^`]+)` \|$")


def command(example):
    """How a user runs the example."""
    variable = example.data + "=... " if example.data else ""
    argument = " " + example.argument if example.argument else ""
    return "%spython -m oarlock.paddle examples/%s.py%s" % (variable, example.script, argument)


def wanted(example):
    """Whether the example needs no data, or its data is given."""
    return not example.data or example.data in os.environ


def run(example, interpreter):
    """The name and the value of the metric that the example prints last; `interpreter` is a command as a list."""
    return _metric(example, interpreter + [os.path.join(HERE, example.script + ".py")] + example.argument.split())


def run_twin(example):
    """The same of the example's twin in Rust."""
    return _metric(example, ["cargo", "run", "-q", "--release", "-p", "oarlock", "--example", example.script])


def _metric(example, arguments):
    # One thread: the figures must not depend on the order in which threads add.
    environment = dict(os.environ, OMP_NUM_THREADS="1", CPU_NUM="1")
    for other in EXAMPLES:
        if other.data and other.data != example.data:
            environment.pop(other.data, None)
    done = subprocess.run(
        arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    last = (done.stdout.strip().splitlines() or [""])[-1].split()
    if done.returncode or len(last) != 3 or last[0] != "metric:":
        raise RuntimeError("%s failed (status %d):\n%s" % (" ".join(arguments), done.returncode, done.stderr))
    return last[1], float(last[2])


def read_table(path=TABLE):
    """The rows of the table by command."""
    rows = {}
    if os.path.exists(path):
        with open(path) as f:
            for match in filter(None, map(_ROW.match, f)):
                metric, fluid, ours, rust, tolerance, line = match.groups()
                rows[line] = Row(metric, _number(fluid), _number(ours), _number(rust), float(tolerance))
    return rows


def _number(text):
    return None if text == "-" else float(text)


def _text(number):
    return "-" if number is None else "%.6f" % number


def write_table(rows, path=TABLE):
    """Writes the rows in the order of `EXAMPLES`. Sections behind the table stay."""
    rest = ""
    if os.path.exists(path):
        with open(path) as f:
            rest = "".join(f.read().partition("\n## ")[1:])
    with open(path, "w") as f:
        f.write(HEAD)
        for example in EXAMPLES:
            row = rows.get(command(example))
            if row is not None:
                name = " ".join(filter(None, [example.script, example.argument, "(real data)" if example.data else ""]))
                figures = (row.metric, _text(row.fluid), _text(row.ours), _text(row.rust), "%g" % row.tolerance)
                f.write("| %s | %s | `%s` |\n" % (name, " | ".join(figures), command(example)))
        f.write(rest)


def attempt(run, *arguments):
    """The metric and its value as `run` gives them, or None after saying what went wrong."""
    try:
        return run(*arguments)
    except RuntimeError as e:
        print(e, file=sys.stderr)
        return None


def compare(example, known, fluid):
    """The row of one example, or None where nothing is known. Old figures stand until something runs."""
    theirs = attempt(run, example, [fluid]) if fluid else None
    if theirs is None and known is not None:
        theirs = known.metric, known.fluid
    ours = attempt(run, example, [sys.executable, "-m", "oarlock.paddle"])
    if theirs is None and ours is None:
        return None
    is_twin = not example.data and " ".join(filter(None, [example.script, example.argument])) in TWINS
    rust = attempt(run_twin, example) if is_twin and shutil.which("cargo") else None
    rust = rust[1] if rust else known and known.rust
    return Row((theirs or ours)[0], theirs and theirs[1], ours and ours[1], rust, example.tolerance)


def within(row):
    """Whether the figures are there and agree; not every example exists in Rust."""
    figures = [row.fluid, row.ours] + [row.rust] * (row.rust is not None)
    return None not in figures and all(abs(figure - row.fluid) <= row.tolerance for figure in figures)


def main(names):
    fluid = os.environ.get("OARLOCK_PEER_FLUID")
    rows = read_table()
    failed = 0
    for example in EXAMPLES:
        if not wanted(example) or (names and example.script not in names):
            continue
        line = command(example)
        row = compare(example, rows.get(line), fluid)
        ok = row is not None and within(row)
        failed += not ok
        if row is not None:
            rows[line] = row
            note = "" if ok else "  <- differs"
            print("%s: %s, Fluid %s, Oarlock %s%s" % (line, row.metric, _text(row.fluid), _text(row.ours), note))
            write_table(rows)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
