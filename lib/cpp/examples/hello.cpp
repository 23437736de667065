/* hello.cpp: the smallest program in C++. The nodes decipher a word together: every letter is one further than it should be. */
#include <iostream>
#include <string>
#include <tacit/tacit.hpp>

int main()
{
    const std::string secret = "Ifmmp-!dmvtufs\"";
    tacit::context ctx;
    tacit::buffer<char, 1> text(ctx, { secret.size() }, "text", secret.data());
    ctx.submit("decipher", text.extent(), tacit::update(text, tacit::one_to_one()),
               [](size_t i, auto text) { text(i)--; });
    const auto plain = text.read();
    if (ctx.node() == 0)
        std::cout << std::string(plain.begin(), plain.end()) << '\n';
}
