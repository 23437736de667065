# What one types. Everything is done by CMake (CMakePresets.json) and the scripts in tools/; this file only puts the steps in order.

JOBS ?= $(shell nproc)

.PHONY: all setup setup-check demo demo-build check figures coverage format lint deb deb-try slurm-try nightly clean help

all: build/build.ninja
	@cmake --build --preset release -j $(JOBS)

# Once; afterwards the build notices by itself when it must be configured again.
build/build.ninja:
	@cmake --preset release

help:
	@echo 'make            build into build/ (optimised; the tool is build/bin/tacit)'
	@echo 'make setup      install what is needed to build and run (Debian packages; root or sudo)'
	@echo 'make demo       setup, build library, tool and examples, and run the N-body demonstration'
	@echo 'make check      setup with what the tests need, build, and run every test, also under address and undefined-behaviour sanitizers'
	@echo 'make figures    measure planning, and kernels against programs by hand, and draw what comes out into build/figures (an hour or so)'
	@echo 'make lint       format, layers, circles and sizes of the sources; public headers alone; columns of pages'
	@echo 'make coverage   which lines of src/ the tests execute'
	@echo 'make format     bring the sources into the format of .clang-format, and the prose of pages into 120 columns'
	@echo 'make deb        Debian packages in build/deb; then make deb-try installs them into a fresh system and runs a program there'
	@echo 'make slurm-try  start a Slurm cluster on this machine, run jobs there, and stop it again'
	@echo 'make nightly    what takes too long for every change: make deb, make deb-try, make slurm-try'
	@echo 'make clean      remove build/'
	@echo
	@echo 'JOBS=N limits the processes of a build or test (all cores). To install: cmake --install build --prefix DIRECTORY'

setup:
	@tools/setup

setup-check:
	@tools/setup --check

demo: demo-build
	@examples/demo.sh build

# No more than the demonstration needs, and all that is installed.
demo-build: setup
	@$(MAKE) --no-print-directory build/build.ninja
	@cmake --build --preset release -j $(JOBS) --target installable examples

check: setup-check
	@$(MAKE) --no-print-directory all
	@tools/check release asan

# Debian's python, for which its packages are.
figures:
	@tools/setup --figures
	@$(MAKE) --no-print-directory all
	@/usr/bin/python3 tools/figures/figures.py build build/figures

coverage: setup-check
	@tools/coverage

format:
	@tools/lint/format --fix
	@tools/lint/prose --fix

lint:
	@tools/lint/all

deb:
	@tools/setup --deb
	@packaging/deb

deb-try:
	@packaging/try

slurm-try:
	@$(MAKE) --no-print-directory build/build.ninja
	@tools/slurm-try

nightly: deb deb-try slurm-try

clean:
	rm -rf build
