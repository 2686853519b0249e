//! How layers take their options.

/// Defines the options of a layer: what Fluid requires goes into the constructor, what it gives a default becomes a field with a
/// setter. A field or argument marked `(into)` takes whatever converts into its type.
macro_rules! options {
    (
        $(#[$meta:meta])*
        $name:ident :: $ctor:ident ( $( $(#[$rmeta:meta])* $req:ident $(($rinto:ident))? : $reqty:ty ),* $(,)? )
        { $( $(#[$fmeta:meta])* $field:ident $(($into:ident))? : $ty:ty = $default:expr ),* $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone)]
        pub struct $name {
            $( $(#[$rmeta])* pub $req: $reqty, )*
            $( $(#[$fmeta])* pub $field: $ty, )*
        }

        impl $name {
            /// With Fluid's defaults.
            #[allow(clippy::new_without_default, reason = "a layer without required options reads like the others")]
            pub fn $ctor($( $req: options!(@arg $($rinto)? $reqty) ),*) -> $name {
                $name {
                    $( $req: options!(@value $($rinto)? $req), )*
                    $( $field: $default, )*
                }
            }

            $(
                $(#[$fmeta])*
                #[must_use]
                pub fn $field(mut self, $field: options!(@arg $($into)? $ty)) -> $name {
                    self.$field = options!(@value $($into)? $field);
                    self
                }
            )*
        }
    };
    (@arg into $ty:ty) => { impl Into<$ty> };
    (@arg $ty:ty) => { $ty };
    (@value into $value:ident) => { $value.into() };
    (@value $value:ident) => { $value };
}

pub(crate) use options;
