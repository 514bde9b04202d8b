// A library that is loaded before a program (LD_PRELOAD) and makes its system calls fail. Only calls for files with a given path
// prefix count. StrataTestSupport/Faults.swift compiles it and sets the failing calls:
//
//     STRATA_FAULT_PATH   the path prefix
//     STRATA_FAULT_AT     the number of the failing call, from 1; none if it is 0
//     STRATA_FAULT_ERROR  the error number; 0 is a short read or write, of half of the bytes
//     STRATA_FAULT_THEN   the error number of all calls after it; 0 if there is none
//     STRATA_FAULT_MARK   a file that is created when the call fails
//
// A test inside the program sets the same with strata_fault, and gets the number of calls from strata_fault_calls.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char prefix[PATH_MAX];
static atomic_int calls, place, first, then_error;
static const char *mark;
// Whether the file of a descriptor has the prefix.
static atomic_char counted[4096];

void strata_fault(const char *path, int at, int error, int then) {
  if (path) snprintf(prefix, sizeof prefix, "%s", path);
  first = error;
  then_error = then;
  calls = 0;
  place = at;
}

int strata_fault_calls(void) { return calls; }

static int number(const char *name) {
  const char *text = getenv(name);
  return text ? atoi(text) : 0;
}

__attribute__((constructor)) static void start(void) {
  mark = getenv("STRATA_FAULT_MARK");
  if (getenv("STRATA_FAULT_PATH"))
    strata_fault(getenv("STRATA_FAULT_PATH"), number("STRATA_FAULT_AT"), number("STRATA_FAULT_ERROR"),
                 number("STRATA_FAULT_THEN"));
}

static int is_counted(const char *path) { return prefix[0] && path && !strncmp(path, prefix, strlen(prefix)); }
static int is_open(int fd) { return fd >= 0 && fd < 4096 && counted[fd]; }

// The error number of a counted call: 0 if it is executed, and -1 if it is short.
static int fault(void) {
  int call = ++calls;
  if (!place || call < place) return 0;
  if (call == place) {
    if (mark) syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    return first ? first : -1;
  }
  return then_error;
}

#define FAIL(condition) \
  do { \
    int error = (condition) ? fault() : 0; \
    if (error > 0) { \
      errno = error; \
      return -1; \
    } \
  } while (0)
#define REAL(type, name, ...) \
  static type (*real)(__VA_ARGS__); \
  if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int opened(int folder, const char *path, int flags, mode_t mode) {
  FAIL(is_counted(path));
  int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
  if (fd >= 0 && fd < 4096) counted[fd] = (char)is_counted(path);
  return fd;
}
#define OPEN(name, folder, parameters) \
  int name parameters { \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
      va_list list; \
      va_start(list, flags); \
      mode = va_arg(list, mode_t); \
      va_end(list); \
    } \
    return opened(folder, path, flags, mode); \
  }
OPEN(open, AT_FDCWD, (const char *path, int flags, ...))
OPEN(open64, AT_FDCWD, (const char *path, int flags, ...))
OPEN(openat, folder, (int folder, const char *path, int flags, ...))
OPEN(openat64, folder, (int folder, const char *path, int flags, ...))

int close(int fd) {
  int error = is_open(fd) ? fault() : 0;
  if (fd >= 0 && fd < 4096) counted[fd] = 0;
  // A failing close closes the descriptor anyway.
  int result = (int)syscall(SYS_close, fd);
  if (error <= 0) return result;
  errno = error;
  return -1;
}

#define MOVE(name, number, parameters, ...) \
  ssize_t name parameters { \
    int error = is_open(fd) ? fault() : 0; \
    if (error > 0) { \
      errno = error; \
      return -1; \
    } \
    if (error < 0 && count > 1) count /= 2; \
    return syscall(number, fd, bytes, __VA_ARGS__); \
  }
MOVE(read, SYS_read, (int fd, void *bytes, size_t count), count)
MOVE(pread, SYS_pread64, (int fd, void *bytes, size_t count, off_t offset), count, offset)
MOVE(pread64, SYS_pread64, (int fd, void *bytes, size_t count, off64_t offset), count, offset)
MOVE(write, SYS_write, (int fd, const void *bytes, size_t count), count)
MOVE(pwrite, SYS_pwrite64, (int fd, const void *bytes, size_t count, off_t offset), count, offset)
MOVE(pwrite64, SYS_pwrite64, (int fd, const void *bytes, size_t count, off64_t offset), count, offset)

#define FILE_CALL(name, number, parameters, ...) \
  int name parameters { \
    FAIL(is_open(fd)); \
    return (int)syscall(number, __VA_ARGS__); \
  }
FILE_CALL(fsync, SYS_fsync, (int fd), fd)
FILE_CALL(fdatasync, SYS_fdatasync, (int fd), fd)
FILE_CALL(ftruncate, SYS_ftruncate, (int fd, off_t size), fd, size)
FILE_CALL(ftruncate64, SYS_ftruncate, (int fd, off64_t size), fd, size)
FILE_CALL(fallocate, SYS_fallocate, (int fd, int mode, off_t start, off_t size), fd, mode, start, size)
FILE_CALL(fchmod, SYS_fchmod, (int fd, mode_t mode), fd, mode)

#define PATH_CALL(name, parameters, types, ...) \
  int name parameters { \
    FAIL(is_counted(path)); \
    REAL(int, #name, types); \
    return real(__VA_ARGS__); \
  }
#define TYPES(...) __VA_ARGS__
PATH_CALL(unlink, (const char *path), TYPES(const char *), path)
PATH_CALL(rmdir, (const char *path), TYPES(const char *), path)
PATH_CALL(mkdir, (const char *path, mode_t mode), TYPES(const char *, mode_t), path, mode)
PATH_CALL(rename, (const char *path, const char *new_path), TYPES(const char *, const char *), path, new_path)
PATH_CALL(link, (const char *path, const char *new_path), TYPES(const char *, const char *), path, new_path)
PATH_CALL(stat, (const char *path, struct stat *status), TYPES(const char *, struct stat *), path, status)
PATH_CALL(lstat, (const char *path, struct stat *status), TYPES(const char *, struct stat *), path, status)
PATH_CALL(stat64, (const char *path, struct stat64 *status), TYPES(const char *, struct stat64 *), path, status)
PATH_CALL(lstat64, (const char *path, struct stat64 *status), TYPES(const char *, struct stat64 *), path, status)

int fstat(int fd, struct stat *status) {
  FAIL(is_open(fd));
  REAL(int, "fstat", int, struct stat *);
  return real(fd, status);
}
int fstat64(int fd, struct stat64 *status) {
  FAIL(is_open(fd));
  REAL(int, "fstat64", int, struct stat64 *);
  return real(fd, status);
}
