#ifndef STRATA_CZLIB_SHIM_H
#define STRATA_CZLIB_SHIM_H

#include <zlib.h>

/* deflateInit2 and inflateInit2 are macros, which Swift cannot see. */
static inline int strata_deflate_init_raw(z_stream *stream, int level, int window_bits, int memory_level) {
  return deflateInit2(stream, level, Z_DEFLATED, -window_bits, memory_level, Z_DEFAULT_STRATEGY);
}

static inline int strata_inflate_init_raw(z_stream *stream) {
  return inflateInit2(stream, -15);
}

#endif
