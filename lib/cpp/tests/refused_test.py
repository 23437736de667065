#!/usr/bin/env python3
"""What tacit.hpp refuses while it is compiled, with a sentence that says what is wrong: each piece alone, in a
program that compiles without it.

Usage: refused_test.py SOURCE-ROOT COMPILER"""
import subprocess
import sys
import tempfile

PROGRAM = """#include <tacit/tacit.hpp>
void f(tacit::context &ctx, tacit::buffer<double, 2> &a, tacit::buffer<double, 2> &b)
{
    std::vector<int> list;
    double factor = 2;
    %s
    (void)list, (void)factor, (void)b, (void)a, (void)ctx;
}
int main() { return 0; }
"""
TASK = 'ctx.submit("t", a.extent(), %s);'
ACCEPTED = [
    TASK % "tacit::update(a, tacit::one_to_one()), [=](size_t i, size_t j, auto v) { v(i, j) *= factor; }",
    TASK % "tacit::update(a, tacit::one_to_one()), [=](const tacit::launch<2> &k, auto v) { v(k.begin(0), k.begin(1)) *= factor; }",
    TASK % "tacit::update(a, tacit::one_to_one()), [=](auto i, auto j, const auto &v) { v(i, j) *= factor; }",
    TASK % "[](size_t, size_t) {}",
    "ctx.make_mapper([factor](const tacit::box &, const tacit_range &, tacit::region &) { (void)factor; });",
]
REFUSED = {
    TASK % "tacit::read(a, tacit::all()), [list](size_t i, size_t j, auto v) {}": "captures values and pointers only",
    TASK % "tacit::read(a, tacit::all()), [](size_t i, auto v) {}": "one accessor for each access",
    TASK % "tacit::read(a, tacit::all()), [](size_t i, size_t j) {}": "one accessor for each access",
    TASK % "tacit::read(a, tacit::all()), [](size_t i, size_t j, auto v) { v(i, j) = 1; }": "read-only|const value",
    TASK % "tacit::read(a, tacit::all()), [](size_t i, size_t j, auto v) { v(i); }": "as many indices as the buffer has dimensions",
    TASK % "tacit::read(a, 3), [](size_t i, size_t j, auto v) {}": "a mapper, or a lambda",
    TASK % "tacit::read(a, [factor](const tacit::box &, const tacit_range &, tacit::region &) {}), [](size_t, size_t, auto) {}":
        "make this one once, by context::make_mapper",
    TASK % "tacit::read(a, [list](const tacit::box &, const tacit_range &, tacit::region &) {}), [](size_t, size_t, auto) {}": "trivially copyable|equal bytes",
    "ctx.make_operator(1.0, [](double) { return 1.0; });": "an operator is (T, T) -> T",
    "tacit::buffer<std::string, 1> s;": "elements are trivially copyable",
    "tacit::buffer<bool, 1> s;": "take unsigned char",
    "tacit::range<4> r{1, 2, 3, 4};": "ranges have 0 to 3 dimensions",
    "tacit::buffer<double, 2> copy(a);": "deleted",
    "tacit::task(\"t\").granularity(1, 2, 3, 4);": "at most 3 dimensions",
}


def main():
    root, compiler = sys.argv[1:]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/piece.cpp"
        command = [compiler, "-std=c++17", f"-I{folder}", f"-I{root}/include", f"-I{root}/lib/cpp/include"]
        # the header is compiled once: a piece takes a fifth of the time
        with open(f"{folder}/once.hpp", "w", encoding="ascii") as once:
            once.write("#include <tacit/tacit.hpp>\n")
        subprocess.run([*command, "-x", "c++-header", f"{folder}/once.hpp"], check=True)
        for piece in ["\n".join(["", *ACCEPTED]), *REFUSED]:
            with open(file, "w", encoding="ascii") as source:
                source.write(PROGRAM % piece)
            done = subprocess.run([*command, "-fsyntax-only", "-include", f"{folder}/once.hpp", file], capture_output=True, text=True, check=False,
                                  env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
            words = REFUSED.get(piece)
            good = done.returncode == 0 if not words else done.returncode != 0 and any(w in done.stderr for w in words.split("|"))
            if not good:
                failed += 1
                print(f"FAILED: {piece!r}: {'must be refused with ' + words if words else 'must compile'}\n{done.stderr[:3000]}")
    print(f"{len(REFUSED)} refused, {len(ACCEPTED)} accepted, {failed} wrong")
    return 1 if failed else 0


sys.exit(main())
