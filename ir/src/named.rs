//! Enums whose variants have names.

/// Defines an enum with the name of each variant, the method that returns it, and a list of all values. The
/// documentation of a variant begins with its name.
macro_rules! named_enum {
    (
        $(#[$attribute:meta])* enum $type:ident
        $(#[$name_attribute:meta])* fn $name:ident
        { $($(#[$variant_attribute:meta])* $variant:ident = $text:literal,)* }
    ) => {
        $(#[$attribute])*
        pub enum $type {
            $(#[doc = concat!("`", $text, "`")] $(#[$variant_attribute])* $variant,)*
        }

        impl $type {
            /// All values, in the order of their declaration.
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$variant),*];

            $(#[$name_attribute])*
            #[must_use]
            pub const fn $name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

pub(crate) use named_enum;
