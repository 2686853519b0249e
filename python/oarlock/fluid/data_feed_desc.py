"""The description of files with slots, in the text form of ``data_feed.proto``."""

from ._text_format import Message, parse

__all__ = ["DataFeedDesc"]


class _Slot(Message):
    FIELDS = (("name", ""), ("type", ""), ("is_dense", False), ("is_used", False), ("shape", [0]))


class _MultiSlot(Message):
    FIELDS = (("slots", [_Slot]), ("uid_slot", ""))


class _DataFeed(Message):
    FIELDS = (
        ("name", ""), ("batch_size", 32), ("multi_slot_desc", _MultiSlot), ("pipe_command", ""), ("thread_num", 0), ("rank_offset", ""),
        ("pv_batch_size", 32), ("input_type", 0),
    )


class DataFeedDesc:
    """The slots of data files: which are used, which are dense, and how many samples make a batch. ``fluid.DatasetFactory`` takes
    Variables instead; this class reads and writes descriptions that other tools made.

    Args:
        proto_file (str): a file in the text form of ``data_feed.proto``.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".proto", delete=False) as file:
        ...     _ = file.write('name: "MultiSlotDataFeed" batch_size: 2 multi_slot_desc { slots { name: "words" type: "uint64" } }')
        >>> feed = fluid.DataFeedDesc(file.name)
        >>> feed.set_batch_size(128)
        >>> feed.set_use_slots(["words"])
        >>> print(feed.desc())
        name: "MultiSlotDataFeed"
        batch_size: 128
        multi_slot_desc {
          slots {
            name: "words"
            type: "uint64"
            is_used: true
          }
        }
        pipe_command: "cat"
        <BLANKLINE>
    """

    def __init__(self, proto_file):
        self.proto_desc = _DataFeed()
        self.proto_desc.pipe_command = "cat"
        with open(proto_file) as file:
            try:
                parse(file.read(), self.proto_desc)
            except ValueError as error:
                raise ValueError("%s does not describe slots: %s" % (proto_file, error)) from None

    def set_batch_size(self, batch_size):
        """Sets how many samples make a batch.

        Args:
            batch_size (int): the number.
        """
        self.proto_desc.batch_size = int(batch_size)

    def _slots(self, names, what):
        if self.proto_desc.name != "MultiSlotDataFeed":
            raise ValueError("Only MultiSlotDataFeed needs %s, please check your datafeed.proto" % what)
        known = {slot.name: slot for slot in self.proto_desc.multi_slot_desc.slots}
        for name in names:
            if name not in known:
                raise KeyError("there is no slot %r: there are %s" % (name, ", ".join(known)))
            yield known[name]

    def set_dense_slots(self, dense_slots_name):
        """Marks slots as dense: they become tensors without sequences.

        Args:
            dense_slots_name (list): names of slots.
        """
        for slot in self._slots(dense_slots_name, "set_dense_slots"):
            slot.is_dense = True

    def set_use_slots(self, use_slots_name):
        """Marks slots as used; others are skipped.

        Args:
            use_slots_name (list): names of slots.
        """
        for slot in self._slots(use_slots_name, "set_use_slots"):
            slot.is_used = True

    def desc(self):
        """Returns the description in text form."""
        return str(self.proto_desc)
