/* A wall clock that is set, in front of a process's own readings (LD_PRELOAD).
 *
 * The file CLOCK_SHIM holds the offset in seconds; it is read at each question, so that a test may
 * set the clock while the process runs. An offset for good is in CLOCK_SHIM_S and is read once: a
 * whole suite asks millions of times. The monotonic clock is left alone: nobody can set that one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static long offset_s(void) {
  static long fixed = -1;
  static const char *path;
  if (fixed < 0) {
    const char *text = getenv("CLOCK_SHIM_S");
    /* Asked for once: a test that sets it for its children does not set its own clock. */
    if ((path = getenv("CLOCK_SHIM"))) path = strdup(path);
    fixed = text ? atol(text) : 0;
  }
  FILE *file = path ? fopen(path, "r") : NULL;
  long seconds = 0;
  if (file) {
    if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
    fclose(file);
  }
  return fixed + seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += offset_s();
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec exact;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *seconds) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (seconds) *seconds = exact.tv_sec;
  return exact.tv_sec;
}
