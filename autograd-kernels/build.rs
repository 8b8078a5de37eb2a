//! Tells the crate whether it is compiled for speed: its loops are then compiled for several instruction sets, and all of
//! their bodies is inlined. Assertions say nothing of it, as a profile may have both.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(optimized)");
    if std::env::var("OPT_LEVEL").is_ok_and(|level| level != "0") {
        println!("cargo::rustc-cfg=optimized");
    }
}
