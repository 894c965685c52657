/* Reading cases: syntax, overrides, and files that cannot be read. */
#define _POSIX_C_SOURCE 200809L
#include "io/ini.h"
#include "tests/config_case.h"

#define UNFIT                                                                                      \
  "a case cannot hold a key that begins with '[' or has a # or ; at the start or after white "     \
  "space, a line break, nor a value with both such a # or ; and quotes"

static void test_syntax(void) {
  static const char *const errors[][2] = {
      {"[mesh]\n[bad # ]\n", "case.ini:2: expected ']' after '[bad'"},
      {"[mesh] x", "case.ini:1: unexpected text after ']': 'x'"},
      {"[ ]", "case.ini:1: no name in '[]'"},
      {"[mesh]\nrefine 1", "case.ini:2: expected 'key = value' or '[section]', found 'refine 1'"},
      {"\nrefine = 1", "case.ini:2: key 'refine' comes before any [section]"},
      {"[mesh]\n = 1", "case.ini:2: no key before '='"},
      {"[msh]", "case.ini:1: unknown section [msh]; did you mean [mesh]?"},
      {"[quux]\na = 1",
       "case.ini:1: unknown section [quux]; known are constants, units, mesh, "
       "discretization, problem, time, "
       "boundary, solver, backend, output, probe, line, result, material, regions, region"},
      {"[discretization]\r\n\r\nordr = 7",
       "case.ini:3: unknown key 'ordr' in [discretization]; did you mean 'order'?"},
      {"[solver]\nrestart = 5",
       "case.ini:2: unknown key 'restart' in [solver]; known are tolerance, criterion, "
       "max_iterations, preconditioner, smoother, smoother_degree, orders, coarse, precision"},
      {"[mesh]\nrefine = 1\n[solver]\n[mesh]\nrefine = 1",
       "case.ini:5: key 'refine' of [mesh] is already given in line 2"},
      {"[boundary]\na b = neumann\n\na b=dirichlet",
       "case.ini:4: key 'a b' of [boundary] is already given in line 2"},
      {"[mesh]\nrefine = 11111111111111111111111111111111111111111111111111111111111111111111111",
       "case.ini:2: mesh.refine: expected an integer from 0 to 10, found "
       "'111111111111111111111111111111111111111111111111111111111111...'"},
      {"[mesh]\nrefine = \x1B[1m", "case.ini:2: mesh.refine: expected an integer from 0 to 10, "
                                   "found '?[1m'"},
  };
  for (size_t e = 0; e < COUNT_OF(errors); e++) check_error(errors[e][0], NULL, errors[e][1]);

  static const char *const arguments[][2] = {
      {"boundary.a=periodic",
       "argument 'boundary.a=periodic': expected periodic OTHER, found no group"},
      {"boundary.a=robin , 1", "argument 'boundary.a=robin , 1': expected robin ALPHA[, G], "
                               "kappa du/dn + ALPHA u = G; found no alpha"},
      {"order", "argument 'order': expected section.key=value"},
      {"mesh.=5", "argument 'mesh.=5': expected section.key=value"},
      {"", "argument '': expected section.key=value"},
      {"discretization.ordr=5", "argument 'discretization.ordr=5': unknown key 'ordr' in "
                                "[discretization]; did you mean 'order'?"},
      {"output.log=a\" #b", "argument 'output.log=a\" #b': " UNFIT},
      {"boundary.a #b=dirichlet", "argument 'boundary.a #b=dirichlet': " UNFIT},
      {"output.log=a\nb", "argument 'output.log=a?b': " UNFIT},
      {"boundary.[a=dirichlet", "argument 'boundary.[a=dirichlet': " UNFIT},
  };
  for (size_t a = 0; a < COUNT_OF(arguments); a++)
    check_error(NULL, TEXTS(arguments[a][0]), arguments[a][1]);
}

/* Texts with NUL bytes, and very long lines. */
static void test_bytes(void) {
  static const char zero[] = "[mesh]\n# a\0b\n";
  sp_ini *ini = NULL;
  CHECK(sp_ini_parse("f", zero, sizeof zero - 1, &ini) == SP_ERR_INPUT && !ini, "NUL accepted");
  CHECK_TEXT(sp_error_message(), "f:2: NUL byte; expected UTF-8 text");
  CHECK(sp_ini_parse("f", "[a]\nb=c\0", 8, &ini) == SP_ERR_INPUT && !ini, "NUL accepted");
  CHECK_TEXT(sp_error_message(), "f:2: NUL byte; expected UTF-8 text");

  static const char list[] =
      "\n[a]\r\nb == c = ; d\n;e\nf=;g\nh = \"a #b\" # \"c\"\ni=\"j #k\", \"l\nm=\"";
  CHECK(sp_ini_parse("f", list, sizeof list - 1, &ini) == SP_OK, "syntax");
  if (ini) {
    CHECK(ini->count == 6, "%d entries", ini->count);
    CHECK_TEXT(ini->entries[0].section, "a");
    CHECK(!ini->entries[0].key && ini->entries[0].line == 2, "section");
    CHECK_TEXT(ini->entries[1].key, "b");
    CHECK_TEXT(ini->entries[1].value, "= c =");
    CHECK_TEXT(ini->entries[2].value, "");
    CHECK(ini->entries[2].line == 5, "line %d", ini->entries[2].line);
    CHECK_TEXT(ini->entries[3].value, "a #b");
    CHECK_TEXT(ini->entries[4].value, "\"j #k\", \"l");
    CHECK_TEXT(ini->entries[5].value, "\"");
  }
  sp_ini_destroy(&ini);

  enum { TERMS = 100000 };
  char *text = test_array(64 + 2 * TERMS, 1);
  strcpy(text, "[problem]\nforcing = x");
  for (int i = 0; i < TERMS; i++) memcpy(text + 21 + 2 * i, "+x", 2);
  sp_config *config = read_case(text, NULL);
  if (config) CHECK_TEXT(config->statement.all.forcing.text, text + 20);
  sp_config_destroy(&config);

  char shown[SP_SHOWN_SIZE];
  char umlauts[256];
  for (int shift = 0; shift < 2; shift++) {
    memset(umlauts, 'x', 2);
    for (int i = 0; i < 80; i++) memcpy(umlauts + shift + 2 * i, "\xC3\xA4", 3);
    sp_ini_show(umlauts, shown);
    const size_t length = strlen(shown);
    CHECK(length < SP_SHOWN_SIZE && length > 3, "length %zu", length);
    CHECK(shown[length - 4] == '\xA4', "cut within a character: '%s'", shown);
  }
}

/* Values that need quotes are written with them. */
static void test_quotes(void) {
  AUTO(sp_config)
  config = read_case(
      "[mesh]\nfile = \"run #3/a.msh\"\n",
      TEXTS("output.log=out #1/a.h5", "output.field=\"a #2.hdf\"", "boundary.a=periodic b ;c"));
  if (!config) return;
  CHECK_TEXT(config->mesh.file, "run #3/a.msh");
  CHECK_TEXT(config->output.log, "out #1/a.h5");
  CHECK_TEXT(config->output.field, "a #2.hdf");
  CHECK_TEXT(config->statement.boundary.entries[0].partner, "b ;c");
  check_round_trip(config);
}

static void test_overrides(void) {
  static const char text[] = "[mesh]\nrefine = 1\n[boundary]\nleft = neumann x\nright = neumann "
                             "y\n[problem]\nforcing = x\n[output]\nfield = a.hdf";
  AUTO(sp_config) config = read_case(text, TEXTS("mesh.refine=2", " mesh . refine = 3 "));
  if (config) CHECK(config->mesh.refine == 3, "refine %d", config->mesh.refine);
  sp_config_destroy(&config);

  config = read_case(text, TEXTS("boundary.left=dirichlet 0", "boundary.a. b=neumann 1",
                                 "problem.forcing=", "output.field="));
  if (config) {
    CHECK(config->statement.boundary.count == 3, "%d groups", config->statement.boundary.count);
    if (config->statement.boundary.count == 3) {
      const sp_boundary_entry *entries = config->statement.boundary.entries;
      CHECK_TEXT(entries[0].group, "left");
      CHECK_TEXT(entries[0].type->name, "dirichlet");
      CHECK_TEXT(entries[0].formula.text, "0");
      CHECK_TEXT(entries[0].formula.where, "argument 'boundary.left=dirichlet 0'");
      CHECK_TEXT(entries[1].group, "right");
      CHECK_TEXT(entries[1].formula.where, "case.ini:5: boundary.right");
      CHECK_TEXT(entries[2].group, "a. b");
    }
    CHECK_TEXT(config->statement.all.forcing.text, NULL);
    CHECK_TEXT(config->output.field, "");
    CHECK_TEXT(config->output.log, "run.h5");
  }
  sp_config_destroy(&config);

  config =
      read_case(NULL, TEXTS("problem.solution=sin(pi*x)*sin(pi*y)*sin(pi*z) + x^2*y^2*z^2 + 1"));
  if (config) {
    CHECK_TEXT(config->statement.all.solution.text,
               "sin(pi*x)*sin(pi*y)*sin(pi*z) + x^2*y^2*z^2 + 1");
    CHECK_TEXT(config->statement.all.solution.where,
               "argument 'problem.solution=sin(pi*x)*sin(pi*y)*sin(pi*z) + x^2*y^2*z^2...'");
  }
}

/* An empty override undoes a value from the file or an earlier argument. */
static void test_unset(void) {
  static const char text[] =
      "[mesh]\nfile = a.msh\n[discretization]\norder = 3\n[problem]\nlambda = 2\n[boundary]\nleft "
      "= neumann 1\nright = neumann 2\ndefault = robin 3\n[solver]\npreconditioner = "
      "jacobi\n[probe]\na = 1 2 3\nb = 4 5 6\n";
  static const char *const arguments[] = {
      "mesh.file=",      "mesh.elements=2 2 2", "mesh.elements=",    "discretization.order=",
      "problem.lambda=", "boundary.left=",      "boundary.default=", "solver.preconditioner=",
      "probe.a=",        "probe.none=",         "boundary.none=",    "boundary.right="};
  enum { ARGUMENTS = COUNT_OF(arguments) };
  AUTO(sp_config) config = NULL;
  write_text("unset.ini", text);
  CHECK_OK(sp_config_read(MPI_COMM_WORLD, "unset.ini", ARGUMENTS - 1, arguments, &config));
  if (!config) return;
  CHECK(config->statement.boundary.count == 1, "%d groups", config->statement.boundary.count);
  CHECK_TEXT(config->statement.boundary.entries[0].group, "right");
  CHECK_TEXT(config->statement.boundary.fallback.type->name, "dirichlet");
  CHECK(config->wanted.probes.count == 1, "%d probes", config->wanted.probes.count);
  CHECK_TEXT(config->wanted.probes.entries[0].name, "b");
  sp_config_destroy(&config);

  CHECK_OK(sp_config_read(MPI_COMM_WORLD, "unset.ini", ARGUMENTS, arguments, &config));
  if (!config) return;
  CHECK(!config->statement.boundary.fallback.where && config->statement.boundary.count == 0,
        "boundary is still given");
  CHECK(!sp_config_where(config, "problem", "lambda"), "lambda is still given");
  CHECK(config->statement.order == 7 && config->solver.preconditioner == SP_PRECONDITIONER_AUTO &&
            !config->mesh.file,
        "defaults");
  CHECK(config->mesh.box.elements[0] == 8, "elements %d", config->mesh.box.elements[0]);
}

static void check_unreadable(const char *path, sp_status expected, const char *message) {
  sp_config *config = NULL;
  const sp_status status = sp_config_read(MPI_COMM_WORLD, path, 0, NULL, &config);
  CHECK(status == expected && !config, "status %d of %s", (int)status, path);
  CHECK_TEXT(sp_error_message(), message);
}

static void test_files(void) {
  check_unreadable("none.ini", SP_ERR_SYSTEM, "none.ini: cannot open: No such file or directory");
  check_unreadable("sub", SP_ERR_SYSTEM, "sub: cannot read: Is a directory");
  if (geteuid() != 0) { /* root can read any file */
    write_text("case.ini", "");
    if (world_rank == 0) CHECK(chmod("case.ini", 0) == 0, "chmod");
    check_unreadable("case.ini", SP_ERR_SYSTEM, "case.ini: cannot open: Permission denied");
    if (world_rank == 0) CHECK(chmod("case.ini", 0600) == 0, "chmod");
  }
  /* One byte more than the limit, as a hole; then the size is reported, not the NUL bytes. */
  write_text("case.ini", "");
  const off_t limit = 16 * 1024 * 1024;
  if (world_rank == 0) CHECK(truncate("case.ini", limit + 1) == 0, "truncate");
  check_unreadable("case.ini", SP_ERR_INPUT,
                   "case.ini: larger than 16 MiB, too large for a case file");
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0) CHECK(truncate("case.ini", limit) == 0, "truncate");
  check_unreadable("case.ini", SP_ERR_INPUT, "case.ini:1: NUL byte; expected UTF-8 text");
}

int main(int argc, char **argv) {
  begin_cases(&argc, &argv);
  test_syntax();
  test_bytes();
  test_quotes();
  test_overrides();
  test_files();
  test_unset();
  return end_cases();
}
