"""The blocks of the README and of docs/ run as they are printed.

Python blocks of a page are one script, in their order. A comment in the source of the page, which readers do not see, says otherwise:

- ``<!-- file: train.py -->`` before a Python block: it is a file that commands of the page use;
- ``<!-- run: COMMAND -->``, once or more: it is the file that the command names, and the command runs;
- ``<!-- run -->`` before a block of shell commands: it runs, where the page has it;
- ``<!-- not run: REASON -->``: it needs what a test does not have.
"""

import glob
import os
import re
import socket
import subprocess
import sys

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
PAGES = sorted(p for p in [os.path.join(ROOT, "README.md"), *glob.glob(os.path.join(ROOT, "docs", "*.md"))] if os.path.exists(p))
BLOCK = re.compile(r"((?:^<!-- [^\n]* -->\n)*)^```(python|sh)\n(.*?)^```$", re.M | re.S)
DEADLINE = 120


def blocks(path):
    """The blocks of a page: what the comments before each say, its language and its text."""
    with open(path) as f:
        found = BLOCK.findall(f.read())
    return [(re.findall(r"<!-- (.*) -->", comments), language, text) for comments, language, text in found]


def free_ports(text):
    """The text with ports of this machine that are free in place of those that it names."""
    taken = []
    for port in sorted(set(re.findall(r"127\.0\.0\.1:(\d+)", text))):
        taken.append(socket.socket())
        taken[-1].bind(("127.0.0.1", 0))
        text = text.replace("127.0.0.1:" + port, "127.0.0.1:%d" % taken[-1].getsockname()[1])
    for held in taken:
        held.close()
    return text


def run(command, place):
    """Runs shell commands as a user would, ``python`` being this interpreter and ``oarlock`` its command."""
    tools = place / "bin"
    if not tools.exists():
        tools.mkdir()
        for name, words in (("python", ""), ("oarlock", " -m oarlock")):
            (tools / name).write_text('#!/bin/sh\nexec "%s"%s "$@"\n' % (sys.executable, words))
            (tools / name).chmod(0o755)
    environment = dict(os.environ, PATH="%s:%s" % (tools, os.environ["PATH"]), OARLOCK_PROGRESS="off")
    done = subprocess.run(
        ["sh", "-e", "-c", command], cwd=place, env=environment, capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert done.returncode == 0, "%s\n%s\n%s" % (command, done.stdout[-3000:], done.stderr[-3000:])


@pytest.mark.parametrize("path", [p for p in PAGES if any(language == "python" for _, language, _ in blocks(p))], ids=os.path.basename)
def test_the_blocks_of_a_page_run(path, tmp_path):
    script = ""
    for comments, language, text in blocks(path):
        if any(comment.startswith("not run: ") for comment in comments):
            continue
        if language == "sh":
            if "run" in comments:
                run(free_ports(text), tmp_path)
            continue
        commands = [comment[len("run: "):] for comment in comments if comment.startswith("run: ")]
        files = [comment[len("file: "):] for comment in comments if comment.startswith("file: ")]
        files += [word for command in commands[:1] for word in command.split() if word.endswith(".py")]
        for name in files:
            (tmp_path / name).write_text(text)
        for command in commands:
            run(command, tmp_path)
        if not files:
            script += text
    if script:
        (tmp_path / "page.py").write_text(script)
        run("python page.py", tmp_path)


def test_most_pages_with_code_are_run():
    # Comments that hide everything, or a pattern that finds nothing, would pass as well.
    if not PAGES:
        pytest.skip("the tests run without the repository's pages")
    found = [comments for path in PAGES for comments, language, _ in blocks(path) if language == "python"]
    assert len(found) >= 12
    assert sum(any(comment.startswith("not run: ") for comment in comments) for comments in found) <= 1
