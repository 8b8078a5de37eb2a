#!/usr/bin/env bash
# Runs tests under tools that look at memory and threads. A tool that is not there is skipped, with the reason.
#
#     tests/sanitize.sh [address|thread|memcheck|miri]...
#
# The stable compiler has the sanitizers; RUSTC_BOOTSTRAP lets it show them.
set -uo pipefail
cd "$(dirname "$0")/.."
export CARGO_TERM_COLOR=never RUST_BACKTRACE=0
host=$(rustc -vV | sed -n 's/^host: //p')
target=${CARGO_TARGET_DIR:-target}
failed=0

skip() { printf '== %s skipped: %s\n' "$tool" "$1"; }

# sanitized NAME LIBRARY ARGUMENTS...: cargo test with a sanitizer, in a target folder of its own.
sanitized() {
    local name=$1 library=$2
    shift 2
    if ! compgen -G "$(rustc --print sysroot)/lib/rustlib/$host/lib/librustc-*_rt.$library.a" > /dev/null; then
        skip "the compiler has no librustc-*_rt.$library.a"
        return
    fi
    printf '== %s: cargo test %s\n' "$tool" "$*"
    RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=$name -Cunsafe-allow-abi-mismatch=sanitizer" \
        CARGO_TARGET_DIR="$target/sanitize-$name" cargo test ${build_std:-} --target "$host" "$@" || failed=1
}

address() {
    # `loom` switches stacks by itself. `engine::depth` looks at where the stack is: locals have to be on it.
    export ASAN_OPTIONS=detect_stack_use_after_return=0
    sanitized address asan -p autograd-kernels -p autograd-core --lib -- --skip tape::mark --skip alloc::count
    PROPTEST_CASES=300 sanitized address asan --test it --test memory -- --skip house:: --skip renamed::
}

thread() {
    if [ -d "$(rustc --print sysroot)/lib/rustlib/src/rust/library" ]; then
        build_std=-Zbuild-std sanitized thread tsan --test it threads:: -- --test-threads=1
        return
    fi
    local list
    list=$(mktemp)
    trap 'rm -f "$list"' RETURN
    echo "without the component rust-src, what std does with atomics is not seen, and what looks like a race is suppressed"
    # The fence when an `Arc` goes, a lock that has to be waited for, and std's own threads and channels: two threads
    # that follow each other in the memory of an `Arc`, or under the lock of what a leaf has accumulated or a node has
    # saved, look like a race.
    cat > "$list" <<'SUPPRESSIONS'
race:<alloc::sync::Arc
race:std::sync::mpmc
race:std::thread::lifecycle::Packet
race:test::event
race:autograd_core::tape::accumulated
race:autograd_core::function::record::FunctionNode<*TapeNode>::free
race:autograd_core::function::record::FunctionNode<*TapeNode>::backward
SUPPRESSIONS
    TSAN_OPTIONS="suppressions=$list" sanitized thread tsan --test it threads:: -- --test-threads=1
}

memcheck() {
    if ! command -v valgrind > /dev/null; then
        skip "there is no valgrind"
        return
    fi
    local program
    program=$(cargo test --test it --no-run --message-format=json 2> /dev/null |
        grep '"name":"it"' | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
    printf '== %s: %s\n' "$tool" "$program"
    PROPTEST_CASES=10 valgrind --quiet --error-exitcode=1 --leak-check=full --show-leak-kinds=definite,indirect \
        --errors-for-leak-kinds=definite,indirect "$program" --test-threads=1 threads:: transaction:: in_place:: \
        graphs:: lists:: || failed=1
}

miri() {
    if ! cargo +nightly miri --version > /dev/null 2>&1; then
        skip "the nightly compiler has no Miri"
        return
    fi
    # What has `unsafe` and is quick enough; not `alloc::count`, whose loom switches stacks.
    local tests=(alloc:: array:: memory:: rows:: --skip alloc::count --test-threads=1)
    printf '== %s: cargo +nightly miri test -p autograd-kernels -p autograd-core --lib -- %s\n' "$tool" "${tests[*]}"
    CARGO_TARGET_DIR="$target/miri" \
        cargo +nightly miri test -p autograd-kernels -p autograd-core --lib -- "${tests[@]}" || failed=1
}

[ $# -gt 0 ] || set -- address thread memcheck miri
for tool in "$@"; do
    case $tool in
        address | thread | memcheck | miri) "$tool" ;;
        *)
            echo "no tool is named $tool" >&2
            failed=1
            ;;
    esac
done
exit "$failed"
