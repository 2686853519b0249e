"""Complex and real arguments of layers."""

from ..fluid.framework import ComplexVariable, Variable


def is_complex(x):
    """Returns whether ``x`` is a ComplexVariable."""
    return isinstance(x, ComplexVariable)


def is_real(x):
    """Returns whether ``x`` is a Variable."""
    return isinstance(x, Variable)


def complex_variable_exists(inputs, layer_name):
    """Raises unless one of a layer's inputs is complex."""
    if not any(is_complex(x) for x in inputs):
        which = "At least one inputs" if len(inputs) > 1 else "The input"
        raise ValueError("%s of layer complex.%s() must be ComplexVariable, please use the layer for real number instead." % (which, layer_name))


def parts(x):
    """Returns the real and the imaginary part; None for that of a real variable."""
    return (x.real, x.imag) if is_complex(x) else (x, None)


def product(x, y, multiply):
    """Returns the product of two numbers of which at least one is complex, by a product of real ones."""
    (a, b), (c, d) = parts(x), parts(y)
    real = multiply(a, c)
    if b is None:
        return ComplexVariable(real, multiply(a, d))
    if d is None:
        return ComplexVariable(real, multiply(b, c))
    return ComplexVariable(real - multiply(b, d), multiply(a, d) + multiply(b, c))


def each(x, layer):
    """Returns a layer of both parts."""
    return ComplexVariable(layer(x.real), layer(x.imag))
