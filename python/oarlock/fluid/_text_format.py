"""Protobuf messages in text form, for the few that scripts read and print: fields in the order of their numbers."""

import enum
import json
import re

_TOKEN = re.compile(r"""\s*(?:\#[^\n]*\n?\s*)*(?P<token>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[{}:]|[^\s{}:#"',;]+|[,;]|$)""")


class Repeated(list):
    """The values of a repeated field."""

    def __init__(self, kind):
        super().__init__()
        self._kind = kind

    def add(self):
        """Appends a message and returns it."""
        self.append(self._kind())
        return self[-1]


class Message:
    """A message. A class derived from it lists its fields in the order of their numbers: name, and default; a message class for a
    message; a list of either for repeated fields."""

    FIELDS: tuple = ()

    def __init__(self):
        self._set = set()
        for name, default in self.FIELDS:
            empty = Repeated(default[0]) if isinstance(default, list) else default() if isinstance(default, type) else default
            self.__dict__[name] = empty

    def __setattr__(self, name, value):
        if not name.startswith("_"):
            if name not in dict(self.FIELDS):
                raise AttributeError("a %s has no field %s" % (type(self).__name__, name))
            self._set.add(name)
        self.__dict__[name] = value

    def HasField(self, name):
        """Returns whether a field that is not repeated was set."""
        return self._is_set(name, getattr(self, name))

    def IsInitialized(self):
        """Returns whether every field that must be set is; messages have defaults for all fields."""
        return True

    def __eq__(self, other):
        return type(self) is type(other) and all(getattr(self, name) == getattr(other, name) for name, _ in self.FIELDS)

    __hash__ = None

    def _is_set(self, name, value):
        if isinstance(value, list):
            return bool(value)
        if isinstance(value, Message):
            return name in self._set or any(value._is_set(n, getattr(value, n)) for n, _ in value.FIELDS)
        return name in self._set

    def _lines(self, indent):
        for name, _ in self.FIELDS:
            value = getattr(self, name)
            if not self._is_set(name, value):
                continue
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, Message):
                    yield "%s%s {" % (indent, name)
                    yield from each._lines(indent + "  ")
                    yield indent + "}"
                else:
                    yield "%s%s: %s" % (indent, name, _text(each))

    def __str__(self):
        return "".join(line + "\n" for line in self._lines(""))


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, enum.Enum):
        return value.name
    return json.dumps(value) if isinstance(value, str) else str(value)


def _value(token, like, name):
    if token[:1] in "\"'":
        return json.loads('"%s"' % token[1:-1].replace('"', '\\"')) if token[0] == "'" else json.loads(token)
    if isinstance(like, bool):
        if token not in ("true", "false", "0", "1"):
            raise ValueError("field %s is true or false, not %s" % (name, token))
        return token in ("true", "1")
    if isinstance(like, enum.Enum):
        return type(like)[token] if not token.lstrip("-").isdigit() else type(like)(int(token))
    return type(like)(token)


def parse(text, into):
    """Reads a message in text form into a `Message`."""
    tokens = [found.group("token") for found in _TOKEN.finditer(text)]
    tokens = [token for token in tokens if token not in ("", ",", ";")]
    rest = _fields(tokens, 0, into)
    if rest != len(tokens):
        raise ValueError("a } without a { after %s" % " ".join(tokens[max(0, rest - 3):rest]))
    return into


def _fields(tokens, at, into):
    kinds = dict(into.FIELDS)
    while at < len(tokens) and tokens[at] != "}":
        name = tokens[at]
        if name not in kinds:
            raise ValueError("a %s has no field %s" % (type(into).__name__, name))
        kind, at = kinds[name], at + 1
        one = kind[0] if isinstance(kind, list) else kind
        if at < len(tokens) and tokens[at] == ":":
            at += 1
        if at >= len(tokens):
            raise ValueError("field %s has no value" % name)
        if isinstance(one, type):
            if tokens[at] != "{":
                raise ValueError("field %s is a message and needs {, not %s" % (name, tokens[at]))
            inner = getattr(into, name).add() if isinstance(kind, list) else getattr(into, name)
            into._set.add(name)
            at = _fields(tokens, at + 1, inner)
            if at >= len(tokens):
                raise ValueError("the { of %s has no }" % name)
        else:
            value = _value(tokens[at], one, name)
            getattr(into, name).append(value) if isinstance(kind, list) else setattr(into, name, value)
        at += 1
    return at
