"""Names that old scripts import from here."""

__all__ = []


def get_places(device_count=None, device_type=None):
    """Fluid dropped the operator behind it before 1.0."""
    raise NotImplementedError("layers.device.get_places was replaced before Fluid 1.0: use fluid.cpu_places()")
