"""Runs Fluid's own unit tests with Oarlock under the name ``paddle``.

    python tools/fluid_tests/run.py DIR [PATTERN ...] [--jobs N] [--timeout S] [--json FILE] [--own-op-test] [--python PROGRAM]
           [--document FILE] [--failed-of JSON]

DIR is ``python/paddle/fluid/tests/unittests`` of a checkout of Fluid at tag v1.8.5. Every file runs in a process of its own, in which
``op_test`` is the stand-in beside this file. PATTERN selects files by a part of their name; ``ops`` stands for all files with an
``OpTest``, ``framework`` for the others that use no eager mode. With ``--python`` another interpreter runs the tests, such as one that has
Fluid itself; ``--own-op-test`` lets it use the ``op_test.py`` of the checkout, and ``--failed-of`` runs only the methods
that failed in an earlier run.

Written are a line per file, then the errors in groups, the largest first, and with ``--json`` the outcome of every method. Failures that
``known.txt`` lists with a reason count as known. ``--document FILE`` writes the counts and these reasons.
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EAGER = re.compile(r"dygraph|imperative|to_variable|\bTracedLayer\b")
OP_TEST = re.compile(r"\bop_test\b")


def find(directory, patterns):
    """Returns the test files below a directory that patterns select, by their paths from there."""
    found = []
    for root, _, names in os.walk(directory):
        for name in sorted(names):
            if name.startswith("test_") and name.endswith(".py"):
                found.append(os.path.relpath(os.path.join(root, name), directory))
    found.sort()
    if not patterns:
        return found
    return [path for path in found if any(_selects(directory, path, pattern) for pattern in patterns)]


def _selects(directory, path, pattern):
    if pattern not in ("ops", "framework"):
        return pattern == path or pattern == os.path.basename(path) or (not pattern.endswith(".py") and pattern in path)
    if os.path.dirname(path) not in ("", "sequence"):
        return False
    with open(os.path.join(directory, path), encoding="utf-8") as f:
        text = f.read()
    if OP_TEST.search(text):
        return pattern == "ops"
    return pattern == "framework" and not EAGER.search(text)


def run_file(args, path):
    """Runs one file; returns its outcome: ``methods`` by name with ``passed``, ``skipped`` or the error, or ``error`` for a file that did
    not run to its end."""
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "outcome.json")
        command = [args.python, os.path.join(HERE, "run_one.py"), args.directory, path, out]
        if args.own_op_test:
            command.append("--own-op-test")
        if path in args.failed and None not in args.failed[path]:
            command.append("--only=" + ",".join(args.failed[path]))
        try:
            done = subprocess.run(command, cwd=os.path.join(args.directory, os.path.dirname(path)), timeout=args.timeout,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            said, code = done.stdout.decode(errors="replace"), done.returncode
        except subprocess.TimeoutExpired as late:
            said, code = (late.stdout or b"").decode(errors="replace"), None
        outcome = {"methods": {}}
        if os.path.exists(out):
            with open(out) as f:
                outcome = json.load(f)
    if code is None:
        outcome["error"] = "ran longer than %d s" % args.timeout
    elif not outcome.get("finished"):
        last = [line for line in said.strip().splitlines() if line.strip()]
        outcome["error"] = "ended with status %s: %s" % (code, last[-1] if last else "no output")
    return path, outcome


def first_line(error):
    """The text of an error that a table shows."""
    return re.sub(r"\s+", " ", error.strip().splitlines()[-1] if error.strip() else "?")


def cause(error):
    """The error without what differs from test to test."""
    text = re.sub(r"0x[0-9a-f]+|\b\d+(\.\d+)?(e[-+]?\d+)?\b", "N", first_line(error))
    return re.sub(r"\[[N, -]*\]|\([N, -]*\)", "[..]", text)[:150]


def read_known():
    """Returns the failures that are known, as pattern (``file`` or ``file:Class.method``) and reason."""
    found = []
    with open(os.path.join(HERE, "known.txt"), encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                patterns, reason = line.strip().split("|", 1)
                found += [(pattern, reason.strip()) for pattern in patterns.split()]
    return found


KNOWN = read_known()


def reason(path, method=None):
    """The reason of a known failure, or None."""
    for pattern, text in KNOWN:
        file, _, of = pattern.partition(":")
        if fnmatch.fnmatch(path, file) and (not of or (method is not None and fnmatch.fnmatch(method, of))):
            return text
    return None


def failures(path, outcome):
    """Yields the methods of a file that failed, and the errors; the method of a file that did not run is None."""
    if "error" in outcome:
        yield None, outcome["error"]
    for method, how in outcome["methods"].items():
        if how not in ("passed", "skipped"):
            yield method, how


def counts(path, outcome):
    """How many methods of a file passed, failed, were skipped and are known to fail; a file that did not run counts as one failure."""
    how = collections.Counter(outcome["methods"].values())
    known = [reason(path, method) is not None for method, _ in failures(path, outcome)]
    return how["passed"], known.count(False), how["skipped"], known.count(True)


def report(outcomes):
    """Writes the groups of errors and the totals."""
    groups = collections.defaultdict(list)
    for path, outcome in sorted(outcomes.items()):
        for method, error in failures(path, outcome):
            if reason(path, method) is None:
                groups[cause(error)].append(path if method is None else "%s:%s" % (path, method))
    for text, where in sorted(groups.items(), key=lambda group: -len(group[1])):
        print("%5d  %s\n       %s" % (len(where), text, ", ".join(where[:3]) + (", ..." if len(where) > 3 else "")))
    print(totals(outcomes))


def totals(outcomes):
    """The line of all counts."""
    sums = [sum(numbers) for numbers in zip(*(counts(path, outcome) for path, outcome in outcomes.items()))]
    failed = sum(any(True for _ in failures(path, outcome)) for path, outcome in outcomes.items())
    return "methods: %d passed, %d failed, %d skipped, %d known; files: %d passed, %d failed" % (
        *sums, len(outcomes) - failed, failed)


def document(outcomes, path):
    """Writes the counts and the reasons of failures to a file."""
    lines = [
        "# Fluid's own tests", "",
        "Written by `tools/fluid_tests/run.py --document`, which runs the unit tests of Fluid 1.8.5 with Oarlock in its place: tests of",
        "operators through a stand-in for their base class, then tests of the framework that use no eager mode. Reasons stand in",
        "`tools/fluid_tests/known.txt`. Not counted as a failure of Oarlock: what fails in Fluid 1.8.5 itself on a CPU.", ""]
    for kind in ("ops", "framework"):
        part = {name: outcome for name, outcome in outcomes.items() if outcome["kind"] == kind}
        if part:
            lines += ["## %s" % {"ops": "Operators", "framework": "Framework"}[kind], "", "%s." % totals(part).capitalize(), ""]
            lines += _table(part)
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines))


def _table(outcomes):
    rows = collections.defaultdict(list)
    for name, outcome in sorted(outcomes.items()):
        for method, error in failures(name, outcome):
            rows[name, reason(name, method) or first_line(error)[:160].replace("|", "/")].append(method)
    lines = ["| file | methods that fail | reason |", "|---|---|---|"]
    for (name, why), methods in rows.items():
        lines.append("| `%s` | %s | %s |" % (name, "all" if None in methods else len(methods), why))
    return lines + [""]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=int, default=300)
    parser.add_argument("--json")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--own-op-test", action="store_true")
    parser.add_argument("--document")
    parser.add_argument("--failed-of")
    args = parser.parse_intermixed_args()
    args.directory = os.path.abspath(args.directory)
    args.failed = {}
    if args.failed_of:
        with open(args.failed_of) as f:
            args.failed = {path: [method for method, _ in failures(path, outcome)] for path, outcome in json.load(f).items()}
        args.failed = {path: methods for path, methods in args.failed.items() if methods}
    files = [path for path in find(args.directory, args.patterns) if not args.failed_of or path in args.failed]
    if not files:
        sys.exit("no file of %s is selected" % args.directory)
    outcomes = {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for path, outcome in pool.map(lambda path: run_file(args, path), files):
            outcome["kind"] = "ops" if _selects(args.directory, path, "ops") else "framework"
            outcomes[path] = outcome
            print("%-60s %4d passed %4d failed %4d skipped %4d known" % (path, *counts(path, outcome)), outcome.get("error", "")[:100],
                  flush=True)
            if args.json:
                with open(args.json, "w") as f:
                    json.dump(outcomes, f, indent=1, sort_keys=True)
    report(outcomes)
    if args.document:
        document(outcomes, args.document)
    return 0


if __name__ == "__main__":
    sys.exit(main())
