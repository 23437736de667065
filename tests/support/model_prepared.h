/* The ways in which a random program submits a task: described each time, or prepared once. */
#ifndef MODEL_PREPARED_H
#define MODEL_PREPARED_H

#include "tacit/tacit.h"

/* Of a task of the pool. A zeroed one is fresh. */
typedef struct model_prepared {
    tacit_prepared *prepared; /* or NULL */
    tacit_task like;          /* what was prepared, without the address of arguments */
} model_prepared;

/* Submit the task, whose name is always the same. Some are prepared; when they come again with other arguments they are
 * started; when anything else differs they are prepared anew. */
tacit_status model_submit(tacit_context *ctx, model_prepared *kept, const tacit_task *task, bool prepares);

#endif
