#!/bin/sh
# doc/configuration.md is what the tool prints from the table of settings.
# Usage: configuration_test.sh PATH-OF-TACIT DOC/CONFIGURATION.MD
if "$1" help settings --markdown | diff -u "$2" -; then
    echo 'configuration: up to date'
else
    echo 'configuration: the page above differs from the table in src/base/config.c. To print it again:' >&2
    echo '  build/bin/tacit help settings --markdown >doc/configuration.md' >&2
    exit 1
fi
