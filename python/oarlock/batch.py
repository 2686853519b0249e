"""``batch``: readers of samples as readers of batches."""

__all__ = ["batch"]


def batch(reader, batch_size, drop_last=False):
    """A reader that yields lists of ``batch_size`` samples; the last may be shorter unless ``drop_last``."""
    batch_size = int(batch_size)
    if batch_size <= 0:
        raise ValueError("batch_size must be positive, not %d" % batch_size)

    def batch_reader():
        samples = []
        for sample in reader():
            samples.append(sample)
            if len(samples) == batch_size:
                yield samples
                samples = []
        if samples and not drop_last:
            yield samples

    return batch_reader
