//! The one seam through which all matrix products go.
