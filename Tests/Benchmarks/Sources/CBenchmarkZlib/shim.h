#ifndef STRATA_BENCHMARK_ZLIB_SHIM_H
#define STRATA_BENCHMARK_ZLIB_SHIM_H

#include <zlib.h>

/* deflateInit2 and inflateInit2 are macros, which Swift cannot see. 31: a window of 32 KB in a gzip member. */
static inline int benchmark_deflate_init(z_stream *stream, int level) {
  return deflateInit2(stream, level, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY);
}

static inline int benchmark_inflate_init(z_stream *stream) {
  return inflateInit2(stream, 31);
}

#endif
