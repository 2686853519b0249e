"""Protobuf messages in binary form: enough of the format for saved programs."""

import enum
import struct

from ._text_format import Message

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5


class BinaryMessage(Message):
    """A message that is read from and written to bytes. ``NUMBERS`` holds the numbers of its fields, in the order of ``FIELDS``."""

    NUMBERS: tuple = ()

    @classmethod
    def FromString(cls, data):
        """Returns the message in bytes."""
        made = cls()
        made.ParseFromString(data)
        return made

    def ParseFromString(self, data):
        """Reads the message in bytes into this one; returns how many there were."""
        fields = {number: field for number, field in zip(self.NUMBERS, self.FIELDS)}
        at = 0
        while at < len(data):
            key, at = _varint(data, at)
            raw, at = _raw(data, at, key & 7)
            if key >> 3 in fields:
                self._take(*fields[key >> 3], key & 7, raw)
        return len(data)

    def _take(self, name, default, wire, raw):
        one = default[0] if isinstance(default, list) else default
        if isinstance(one, type):
            target = getattr(self, name).add() if isinstance(default, list) else getattr(self, name)
            self._set.add(name)
            target.ParseFromString(raw)
        elif isinstance(default, list):
            # Numbers may be packed: many in one run of bytes.
            packed = wire == _BYTES and not isinstance(one, str)
            getattr(self, name).extend(_unpacked(raw, one) if packed else [_value(raw, one)])
        else:
            setattr(self, name, _value(raw, one))

    def SerializeToString(self):
        """Returns the message as bytes."""
        out = []
        for number, (name, default) in sorted(zip(self.NUMBERS, self.FIELDS)):
            value = getattr(self, name)
            if self._is_set(name, value):
                for each in value if isinstance(value, list) else [value]:
                    out.append(_encoded(number, each, default[0] if isinstance(default, list) else default))
        return b"".join(out)

    def CopyFrom(self, other):
        """Takes over another message of the same kind."""
        self.__init__()
        self.ParseFromString(other.SerializeToString())


def _varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("the message is cut short or damaged at byte %d" % at)
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _raw(data, at, wire):
    """The content of a field: a number, or bytes."""
    if wire == _VARINT:
        return _varint(data, at)
    if wire == _BYTES:
        size, at = _varint(data, at)
    elif wire in (_EIGHT, _FOUR):
        size = 8 if wire == _EIGHT else 4
    else:
        raise ValueError("the message has a field of unknown form %d at byte %d" % (wire, at))
    if at + size > len(data):
        raise ValueError("the message is cut short: %d bytes are missing" % (at + size - len(data)))
    return bytes(data[at : at + size]), at + size


def _value(raw, like):
    if isinstance(like, float):
        return struct.unpack("<f", raw)[0]
    if isinstance(like, str):
        return raw.decode("utf-8", "surrogateescape")
    if isinstance(like, bool):
        return bool(raw)
    number = raw - (1 << 64) if raw >> 63 else raw
    return type(like)(number) if isinstance(like, enum.Enum) else number


def _unpacked(raw, like):
    if isinstance(like, float):
        return list(struct.unpack("<%df" % (len(raw) // 4), raw))
    values, at = [], 0
    while at < len(raw):
        value, at = _varint(raw, at)
        values.append(_value(value, like))
    return values


def _number(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _encoded(number, value, like):
    if isinstance(value, Message):
        content = value.SerializeToString()
    elif isinstance(like, str):
        content = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
    elif isinstance(like, float):
        return _number(number << 3 | _FOUR) + struct.pack("<f", value)
    else:
        return _number(number << 3 | _VARINT) + _number(int(value))
    return _number(number << 3 | _BYTES) + _number(len(content)) + content
