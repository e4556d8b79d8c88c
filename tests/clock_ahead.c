/* A clock that is ahead by the seconds in the file CLOCK_AHEAD, which may change at any time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long none = 0, *ahead = &none;

__attribute__((constructor)) static void look(void) {
  int file = getenv("CLOCK_AHEAD") ? open(getenv("CLOCK_AHEAD"), O_RDONLY) : -1;
  void *seen = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(long long), PROT_READ, MAP_SHARED, file, 0);
  if (seen != MAP_FAILED) ahead = seen;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int failed = syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += *ahead;
  return failed;
}

int gettimeofday(struct timeval *time, void *zone) {
  struct timespec now;
  int failed = clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec, time->tv_usec = now.tv_nsec / 1000;
  return failed;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
