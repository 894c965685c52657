/* Replacing files, also through symbolic links. */
#include "io/file.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/file.h"
#include "solver/config/config.h"
#include "tests/check.h"

static char folder[] = "/tmp/sp_test_file_XXXXXX";

static bool holds(const char *path, const char *text) {
  char found[128] = "";
  FILE *file = fopen(path, "r");
  if (!file) return false;
  const size_t size = fread(found, 1, sizeof found - 1, file);
  fclose(file);
  return size == strlen(text) && memcmp(found, text, size) == 0;
}

static bool is_link(const char *path) {
  struct stat file;
  return lstat(path, &file) == 0 && S_ISLNK(file.st_mode);
}

/* Files in the working directory. */
static int count_files(void) {
  int count = 0;
  DIR *list = opendir(".");
  for (struct dirent *entry = readdir(list); entry; entry = readdir(list)) count++;
  closedir(list);
  return count - 2;
}

static void remove_files(void) {
  DIR *list = opendir(".");
  for (struct dirent *entry = readdir(list); entry; entry = readdir(list))
    (void)remove(entry->d_name);
  closedir(list);
}

static void replace(const char *path, const char *text) {
  CHECK(sp_file_replace(path, text, strlen(text)) == SP_OK, "%s: %s", path, sp_error_message());
}

/* Before any other use of the tag: parent and child must get different ones. */
static void check_tags(void) {
  int ends[2];
  char other[9] = "";
  if (pipe(ends) != 0) abort();
  const pid_t child = fork();
  if (child == 0) _exit(write(ends[1], sp_file_tag(), 8) != 8);
  CHECK(read(ends[0], other, 8) == 8, "no tag");
  waitpid(child, NULL, 0);
  close(ends[0]);
  close(ends[1]);
  const char *tag = sp_file_tag();
  CHECK(strlen(tag) == 8 && strspn(tag, "abcdefghijklmnopqrstuvwxyz0123456789") == 8, "'%s'", tag);
  CHECK(strcmp(tag, other) != 0, "two processes have the tag %s", tag);
  CHECK(sp_file_tag() == tag, "another tag");

  sp_file_names names;
  const char *expected = test_text("run.h5.%s.tmp", tag);
  CHECK_OK(sp_file_names_create("run.h5", &names));
  CHECK(strcmp(names.target, "run.h5") == 0 && strcmp(names.temporary, expected) == 0, "%s, %s",
        names.target, names.temporary);
  sp_file_names_free(&names);
  CHECK(!names.target && !names.temporary, "freed");
}

static void check_replace(void) {
  replace("new", "first");
  CHECK(holds("new", "first") && count_files() == 1, "a new file");
  replace("new", "second");
  CHECK(holds("new", "second") && count_files() == 1, "an old file");
  CHECK(sp_file_try("new", 's') == SP_OK && sp_file_try("other", 's') == SP_OK, "%s",
        sp_error_message());
  CHECK(sp_file_try("new", SP_FILE_HDF5) == SP_ERR_SYSTEM &&
            strstr(sp_error_message(), "another format"),
        "'%s'", sp_error_message());
  CHECK(holds("new", "second") && count_files() == 1, "a try leaves something");
  CHECK(sp_file_try("absent/new", SP_FILE_JSON) == SP_ERR_SYSTEM &&
            strcmp(sp_error_message(), "No such file or directory") == 0,
        "'%s'", sp_error_message());
  CHECK(sp_file_try(".", SP_FILE_JSON) == SP_ERR_SYSTEM &&
            strcmp(sp_error_message(), "it is not a regular file") == 0,
        "'%s'", sp_error_message());
  CHECK(sp_file_replace(".", "", 0) == SP_ERR_SYSTEM && count_files() == 1, "a folder");
  remove_files();
}

/* A link stays, and the file that it leads to is replaced in its own folder. */
static void check_links(void) {
  CHECK(mkdir("there", 0777) == 0 && symlink("there/data", "link") == 0 &&
            symlink("../link", "there/back") == 0 && symlink("there", "folder") == 0,
        "links");
  replace("link", "dangling");
  CHECK(is_link("link") && holds("there/data", "dangling"), "a link to nothing yet");
  replace("there/back", "twice");
  CHECK(is_link("there/back") && is_link("link") && holds("there/data", "twice"), "two links");
  replace("folder/data", "through");
  CHECK(is_link("folder") && holds("there/data", "through"), "a link among the folders");
  const char *absolute = test_text("%s/there/data", folder);
  CHECK(symlink(absolute, "absolute") == 0, "link");
  replace("absolute", "absolute");
  CHECK(is_link("absolute") && holds("there/data", "absolute"), "a link by its whole path");

  CHECK(sp_path_is_same("link", "there/data") && sp_path_is_same("absolute", "folder/back"),
        "links to one file");
  CHECK(unlink("there/data") == 0, "unlink");
  CHECK(sp_path_is_same("link", "./there/data") && sp_path_is_same("there/back", "folder/data") &&
            !sp_path_is_same("link", "there/date"),
        "links to nothing yet");
  char *target;
  CHECK(symlink("loop", "loop") == 0, "link");
  CHECK(sp_path_resolve("loop", &target) == SP_ERR_SYSTEM && !target &&
            strstr(sp_error_message(), "symbolic links"),
        "'%s'", sp_error_message());
  CHECK(sp_file_replace("loop", "", 0) == SP_ERR_SYSTEM && is_link("loop"), "a loop");
  unlink("there/back");
  remove_files();
}

static void check_unconverged(const char *path, const char *expected) {
  char *found;
  CHECK(sp_output_unconverged_path(path, &found) == SP_OK && strcmp(found, expected) == 0, "'%s'",
        found);
  free(found);
}

int main(int argc, char **argv) {
  check_tags(); /* before MPI starts, since it forks */
  if (!mkdtemp(folder) || chdir(folder) != 0) return 1;
  test_begin(&argc, &argv);
  check_replace();
  check_links();
  check_unconverged("run.hdf", "run.unconverged.hdf");
  check_unconverged("a.b/run", "a.b/run.unconverged");
  check_unconverged("a.b/.run", "a.b/.run.unconverged");
  check_unconverged("run.2.hdf", "run.2.unconverged.hdf");
  if (chdir("/") == 0) rmdir(folder);
  return check_end();
}
