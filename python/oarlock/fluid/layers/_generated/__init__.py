"""Layers that are one declaration of the core each; ``fluid.layers`` has them by their Fluid modules."""
