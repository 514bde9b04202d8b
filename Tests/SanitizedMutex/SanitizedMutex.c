// Tells the thread sanitizer what the mutex of Swift's Synchronization does on Linux.
//
// Locking a free mutex is inlined into the caller, where the sanitizer sees it. Waiting for one, and waking who waits,
// happens in the kernel, called by a library that is not instrumented: the sanitizer then sees no order between two
// threads that took turns, and reports a race where there is none. These two functions stand in front of those of the
// library, which do the work, and say what is ordered. A sanitizer of another toolchain, whose functions have other
// names, is none the wiser; the false reports would then be back, and the run would fail.

#if defined(__has_feature)
#if defined(__linux__) && __has_feature(thread_sanitizer)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))
// Synchronization._MutexHandle._lockSlow(UInt32) and _unlockSlow()
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

void __tsan_acquire(void *address);
void __tsan_release(void *address);

SWIFT void strata_lock(uint32_t thread, SELF void *mutex) __asm__(LOCK);
SWIFT void strata_unlock(SELF void *mutex) __asm__(UNLOCK);

SWIFT void strata_lock(uint32_t thread, SELF void *mutex) {
  ((SWIFT void (*)(uint32_t, SELF void *))dlsym(RTLD_NEXT, LOCK))(thread, mutex);
  __tsan_acquire(mutex);
}

SWIFT void strata_unlock(SELF void *mutex) {
  __tsan_release(mutex);
  ((SWIFT void (*)(SELF void *))dlsym(RTLD_NEXT, UNLOCK))(mutex);
}
#endif
#endif
