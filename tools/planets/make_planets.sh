#!/bin/sh
# tools/planets/make_planets.sh [FILE]: generate examples/data/planets.csv from the ephemerides of libnova.
#
# Needs the Debian packages gcc and libnova-dev. The name and version of the package go into the header of the file.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/../../examples/data/planets.csv}
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

cc -std=c17 -D_GNU_SOURCE -O2 -Wall -Wextra -o "$build/planets" "$here/planets.c" -lnova -lm
package=$(dpkg-query -W -f '${Package} ${Version}' libnova-dev)
"$build/planets" "$package" >"$build/planets.csv"
mv "$build/planets.csv" "$out"
echo "wrote $out"
