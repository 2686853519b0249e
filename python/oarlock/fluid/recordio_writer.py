"""Samples of a reader as files of records, which ``fluid.layers.open_files`` reads."""

import os

from .. import _core

__all__ = ["Compressor", "convert_reader_to_recordio_file", "convert_reader_to_recordio_files"]


class Compressor:
    """How files are compressed."""

    NoCompress = 0
    Snappy = 1


def _write(filename, feeds, compressor, max_num_records, feed_order):
    """Writes feeds until there are no more; says how many."""
    writer = _core.RecordWriter(filename, compressor == Compressor.Snappy, max_num_records)
    count = 0
    for feed in feeds:
        writer.write([feed[name] for name in feed_order])
        count += 1
    writer.close()
    return count


def convert_reader_to_recordio_file(filename, reader_creator, feeder, compressor=Compressor.Snappy, max_num_records=1000,
                                    feed_order=None):
    """Writes what a reader yields, each batch as one record; returns how many."""
    order = feeder.feed_names if feed_order is None else feed_order
    return _write(filename, (feeder.feed(batch) for batch in reader_creator()), compressor, max_num_records, order)


def convert_reader_to_recordio_files(filename, batch_per_file, reader_creator, feeder, compressor=Compressor.Snappy,
                                     max_num_records=1000, feed_order=None):
    """Writes ``name-00000.recordio`` and so on, with ``batch_per_file`` batches each; returns how many batches."""
    order = feeder.feed_names if feed_order is None else feed_order
    base, suffix = os.path.splitext(filename)
    if suffix != ".recordio":
        raise ValueError("the name of a file of records ends with .recordio, but this is %r" % filename)
    total, pending = 0, []
    for batch in reader_creator():
        pending.append(feeder.feed(batch))
        if len(pending) == batch_per_file:
            total += _write("%s-%05d%s" % (base, total // batch_per_file, suffix), pending, compressor, max_num_records, order)
            pending = []
    if pending:
        total += _write("%s-%05d%s" % (base, total // batch_per_file, suffix), pending, compressor, max_num_records, order)
    return total
