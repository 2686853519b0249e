"""Scripts that turn lines of any kind into lines of a data set: the pipe commands of ``fluid.dataset``."""

import sys

__all__ = ["MultiSlotDataGenerator", "MultiSlotStringDataGenerator"]


class DataGenerator:
    """Reads lines, lets ``generate_sample`` make samples of them and ``generate_batch`` work on some samples together, and prints
    them as a data set reads them."""

    def __init__(self):
        self._proto_info = None
        self.batch_size_ = 32

    def _set_line_limit(self, line_limit):
        if not isinstance(line_limit, int):
            raise ValueError("line_limit%s must be in int type" % type(line_limit))
        if line_limit < 1:
            raise ValueError("line_limit can not less than 1")
        self._line_limit = line_limit

    def set_batch(self, batch_size):
        """How many samples ``generate_batch`` gets at once."""
        self.batch_size_ = batch_size

    def run_from_memory(self):
        """Prints what ``generate_sample(None)`` makes: to try a generator."""
        self._run([None])

    def run_from_stdin(self):
        """Prints what ``generate_sample`` makes of each line of standard input."""
        self._run(sys.stdin)

    def _run(self, lines):
        batch = []
        for line in lines:
            for sample in self.generate_sample(line)():
                if sample is None:
                    continue
                batch.append(sample)
                if len(batch) == self.batch_size_:
                    self._write(batch)
                    batch = []
        if batch:
            self._write(batch)

    def _write(self, batch):
        for sample in self.generate_batch(batch)():
            sys.stdout.write(self._gen_str(sample))

    def _gen_str(self, line):
        raise NotImplementedError("pls use MultiSlotDataGenerator or PairWiseDataGenerator")

    def generate_sample(self, line):
        """To be written by the user: a function that yields samples of a line, each ``[(name, [value, ...]), ...]``."""
        raise NotImplementedError(
            "Please rewrite this function to return a list or tuple: [(name, [feasign, ...]), ...] or ((name, [feasign, ...]), ...)"
        )

    def generate_batch(self, samples):
        """May be written by the user: a function that yields samples, made of ``samples``."""
        return lambda: iter(samples)


def _check_sample(line, example):
    if not isinstance(line, (list, tuple)):
        raise ValueError("the output of process() must be in list or tuple type. Example: %s" % example)


class MultiSlotStringDataGenerator(DataGenerator):
    """For values that are text already; they are printed as they are, which is faster."""

    def _gen_str(self, line):
        _check_sample(line, "[('words', ['1926', '08', '17']), ('label', ['1'])]")
        return " ".join(" ".join([str(len(values)), *values]) for _, values in line) + "\n"


class MultiSlotDataGenerator(DataGenerator):
    """For whole numbers and floats; all samples must have the same slots."""

    def _gen_str(self, line):
        _check_sample(line, "[('words', [1926, 8, 17]), ('label', [1])]")
        first = self._proto_info is None
        if first:
            self._proto_info = [(name, "uint64") for name, _ in line]
        elif len(line) != len(self._proto_info):
            raise ValueError("the complete field set of two given line are inconsistent.")
        words = []
        for index, (name, values) in enumerate(line):
            self._check_slot(index, name, values)
            words.append(str(len(values)))
            words.extend(self._word(index, value) for value in values)
        return " ".join(words) + "\n"

    def _check_slot(self, index, name, values):
        if not isinstance(name, str):
            raise ValueError("name%s must be in str type" % type(name))
        if not isinstance(values, list):
            raise ValueError("elements%s must be in list type" % type(values))
        if not values:
            raise ValueError("the elements of each field can not be empty, you need padding it in process().")
        wanted = self._proto_info[index][0]
        if name != wanted:
            raise ValueError("the field name of two given line are not match: require<%s>, get<%s>." % (wanted, name))

    def _word(self, index, value):
        name, kind = self._proto_info[index]
        if isinstance(value, float):
            self._proto_info[index] = (name, "float")
        elif kind != "float" and not isinstance(value, int):
            raise ValueError("the type of element%s must be in int or float" % type(value))
        return str(value)
