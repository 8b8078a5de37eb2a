//! Compiles the kernels, or reports what is missing.

fn main() {
    println!("cargo::rerun-if-changed=kernels");
    // The twins must give the same bits, so nothing is fused into one rounding.
    let mut c = cc::Build::new();
    c.file("kernels/heat.c").std("c11");
    let mut cpp = cc::Build::new();
    // The kernel calls nothing of the C++ library.
    cpp.file("kernels/heat.cpp")
        .std("c++17")
        .cpp(true)
        .cpp_link_stdlib(None);
    for (language, variable, build) in [("C", "CC", &mut c), ("C++", "CXX", &mut cpp)] {
        build
            .flag_if_supported("-ffp-contract=off")
            .extra_warnings(true);
        if let Err(error) = build.try_compile(&format!("heat_{}", variable.to_lowercase())) {
            println!(
                "cargo::error=the kernels in {language} could not be compiled. They need a \
                 {language} compiler; if yours is not found, name it in the environment variable {variable}. \
                 ({error})"
            );
        }
    }
}
