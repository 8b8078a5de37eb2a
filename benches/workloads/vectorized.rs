//! Loops by hand, compiled as those of `kernels` are: for several instruction sets, of which the processor's best runs.

/// Defines a function that is vector code where its loops can be. It is no closure: a large one might not be inlined.
macro_rules! vectorized {
    (fn $name:ident($($argument:ident: $Type:ty),* $(,)?) $body:block) => {
        fn $name($($argument: $Type),*) {
            #[inline(always)]
            #[allow(clippy::inline_always, reason = "it is compiled for the instruction set of its caller")]
            fn each($($argument: $Type),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
                fn avx512($($argument: $Type),*) {
                    each($($argument),*);
                }

                #[target_feature(enable = "avx2")]
                fn avx2($($argument: $Type),*) {
                    each($($argument),*);
                }

                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                {
                    // SAFETY: the processor has what the function is compiled for, as was just checked.
                    #[expect(unsafe_code, reason = "see above")]
                    return unsafe { avx512($($argument),*) };
                }
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: as above.
                    #[expect(unsafe_code, reason = "see above")]
                    return unsafe { avx2($($argument),*) };
                }
            }
            each($($argument),*);
        }
    };
}

pub(crate) use vectorized;
