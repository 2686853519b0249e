"""Complex numbers as two variables."""

from .core import VarDesc


class ComplexVariable:
    """A complex number as two variables; ``oarlock.complex`` has its layers. Fetch both parts.

    Args:
        real (Variable), imag (Variable): of one shape and element type.

    Example:
        >>> part = fluid.layers.ones([2], "float32")
        >>> x = fluid.framework.ComplexVariable(part, part)
        >>> x.shape, x.dtype
        ((2,), 'complex64')
    """

    def __init__(self, real, imag):
        if tuple(real.shape) != tuple(imag.shape):
            raise AssertionError("The real part and imaginary part of a ComplexVariable should have the same shape!")
        if real.dtype != imag.dtype:
            raise AssertionError("The real part and imaginary part of a ComplexVariable should have the same data type!")
        self.real, self.imag = real, imag

    @property
    def dtype(self):
        """``"complex64"``, or ``"complex128"`` for parts of float64."""
        return "complex64" if self.real.dtype in (VarDesc.VarType.FP16, VarDesc.VarType.FP32) else "complex128"

    @property
    def shape(self):
        """The shape of both parts."""
        return self.real.shape

    @property
    def name(self):
        """The names of both parts, by ``"real"`` and ``"imag"``."""
        return {"real": self.real.name, "imag": self.imag.name}

    def numpy(self):
        """Belongs to eager mode: fetch both parts."""
        return self.real.numpy() + 1j * self.imag.numpy()

    def __repr__(self):
        return "REAL: %rIMAG: %r" % (self.real, self.imag)

    __str__ = __repr__
