#ifndef STRATA_CLIBDEFLATE_SHIM_H
#define STRATA_CLIBDEFLATE_SHIM_H

#include <libdeflate.h>

#endif
