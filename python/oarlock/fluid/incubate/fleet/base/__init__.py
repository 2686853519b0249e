"""Role makers, and what every Fleet has."""

from . import fleet_base, role_maker

__all__ = ["fleet_base", "role_maker"]
