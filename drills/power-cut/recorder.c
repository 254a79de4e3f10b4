// A library that a process loads through LD_PRELOAD. It records every change and every sync of the files below
// RECORD_ROOT, and everything that is written to a socket or a pipe, in one file that all processes share. The order of the
// records is the order of the events: each call is made and recorded under a lock of all processes.
//
// A sync has two records. Between them it is under way, and nothing it covers is certain yet. An output is
// recorded before it is sent: whoever has read it read it after the record. Syncs wait while RECORD_HOLD exists, and
// those of a log of SQLite fail while RECORD_FAIL exists.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PATH_BYTES_MAX 4096
#define PARTS_MAX 1024

enum { CREATE = 1, MKDIR, WRITE, TRUNCATE, SYNC_BEGIN, SYNC_END, UNLINK, RENAME, LINK, OUTPUT, SYNC_FAILED };

struct record {
  uint32_t kind, pid;
  uint64_t file;
  int64_t offset;
  uint32_t fd, path_bytes, path2_bytes, data_bytes;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1, lock_fd = -1;
static const char *root, *hold, *fail;
static uint64_t syncs;
static useconds_t delay_us;

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void start(void) {
  const char *log = getenv("RECORD_LOG"), *lock = getenv("RECORD_LOCK"), *delay = getenv("RECORD_SYNC_US");
  root = getenv("RECORD_ROOT");
  hold = getenv("RECORD_HOLD");
  fail = getenv("RECORD_FAIL");
  if (!log || !lock || !root || !hold || !fail || !delay) return;
  delay_us = atol(delay);
  log_fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  lock_fd = (int)syscall(SYS_openat, AT_FDCWD, lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static void enter(void) {
  pthread_mutex_lock(&mutex);
  while (syscall(SYS_flock, lock_fd, LOCK_EX) != 0) {}
}

static void leave(void) {
  syscall(SYS_flock, lock_fd, LOCK_UN);
  pthread_mutex_unlock(&mutex);
}

static void append(struct record head, const char *path, const char *path2, const struct iovec *data, int parts) {
  static struct iovec all[PARTS_MAX + 3];
  head.pid = (uint32_t)getpid();
  head.path_bytes = path ? strlen(path) : 0;
  head.path2_bytes = path2 ? strlen(path2) : 0;
  head.data_bytes = 0;
  if (parts > PARTS_MAX) abort();
  all[0] = (struct iovec){&head, sizeof head};
  all[1] = (struct iovec){(void *)path, head.path_bytes};
  all[2] = (struct iovec){(void *)path2, head.path2_bytes};
  for (int part = 0; part < parts; part++) {
    all[3 + part] = data[part];
    head.data_bytes += data[part].iov_len;
  }
  size_t bytes = sizeof head + head.path_bytes + head.path2_bytes + head.data_bytes;
  // A record that is cut short would make the rest of the log unreadable.
  if (syscall(SYS_writev, log_fd, all, 3 + parts) != (long)bytes) abort();
}

// The path without the root, or NULL for a path outside the root. `at` holds the absolute path.
static const char *below(const char *path, char *at) {
  if (log_fd < 0 || !path) return NULL;
  if (path[0] == '/') snprintf(at, PATH_BYTES_MAX, "%s", path);
  else {
    char folder[PATH_BYTES_MAX];
    if (!getcwd(folder, sizeof folder)) return NULL;
    if (snprintf(at, PATH_BYTES_MAX, "%s/%s", folder, path) >= PATH_BYTES_MAX) abort();
  }
  size_t length = strlen(root);
  if (strncmp(at, root, length) != 0 || (at[length] != '/' && at[length] != 0)) return NULL;
  return at + length;
}

// What an open descriptor leads to: 'f' for a file below the root, 'd' for a folder, 'o' for an output.
static char kind_of(int fd, uint64_t *file, char *at, const char **path) {
  struct stat found;
  if (log_fd < 0 || fd == log_fd || fd == lock_fd || fstat(fd, &found) != 0) return 0;
  if (S_ISSOCK(found.st_mode) || S_ISFIFO(found.st_mode)) return 'o';
  if (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) return 0;
  char link[64], target[PATH_BYTES_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, target, sizeof target - 1);
  if (length < 0) return 0;
  target[length] = 0;
  *path = below(target, at);
  *file = found.st_ino;
  if (!*path) return 0;
  return S_ISDIR(found.st_mode) ? 'd' : 'f';
}

static int open_recorded(int folder, const char *path, int flags, mode_t mode) {
  char at[PATH_BYTES_MAX];
  const char *name = (flags & O_CREAT) && (folder == AT_FDCWD || path[0] == '/') ? below(path, at) : NULL;
  // Truncation by open() is recorded only where open() also creates: no part of the store does it otherwise.
  if (!name && below(path, at) && (flags & O_TRUNC)) abort();
  if (!name) return (int)syscall(SYS_openat, folder, path, flags, mode);
  enter();
  int was_there = access(path, F_OK) == 0;
  int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
  struct stat found;
  if (fd >= 0 && !was_there && fstat(fd, &found) == 0) {
    append((struct record){.kind = CREATE, .file = found.st_ino}, name, NULL, NULL, 0);
  }
  if (fd >= 0 && was_there && (flags & O_TRUNC) && fstat(fd, &found) == 0) {
    append((struct record){.kind = TRUNCATE, .file = found.st_ino}, name, NULL, NULL, 0);
  }
  leave();
  return fd;
}

#define OPEN(name)                                                                                \
  int name(const char *path, int flags, ...) {                                                    \
    va_list rest;                                                                                 \
    va_start(rest, flags);                                                                        \
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;                     \
    va_end(rest);                                                                                 \
    return open_recorded(AT_FDCWD, path, flags, mode);                                            \
  }
#define OPENAT(name)                                                                              \
  int name(int folder, const char *path, int flags, ...) {                                        \
    va_list rest;                                                                                 \
    va_start(rest, flags);                                                                        \
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;                     \
    va_end(rest);                                                                                 \
    return open_recorded(folder, path, flags, mode);                                              \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

// Writes at an offset, or at the current position if the offset is negative.
static ssize_t write_recorded(int fd, const struct iovec *data, int parts, int64_t offset, ssize_t (*call)(int, const struct iovec *, int, int64_t)) {
  char at[PATH_BYTES_MAX];
  const char *path = NULL;
  uint64_t file = 0;
  char kind = kind_of(fd, &file, at, &path);
  if (kind != 'f' && kind != 'o') return call(fd, data, parts, offset);
  enter();
  ssize_t written;
  if (kind == 'o') {
    append((struct record){.kind = OUTPUT, .fd = fd}, NULL, NULL, data, parts);
    written = call(fd, data, parts, offset);
    size_t bytes = 0;
    for (int part = 0; part < parts; part++) bytes += data[part].iov_len;
    // The rest is written again later, and recorded again. Responses are small, so this does not happen.
    if (written >= 0 && (size_t)written != bytes) abort();
  } else {
    int64_t from = offset >= 0 ? offset : lseek(fd, 0, SEEK_CUR);
    if (offset < 0 && (fcntl(fd, F_GETFL) & O_APPEND)) from = lseek(fd, 0, SEEK_END);
    written = call(fd, data, parts, offset);
    struct iovec first = {data[0].iov_base, written > 0 ? (size_t)written : 0};
    if (written > 0 && (parts != 1 || (size_t)written > data[0].iov_len)) abort();
    if (written > 0) append((struct record){.kind = WRITE, .file = file, .offset = from}, path, NULL, &first, 1);
  }
  leave();
  return written;
}

static ssize_t call_write(int fd, const struct iovec *data, int parts, int64_t offset) {
  (void)parts, (void)offset;
  return syscall(SYS_write, fd, data[0].iov_base, data[0].iov_len);
}
static ssize_t call_writev(int fd, const struct iovec *data, int parts, int64_t offset) {
  (void)offset;
  return syscall(SYS_writev, fd, data, parts);
}
static ssize_t call_pwrite(int fd, const struct iovec *data, int parts, int64_t offset) {
  (void)parts;
  return syscall(SYS_pwrite64, fd, data[0].iov_base, data[0].iov_len, offset);
}

ssize_t write(int fd, const void *bytes, size_t count) {
  struct iovec data = {(void *)bytes, count};
  return write_recorded(fd, &data, 1, -1, call_write);
}
ssize_t writev(int fd, const struct iovec *data, int parts) { return write_recorded(fd, data, parts, -1, call_writev); }
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
  struct iovec data = {(void *)bytes, count};
  return write_recorded(fd, &data, 1, offset, call_pwrite);
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) { return pwrite(fd, bytes, count, offset); }

static int truncate_recorded(int fd, int64_t size) {
  char at[PATH_BYTES_MAX];
  const char *path = NULL;
  uint64_t file = 0;
  if (kind_of(fd, &file, at, &path) != 'f') return (int)syscall(SYS_ftruncate, fd, size);
  enter();
  int result = (int)syscall(SYS_ftruncate, fd, size);
  if (result == 0) append((struct record){.kind = TRUNCATE, .file = file, .offset = size}, path, NULL, NULL, 0);
  leave();
  return result;
}
int ftruncate(int fd, off_t size) { return truncate_recorded(fd, size); }
int ftruncate64(int fd, off64_t size) { return truncate_recorded(fd, size); }

static int is_log(const char *path) {
  size_t length = strlen(path);
  return length >= 4 && strcmp(path + length - 4, "-wal") == 0;
}

static int sync_recorded(int fd, long call) {
  char at[PATH_BYTES_MAX];
  const char *path = NULL;
  uint64_t file = 0;
  char kind = kind_of(fd, &file, at, &path);
  if (kind != 'f' && kind != 'd') return (int)syscall(call, fd);
  enter();
  struct record head = {.kind = SYNC_BEGIN, .file = kind == 'f' ? file : 0, .offset = (int64_t)(syncs += 1)};
  append(head, path, NULL, NULL, 0);
  leave();
  // The time of a disk. Creates that arrive meanwhile share the next commit, as they do in production.
  do usleep(delay_us);
  while (access(hold, F_OK) == 0);
  int failed = is_log(path) && access(fail, F_OK) == 0;
  int result = failed ? -1 : (int)syscall(call, fd);
  if (result != 0 && !failed) return result;
  enter();
  head.kind = failed ? SYNC_FAILED : SYNC_END;
  append(head, path, NULL, NULL, 0);
  leave();
  if (failed) errno = EIO;
  return result;
}
int fsync(int fd) { return sync_recorded(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_recorded(fd, SYS_fdatasync); }

static int named(uint32_t kind, const char *path, const char *path2, int (*call)(const char *, const char *)) {
  char at[PATH_BYTES_MAX], at2[PATH_BYTES_MAX];
  const char *name = below(path, at), *name2 = below(path2, at2);
  if (!name) return call(path, path2);
  enter();
  int result = call(path, path2);
  if (result == 0) append((struct record){.kind = kind}, name, name2, NULL, 0);
  leave();
  return result;
}

static int call_unlink(const char *path, const char *none) { (void)none; return REAL(int, unlink, const char *)(path); }
static int call_remove(const char *path, const char *none) { (void)none; return REAL(int, remove, const char *)(path); }
static int call_rename(const char *from, const char *to) { return REAL(int, rename, const char *, const char *)(from, to); }
static int call_link(const char *from, const char *to) { return REAL(int, link, const char *, const char *)(from, to); }

int unlink(const char *path) { return named(UNLINK, path, NULL, call_unlink); }
int remove(const char *path) { return named(UNLINK, path, NULL, call_remove); }
int rename(const char *from, const char *to) { return named(RENAME, from, to, call_rename); }
int link(const char *from, const char *to) { return named(LINK, from, to, call_link); }

int mkdir(const char *path, mode_t mode) {
  char at[PATH_BYTES_MAX];
  const char *name = below(path, at);
  if (!name) return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  enter();
  int result = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  if (result == 0) append((struct record){.kind = MKDIR}, name, NULL, NULL, 0);
  leave();
  return result;
}
