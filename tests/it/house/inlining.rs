//! What is inlined in every loop: see DESIGN.md.

use crate::sources::{files, root, short, text};

/// In a build without optimization, each function that is inlined is compiled once for each call, and none is faster.
#[test]
fn functions_of_kernels_are_inlined_only_where_they_are_optimized() {
    let (mut found, mut count) = (Vec::new(), 0);
    for file in files(&root().join("autograd-kernels/src"), "rs") {
        if short(&file).contains("/tests") {
            continue;
        }
        for (line, number) in text(&file).lines().zip(1..) {
            if line.contains("cfg_attr(optimized, inline(always))") {
                count += 1;
            } else if line.trim_start().starts_with("#[inline(always)]") {
                found.push(format!("{}:{number}", short(&file)));
            }
        }
    }
    assert!(count > 400, "{count} attributes are too few to be all");
    assert!(
        found.is_empty(),
        "`#[inline(always)]` without `cfg_attr(optimized, …)`: {found:#?}"
    );
}
