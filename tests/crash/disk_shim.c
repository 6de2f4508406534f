/* A disk that fails on demand, in front of PostgreSQL's own calls (LD_PRELOAD).
 *
 * The folder DISK_SHIM holds flags, as empty files:
 *   eio        every fsync and fdatasync fails with EIO
 *   eio-once   the next one does; the call that fails removes the flag
 *   full-data  a data file cannot grow (ENOSPC)
 *   full-wal   nothing can be written to the write-ahead log (ENOSPC)
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *flag(char path[PATH_MAX], const char *name) {
  const char *folder = getenv("DISK_SHIM");
  snprintf(path, PATH_MAX, "%s/%s", folder ? folder : "/nonexistent", name);
  return path;
}

static int raised(const char *name) {
  char path[PATH_MAX];
  return access(flag(path, name), F_OK) == 0;
}

static int taken(const char *name) {
  char path[PATH_MAX];
  return unlink(flag(path, name)) == 0;
}

static int lies_in(int fd, const char *part) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strstr(path, part) != NULL;
}

static int grows(int fd, off_t end) {
  struct stat now;
  return fstat(fd, &now) == 0 && end > now.st_size;
}

static int no_space(int fd, off_t end) {
  int saved = errno;
  int full = (raised("full-wal") && lies_in(fd, "/pg_wal/")) ||
             (raised("full-data") && lies_in(fd, "/base/") && grows(fd, end));
  errno = full ? ENOSPC : saved;
  return full;
}

static off_t length_of(const struct iovec *parts, int count) {
  off_t total = 0;
  for (int i = 0; i < count; i++) total += (off_t)parts[i].iov_len;
  return total;
}

#define SYNC(name)                                             \
  int name(int fd) {                                           \
    static int (*real)(int);                                   \
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, #name);   \
    int saved = errno;                                         \
    if (taken("eio-once") || raised("eio")) {                  \
      errno = EIO;                                             \
      return -1;                                               \
    }                                                          \
    errno = saved;                                             \
    return real(fd);                                           \
  }
SYNC(fsync)
SYNC(fdatasync)

typedef ssize_t (*pwrite_call)(int, const void *, size_t, off_t);
#define PWRITE(name)                                                        \
  ssize_t name(int fd, const void *data, size_t size, off_t at) {           \
    static pwrite_call real;                                                \
    if (!real) real = (pwrite_call)dlsym(RTLD_NEXT, #name);                 \
    return no_space(fd, at + (off_t)size) ? -1 : real(fd, data, size, at);  \
  }
PWRITE(pwrite)
PWRITE(pwrite64)

typedef ssize_t (*pwritev_call)(int, const struct iovec *, int, off_t);
#define PWRITEV(name)                                                       \
  ssize_t name(int fd, const struct iovec *parts, int count, off_t at) {    \
    static pwritev_call real;                                               \
    if (!real) real = (pwritev_call)dlsym(RTLD_NEXT, #name);                \
    off_t end = at + length_of(parts, count);                               \
    return no_space(fd, end) ? -1 : real(fd, parts, count, at);             \
  }
PWRITEV(pwritev)
PWRITEV(pwritev64)

/* Unlike the others, these return the error instead of setting errno. */
typedef int (*fallocate_call)(int, off_t, off_t);
#define FALLOCATE(name)                                           \
  int name(int fd, off_t at, off_t size) {                        \
    static fallocate_call real;                                   \
    if (!real) real = (fallocate_call)dlsym(RTLD_NEXT, #name);    \
    return no_space(fd, at + size) ? ENOSPC : real(fd, at, size); \
  }
FALLOCATE(posix_fallocate)
FALLOCATE(posix_fallocate64)
