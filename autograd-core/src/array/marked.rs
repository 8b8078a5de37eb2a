//! Structs with a type parameter that is only a marker.

/// Defines a struct of one field and a marker, `PhantomData` of its last parameter, with a function that converts a
/// reference to the field to a reference to the struct, for any parameter.
///
/// A tensor's rank is such a parameter: a reference to a tensor is converted to one of another rank without a copy,
/// also of its handles.
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
