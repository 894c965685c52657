/* [constants], [material NAME], [region NAME], [probe], [line] and [result]: in files, as
 * arguments; and cases written and read back are the same. Random cases are in
 * tests/fuzz/case.c. */
#define _POSIX_C_SOURCE 200809L
#include <float.h>

#include "tests/config_case.h"

static void test_materials(void) {
  AUTO(sp_config)
  config = read_case("[material steel 1.5]\nkappa = 50*x # stiff\nsolution = y\n"
                     "[problem]\nkappa = 2\n[material default]\nforcing = z\n[material\t 7 ]\n",
                     TEXTS("material.steel 1.5.lambda=3", "material. 7 .kappa = 4",
                           "material.steel 1.5.solution=", "material.new.forcing=1"));
  if (!config) return;
  CHECK(config->statement.materials.count == 4, "%d materials", config->statement.materials.count);
  if (config->statement.materials.count == 4) {
    const sp_material_entry *m = config->statement.materials.entries;
    const char *const texts[][2] = {
        {m[0].name, "steel 1.5"},
        {m[0].where, "case.ini:1: [material steel 1.5]"},
        {m[0].kappa.text, "50*x"},
        {m[0].kappa.where, "case.ini:2: material.steel 1.5.kappa"},
        {m[0].lambda.text, "3"},
        {m[0].lambda.where, "argument 'material.steel 1.5.lambda=3'"},
        {m[0].solution.text, NULL},
        {m[1].name, "default"},
        {m[1].forcing.text, "z"},
        {m[1].kappa.text, NULL},
        {m[2].name, "7"},
        {m[2].kappa.text, "4"},
        {m[3].name, "new"},
        {m[3].where, "argument 'material.new.forcing=1': [material new]"}};
    for (size_t t = 0; t < COUNT_OF(texts); t++) CHECK_TEXT(texts[t][0], texts[t][1]);
  }
  check_round_trip(config);
}

static void test_regions(void) {
  static const char text[] = "[mesh]\nlower = -1 0 0\nupper = 3 1 2\n"
                             "[region a b]\nupper = 0.1 1 1\n[region c.d]\nlower = 1 0 0\n";
  AUTO(sp_config) config = read_case(text, TEXTS("region.c.d.upper=2 2 2", "region.c.d.lower="));
  if (!config) return;
  CHECK(config->mesh.regions.count == 2, "%d regions", config->mesh.regions.count);
  if (config->mesh.regions.count == 2) {
    const sp_box_region *r = config->mesh.regions.entries;
    CHECK_TEXT(r[0].name, "a b");
    CHECK_TEXT(r[0].where, "case.ini:4: [region a b]");
    CHECK(r[0].lower[0] == -1 && r[0].lower[2] == 0 && r[0].upper[0] == 0.1, "corners");
    CHECK_TEXT(r[1].name, "c.d");
    CHECK(r[1].lower[0] == -1 && r[1].upper[2] == 2, "corners");
  }
  check_round_trip(config);
}

/* Values of constants: an override of one changes later ones. */
static void test_constants(void) {
  AUTO(sp_config)
  config =
      read_case("[problem]\nforcing = h*x\n[constants]\nh = 10\nTamb_2 = 2*h + 1e-3 # K\nk = h^2 - "
                "Tamb_2\nd = 1",
                TEXTS("constants.h=20", "constants.d=", "constants.new=k"));
  static const struct {
    const char *name;
    double value;
    bool used;
  } expected[] = {
      {"h", 20, true}, {"Tamb_2", 40.001, true}, {"k", 359.999, true}, {"new", 359.999, false}};
  if (!config) return;
  CHECK(config->statement.scope->count == 4, "%d constants", config->statement.scope->count);
  for (int i = 0; i < 4 && config->statement.scope->count == 4; i++) {
    const sp_constant *constant = &config->statement.scope->constants[i];
    CHECK_TEXT(constant->name, expected[i].name);
    CHECK_CLOSE(constant->value, expected[i].value, 4 * DBL_EPSILON * expected[i].value);
    CHECK(constant->used == expected[i].used, "%s: used", constant->name);
  }
  check_round_trip(config);
}

#define BAD_NAME                                                                                   \
  "expected a name of letters, digits and _ that begins with no digit and means nothing else in "  \
  "formulas (as x, u, e, sin do)"

#define NO_VOLUME                                                                                  \
  "expected the name of a Physical Volume: [material NAME] in a file, material.NAME.KEY=VALUE as " \
  "an argument"
#define NO_REGION                                                                                  \
  "expected the name of the region: [region NAME] in a file, region.NAME.KEY=VALUE as an argument"
#define NO_NUMBER "expected a finite number or a formula of the constants above it, found "

static void test_errors(void) {
  static const struct {
    const char *text, *override, *message;
  } errors[] = {
      {"[constants]\nx = 1", NULL, "case.ini:2: constants.x: " BAD_NAME},
      {"[constants]\nif = 3", NULL, "case.ini:2: constants.if: " BAD_NAME},
      {NULL, "constants.a b=1", "argument 'constants.a b=1': " BAD_NAME},
      {"[constants]\nh =", NULL, "case.ini:2: constants.h: expected a formula, found nothing"},
      {"[constants]\nh = 1 +", NULL,
       "case.ini:2: constants.h: column 4: expected a number, a name or '(', found end of formula"},
      {"[constants]\nh = 1/0", NULL, "case.ini:2: constants.h: " NO_NUMBER "'1/0'"},
      {"[constants]\na = 1\nh = g\ng = 1", NULL,
       "case.ini:3: constants.h: column 1: unknown name 'g'; known names are x, y, z, pi, e, sin, "
       "cos, tan, asin, acos, atan, sinh, cosh, tanh, exp, log, log10, sqrt, cbrt, abs, erf, sign, "
       "floor, atan2, pow, min, max, if, table, a"},
      {"[constants]\nh = 1\nh = 2", NULL,
       "case.ini:3: key 'h' of [constants] is already given in line 2"},
      {"[mesh]\nscale = 2", NULL,
       "case.ini:2: mesh.scale: valid only with mesh.file; a box has its corners, lower and upper"},
      {"[material]\nkappa = 1", NULL, "case.ini:1: " NO_VOLUME},
      {NULL, "material.kappa=1", "argument 'material.kappa=1': " NO_VOLUME},
      {NULL, "region. .lower=0 0 0", "argument 'region. .lower=0 0 0': " NO_REGION},
      {NULL, "material a.kappa=1", "argument 'material a.kappa=1': " NO_VOLUME},
      {NULL, "material.a]b.kappa=1",
       "argument 'material.a]b.kappa=1': a case cannot hold a [material] whose name contains ']'"},
      {"[material a\tb]\nkappa = 1", NULL,
       "case.ini:1: the name of a [material] contains a control character"},
      {NULL, "region.a\177.lower=0 0 0",
       "argument 'region.a?.lower=0 0 0': the name of a [region] contains a control character"},
      {"[regions]\na\177b = 0 0 0, 1 1 1", NULL,
       "case.ini:2: regions.a?b: the name of a [region] contains a control character"},
      {NULL, "regions.a]=0 0 0, 1 1 1",
       "argument 'regions.a]=0 0 0, 1 1 1': a case cannot hold a [region] whose name contains ']'"},
      {"[material a]\nkappa =  # later", NULL,
       "case.ini:2: material.a.kappa: expected a formula, found nothing; remove the line to take "
       "problem.kappa"},
      {"[material a]\n\nkapa = 1", NULL,
       "case.ini:3: unknown key 'kapa' in [material]; did you mean 'kappa'?"},
      {NULL, "material.a.b=1",
       "argument 'material.a.b=1': unknown key 'b' in [material]; known are kappa, axes, lambda, "
       "capacity, solution, forcing, source"},
      {"[materials a]\nkappa = 1", NULL,
       "case.ini:1: unknown section [materials a]; did you mean [material]?"},
      {"[material a]\nkappa = 1\n[material b]\nkappa = 2\n[material   a]\nkappa = 2", NULL,
       "case.ini:6: key 'kappa' of [material   a] is already given in line 2"},
      {"[region a]\nlower = 0 0", NULL,
       "case.ini:2: region.a.lower: expected 3 numbers, found '0 0'"},
      {"[region a]\nlower = 0 0.5 0\nupper = 1 0.5 1", NULL,
       "case.ini:1: [region a]: expected upper above lower, found 0.5 to 0.5 in y"},
      {"[region default]\nupper = 1 1 1", NULL,
       "case.ini:1: [region default]: expected another name: [material default] is for elements "
       "that no other section names"},
      {"[region 2]\nupper = 1 1 1", NULL,
       "case.ini:1: [region 2]: expected another name: numbers belong to the regions in the "
       "order of the case"},
      {"[region a]\nlower = 0 0 0", "mesh.file=a.msh",
       "case.ini:1: [region a]: only a box has regions, but mesh.file is given: use the Physical "
       "Volumes of the mesh"},
  };
  for (size_t e = 0; e < COUNT_OF(errors); e++)
    check_error(errors[e].text, TEXTS(errors[e].override), errors[e].message);
}

static void test_lines_and_probes(void) {
  AUTO(sp_config)
  config = read_case("[line]\nacross it = 0 1 -2.5,1e-3 0.1 7 ,  11\n"
                     "[probe]\ntip of it = 0 1 -2.5\nroot = 0.1 0 0\n",
                     TEXTS("line.b=0 0 0, 1 1 1, 2", "probe.root=3 2 1"));
  if (!config) return;
  const sp_line_entry *line = config->wanted.lines.entries;
  CHECK(config->wanted.lines.count == 2 && line->samples == 11 && line[1].samples == 2, "lines");
  CHECK_TEXT(line->name, "across it");
  CHECK(line->ends[0][2] == -2.5 && line->ends[1][0] == 1e-3 && line->ends[1][2] == 7, "ends");
  const sp_probe_entry *probe = config->wanted.probes.entries;
  CHECK(config->wanted.probes.count == 2 && probe->point[2] == -2.5 && probe[1].point[0] == 3,
        "points");
  CHECK_TEXT(probe->name, "tip of it");
  CHECK_TEXT(probe->where, "case.ini:4: probe.tip of it");
  CHECK_TEXT(probe[1].name, "root");
  check_round_trip(config);
}

static void test_results(void) {
  static const struct {
    const char *value, *message;
  } wrong[] = {
      {"integral u^2 over left",
       "expected integral [of FORMULA] [over GROUP], found 'u^2 over left' after 'integral'"},
      {"average overleft",
       "expected average [of FORMULA] [over GROUP], found 'overleft' after 'average'"},
      {"norm of", "expected a formula after 'of', found nothing"},
      {"norm of over left", "expected a formula after 'of', found nothing"},
      {"norm of u over", "expected a group after 'over', found nothing"},
      {"flux of u over left", "expected flux over GROUP, found a formula"},
      {"resistance", "expected resistance over GROUP, OTHER [by SOURCE], from where heat flows to "
                     "where"},
      {"resistance over left", "expected resistance over GROUP, OTHER [by SOURCE], from where heat "
                               "flows to where"},
      {"resistance over left,", "expected resistance over GROUP, OTHER [by SOURCE], from where "
                                "heat flows to where"},
      {"resistance over left, left", "expected two groups, found 'left' twice"},
      {"resistance over surface left, surface left", "expected two groups, found 'left' twice"},
      {"resistance of u over left, right",
       "expected resistance over GROUP, OTHER [by SOURCE], found a formula"},
      {"maximum over", "expected a group after 'over', found nothing"},
      {"flux", "a flux goes through a surface: expected flux over GROUP"},
      {"flux left", "expected flux over GROUP, found 'left' after 'flux'"},
      {"flux over volume core",
       "a flux goes through a surface: expected flux over GROUP, found a volume"},
      {"mean over left",
       "expected integral, average, minimum, maximum, norm, resistance, flux or formula, "
       "found 'mean over left'"},
      {"(a-x)/2",
       "column 4: unknown name 'x'; known names are a, pi, e, sin, cos, tan, asin, acos, "
       "atan, sinh, cosh, tanh, exp, log, log10, sqrt, cbrt, abs, erf, sign, floor, "
       "atan2, pow, min, max, if, table"},
      {"integral a", "expected integral [of FORMULA] [over GROUP], found 'a' after 'integral'"},
      {"a a", "column 3: expected an operator or end of formula, found 'a'"},
      {"resistance over a, b by", "expected resistance over GROUP, OTHER [by SOURCE], from where "
                                  "heat flows to where"},
      {"resistance over b, c by b",
       "expected 'by' and one source of heat or result above, found 'b'; there are a"},
  };
  for (size_t w = 0; w < COUNT_OF(wrong); w++) {
    const char *text = test_text("[result]\na = integral\nheat = %s\n", wrong[w].value);
    const char *message = test_text("case.ini:3: result.heat: %s", wrong[w].message);
    check_error(text, NULL, message);
  }
  check_error("[result]\nheat = integral\nheat = average\n", NULL,
              "case.ini:3: key 'heat' of [result] is already given in line 2");
  AUTO(sp_config)
  config = read_case(
      "[result]\nheat = flux over the left side\nmean = average\nlow = minimum over surface 3\n"
      "odd = norm over volume\nall = integral over\tvolume  core\n"
      "heavy = average of u * x ?  1 : z  over of over over\nwhole = norm of\tu^2\n"
      "of = integral over of\nchip, to air = resistance over chip, top , air\n"
      "ends = resistance over volume 3 ,surface 3\nhalf = low / 2 - max(of, whole)\n"
      "by half = resistance over by, by by  by half\n",
      TEXTS("result.mean=maximum over volume 2", "result.heat="));
  if (!config) return;
  static const struct {
    const char *kind;
    sp_result_entry entry;
  } expected[] = {{"maximum", {.name = "mean", .over = SP_OVER_VOLUME, .group = "2"}},
                  {"minimum", {.name = "low", .over = SP_OVER_SURFACE, .group = "3"}},
                  {"norm", {.name = "odd", .over = SP_OVER_GROUP, .group = "volume"}},
                  {"integral", {.name = "all", .over = SP_OVER_VOLUME, .group = "core"}},
                  {"average",
                   {.name = "heavy",
                    .over = SP_OVER_GROUP,
                    .formula = {.text = "u * x ?  1 : z"},
                    .group = "of over over"}},
                  {"norm", {.name = "whole", .formula = {.text = "u^2"}}},
                  {"integral", {.name = "of", .over = SP_OVER_GROUP, .group = "of"}},
                  {"resistance",
                   {.name = "chip, to air",
                    .over = SP_OVER_GROUP,
                    .other_over = SP_OVER_GROUP,
                    .group = "chip, top",
                    .other = "air"}},
                  {"resistance",
                   {.name = "ends",
                    .over = SP_OVER_VOLUME,
                    .other_over = SP_OVER_SURFACE,
                    .group = "3",
                    .other = "3"}},
                  {"formula", {.name = "half", .formula = {.text = "low / 2 - max(of, whole)"}}},
                  {"resistance",
                   {.name = "by half",
                    .over = SP_OVER_GROUP,
                    .other_over = SP_OVER_GROUP,
                    .group = "by",
                    .other = "by by",
                    .by = "half"}}};
  enum { COUNT = COUNT_OF(expected) };
  CHECK(config->wanted.results.count == COUNT, "%d results", config->wanted.results.count);
  for (int r = 0; r < COUNT && r < config->wanted.results.count; r++) {
    const sp_result_entry *entry = &config->wanted.results.entries[r], *e = &expected[r].entry;
    CHECK_TEXT(entry->name, e->name);
    CHECK_TEXT(entry->formula.text, e->formula.text);
    CHECK_TEXT(entry->group, e->group);
    CHECK_TEXT(entry->other, e->other);
    CHECK_TEXT(entry->by, e->by);
    CHECK_TEXT(entry->type->name, expected[r].kind);
    CHECK(entry->over == e->over && entry->other_over == e->other_over, "%s: %d", entry->name,
          (int)entry->over);
  }
  check_round_trip(config);
}

static void test_round_trip(void) {
  AUTO(sp_config) config = read_case(NULL, NULL);
  if (config) check_round_trip(config);
  sp_config_destroy(&config);

  config = read_case(every_key, NULL);
  if (config) {
    check_round_trip(config);
    char *text = format(config);
    if (text) {
      CHECK(strstr(text, "\nlower = -1 -0.5 0.1\n"), "not the shortest numbers: %s", text);
      CHECK(strstr(text, "\n# file = \n") || strstr(text, "\nfile = \n"), "no file: %s", text);
    }
    free(text);
  }
  sp_config_destroy(&config);

  /* 0.1 + 0.2 needs 17 digits, 1/3 needs 16. */
  config = read_case(NULL, TEXTS("mesh.lower=0.30000000000000004 0.3333333333333333 -1e-310"));
  if (config) {
    CHECK(config->mesh.box.lower[0] == 0.1 + 0.2 && config->mesh.box.lower[1] == 1.0 / 3.0,
          "digits");
    check_round_trip(config);
  }
  sp_config_destroy(&config);

  /* Files are relative to the folder of the case; a written case can be moved. */
  write_text("sub/case.ini", "[mesh]\nfile = ../a.msh\n[problem]\ninitial = a.hdf");
  const struct {
    const char *path;
    const char *const override;
    const char *file, *initial;
  } files[] = {{"sub/case.ini", "mesh.refine=1", "sub/../a.msh", "sub/a.hdf"},
               {"sub/case.ini", "mesh.file=b.msh", "b.msh", "sub/a.hdf"},
               {"sub/case.ini", "mesh.file=/b.msh", "/b.msh", "sub/a.hdf"},
               {"sub/case.ini", "problem.initial=b.hdf", "sub/../a.msh", "b.hdf"},
               {"sub/case.ini", "problem.initial=x/2", "sub/../a.msh", "x/2"},
               {"./sub/case.ini", "mesh.refine=1", "./sub/../a.msh", "./sub/a.hdf"}};
  for (size_t f = 0; f < COUNT_OF(files); f++) {
    const sp_status status =
        sp_config_read(MPI_COMM_WORLD, files[f].path, 1, &files[f].override, &config);
    CHECK_OK(status);
    if (!config) continue;
    CHECK_TEXT(config->mesh.file, files[f].file);
    CHECK_TEXT(config->statement.initial.text, files[f].initial);
    check_round_trip(config);
    sp_config_destroy(&config);
  }
}

int main(int argc, char **argv) {
  begin_cases(&argc, &argv);
  test_materials();
  test_regions();
  test_constants();
  test_errors();
  test_lines_and_probes();
  test_results();
  test_round_trip();
  return end_cases();
}
