//! Compiles the shim against the libtorch that torch-sys has found.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=src/shim.cpp");
    for name in ["LIBTORCH_INCLUDE", "LIBTORCH_CXX11_ABI"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    // torch-sys reports `torch/lib` of a Python package, or `lib` of a libtorch. The headers are beside that folder.
    let lib = env::var_os("DEP_TCH_LIBTORCH_LIB").map(PathBuf::from);
    let mut root =
        lib.expect("the directory of libtorch from torch-sys, which reports it on Linux and macOS");
    root.pop();
    // In the same way as torch-sys.
    if env::var_os("LIBTORCH_USE_PYTORCH").is_none()
        && let Some(includes) = env::var_os("LIBTORCH_INCLUDE")
    {
        root = PathBuf::from(includes);
    }
    let include = root.join("include");
    let abi = env::var("LIBTORCH_CXX11_ABI").unwrap_or_else(|_| "1".to_owned());
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .define("_GLIBCXX_USE_CXX11_ABI", &*abi)
        .flag("-isystem")
        .flag(include.join("torch/csrc/api/include"))
        .flag("-isystem")
        .flag(include)
        .file("src/shim.cpp")
        .compile("pullback_tch_shim");
}
