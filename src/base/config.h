/* Settings: one table of all TACIT_* variables.
 *
 * A setting comes from its default, from the field of tacit_config, or from the environment, which wins. The table in
 * config.c generates the help text and doc/configuration.md. Read at tacit_init, constant afterwards. Any thread. */
#ifndef TI_CONFIG_H
#define TI_CONFIG_H

#include "base/strbuf.h"
#include "tacit/tacit.h"

typedef enum ti_source { TI_FROM_DEFAULT, TI_FROM_PROGRAM, TI_FROM_ENVIRONMENT } ti_source;

typedef struct ti_setting {
    const char *name;    /* of the variable */
    const char *values;  /* how a value looks, such as "0..1000" */
    const char *initial; /* the default, in words */
    const char *help;    /* one sentence */
} ti_setting;

/* The settings in the order of the documentation; NULL behind the last one. */
const ti_setting *ti_config_setting(size_t index);
/* Where the value of setting `index` comes from, for a program that passes `from` (may be NULL) to tacit_init. */
ti_source ti_config_source(size_t index, const tacit_config *from);

/* Resolve `from` (may be NULL) and the environment into `out`; its strings stay valid as long as both. On failure
 * `why` gets a sentence with the nearest real name or the values allowed. */
tacit_status ti_config_resolve(const tacit_config *from, tacit_config *out, ti_strbuf *why);

/* Replace the strings by copies, and free these copies. */
void ti_config_own_texts(tacit_config *config);
void ti_config_free_texts(tacit_config *config);

/* Appends the settings that must be the same on all nodes: "NAME=value" in lines. */
void ti_config_shared(const tacit_config *config, ti_strbuf *out);
/* The same of all settings. */
void ti_config_all(const tacit_config *config, ti_strbuf *out);

/* A value of TACIT_MEMORY_LIMIT, on a machine with so many bytes for this node. False if it is malformed. */
bool ti_config_memory(const char *text, uint64_t machine, uint64_t *out);

#endif
