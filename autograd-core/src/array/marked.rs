//! Structs with a type parameter that nothing of them depends on.

/// Defines a struct of one field and of a marker, `PhantomData` of its last parameter, with a function
/// that sees a reference to the field as one to the struct, whatever the parameter is.
///
/// A tensor's rank is such a parameter: under another one it is the same tensor, and need not be copied,
/// not even its handles, to be seen so.
macro_rules! marked {
    (
        $(#[$attribute:meta])*
        $vis:vis struct $Struct:ident<$T:ident, $D:ident = $Default:ty> {
            $field_vis:vis $field:ident: $Field:ty,
            $(#[$marker_attribute:meta])*
            $marker:ident,
        }
    ) => {
        $(#[$attribute])*
        #[repr(transparent)]
        $vis struct $Struct<$T, $D = $Default> {
            $field_vis $field: $Field,
            $(#[$marker_attribute])*
            $marker: std::marker::PhantomData<$D>,
        }

        impl<$T, $D> $Struct<$T, $D> {
            #[inline]
            fn from_field($field: &$Field) -> &Self {
                // SAFETY: the struct is transparent and its other field takes no space, so both types
                // have one layout; a reference in, a reference of the same lifetime out.
                #[allow(unsafe_code, reason = "see above")]
                unsafe {
                    &*std::ptr::from_ref($field).cast::<Self>()
                }
            }
        }
    };
}

pub(crate) use marked;
