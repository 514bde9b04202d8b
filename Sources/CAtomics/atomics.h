#ifndef STRATA_CATOMICS_H
#define STRATA_CATOMICS_H

#include <stdbool.h>
#include <stdint.h>

/* Swift's Atomic needs macOS 15 and iOS 18. */

static inline uintptr_t strata_atomic_load(const uintptr_t *word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void strata_atomic_store(uintptr_t *word, uintptr_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Stores the value if the word is zero. Returns what the word holds then. */
static inline uintptr_t strata_atomic_store_if_zero(uintptr_t *word, uintptr_t value) {
  uintptr_t known = 0;
  bool isStored = __atomic_compare_exchange_n(word, &known, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return isStored ? value : known;
}

#endif
