/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Differences between releases of libslurm. */
#ifndef JOBIO_RECORD_SLURM_COMPAT_H
#define JOBIO_RECORD_SLURM_COMPAT_H

#include "config.h"

/* Slurm 26.05: functions that need a complete step ID also accept a job number. */
#define SLURM_BACKWARD_COMPAT 1
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

/* Slurm 26.05 has the number in a struct. */
#ifdef HAVE_JOB_DESC_MSG_T_JOB_ID
#define UPDATE_JOB_ID(update) ((update).job_id)
#else
#define UPDATE_JOB_ID(update) ((update).step_id.job_id)
#endif
#ifdef HAVE_SLURM_JOB_INFO_T_JOB_ID
#define INFO_JOB_ID(info) ((info)->job_id)
#else
#define INFO_JOB_ID(info) ((info)->step_id.job_id)
#endif

#endif
