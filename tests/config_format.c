/* Cases written and read back are the same. Random ones are those of tests/fuzz/case.c. */
#define _POSIX_C_SOURCE 200809L

#include "tests/config_case.h"

static void test_lines_and_probes(void) {
  sp_config *config = read_case("[line]\nacross it = 0 1 -2.5,1e-3 0.1 7 ,  11\n"
                                "[probe]\ntip of it = 0 1 -2.5\nroot = 0.1 0 0\n",
                                TEXTS("line.b=0 0 0, 1 1 1, 2", "probe.root=3 2 1"));
  if (!config) return;
  const sp_line_entry *line = config->lines.entries;
  CHECK(config->lines.count == 2 && line->samples == 11 && line[1].samples == 2, "lines");
  CHECK_TEXT(line->name, "across it");
  CHECK(line->ends[0][2] == -2.5 && line->ends[1][0] == 1e-3 && line->ends[1][2] == 7, "ends");
  const sp_probe_entry *probe = config->probes.entries;
  CHECK(config->probes.count == 2 && probe->point[2] == -2.5 && probe[1].point[0] == 3, "points");
  CHECK_TEXT(probe->name, "tip of it");
  CHECK_TEXT(probe->where, "case.ini:4: probe.tip of it");
  CHECK_TEXT(probe[1].name, "root");
  check_round_trip(config);
  sp_config_destroy(&config);
}

static void test_results(void) {
  static const struct {
    const char *value, *message;
  } wrong[] = {
      {"integral u^2 over left",
       "expected of FORMULA, over GROUP, or nothing, found 'u^2 over left' after 'integral'"},
      {"average overleft",
       "expected of FORMULA, over GROUP, or nothing, found 'overleft' after 'average'"},
      {"norm of", "expected a formula after 'of', found nothing"},
      {"norm of over left", "expected a formula after 'of', found nothing"},
      {"norm of u over", "expected a group after 'over', found nothing"},
      {"flux of u over left", "a flux is that of u: expected flux over GROUP"},
      {"resistance", "expected resistance over GROUP, OTHER, from where heat flows to where"},
      {"resistance over left",
       "expected resistance over GROUP, OTHER, from where heat flows to where"},
      {"resistance over left,",
       "expected resistance over GROUP, OTHER, from where heat flows to where"},
      {"resistance over left, left", "expected resistance over two groups, found 'left' twice"},
      {"resistance over surface left, right",
       "expected resistance over GROUP, OTHER, from where heat flows to where"},
      {"resistance of u over left, right",
       "expected resistance over GROUP, OTHER, found a formula"},
      {"maximum over", "expected a group after 'over', found nothing"},
      {"flux", "a flux goes through a surface: expected flux over GROUP"},
      {"flux left", "expected over GROUP, found 'left' after 'flux'"},
      {"flux over volume core",
       "a flux goes through a surface: expected flux over GROUP, found a volume"},
      {"mean over left", "expected integral, average, minimum, maximum, norm, resistance or flux, "
                         "found 'mean over left'"},
  };
  for (size_t w = 0; w < COUNT_OF(wrong); w++) {
    const char *text = test_text("[result]\na = integral\nheat = %s\n", wrong[w].value);
    const char *message = test_text("case.ini:3: result.heat: %s", wrong[w].message);
    check_error(text, NULL, message);
  }
  check_error("[result]\nheat = integral\nheat = average\n", NULL,
              "case.ini:3: key 'heat' of [result] is already given in line 2");
  sp_config *config = read_case(
      "[result]\nheat = flux over the left side\nmean = average\nlow = minimum over surface 3\n"
      "odd = norm over volume\nall = integral over\tvolume  core\n"
      "heavy = average of u * x ?  1 : z  over of over over\nwhole = norm of\tu^2\n"
      "of = integral over of\nchip, to air = resistance over chip, top , air\n",
      TEXTS("result.mean=maximum over volume 2", "result.heat="));
  if (config) {
    static const sp_result_entry expected[] = {
        {"mean", NULL, SP_RESULT_MAXIMUM, SP_OVER_VOLUME, NULL, "2", NULL},
        {"low", NULL, SP_RESULT_MINIMUM, SP_OVER_SURFACE, NULL, "3", NULL},
        {"odd", NULL, SP_RESULT_NORM, SP_OVER_GROUP, NULL, "volume", NULL},
        {"all", NULL, SP_RESULT_INTEGRAL, SP_OVER_VOLUME, NULL, "core", NULL},
        {"heavy", NULL, SP_RESULT_AVERAGE, SP_OVER_GROUP, "u * x ?  1 : z", "of over over", NULL},
        {"whole", NULL, SP_RESULT_NORM, SP_OVER_DOMAIN, "u^2", NULL, NULL},
        {"of", NULL, SP_RESULT_INTEGRAL, SP_OVER_GROUP, NULL, "of", NULL},
        {"chip, to air", NULL, SP_RESULT_RESISTANCE, SP_OVER_GROUP, NULL, "chip, top", "air"}};
    enum { COUNT = COUNT_OF(expected) };
    CHECK(config->results.count == COUNT, "%d results", config->results.count);
    for (int r = 0; r < COUNT && r < config->results.count; r++) {
      const sp_result_entry *entry = &config->results.entries[r];
      CHECK_TEXT(entry->name, expected[r].name);
      CHECK_TEXT(entry->formula, expected[r].formula);
      CHECK_TEXT(entry->group, expected[r].group);
      CHECK_TEXT(entry->other, expected[r].other);
      CHECK(entry->kind == expected[r].kind && entry->over == expected[r].over, "%s: %d, %d",
            entry->name, (int)entry->kind, (int)entry->over);
    }
    check_round_trip(config);
  }
  sp_config_destroy(&config);
}

static void test_round_trip(void) {
  sp_config *config = read_case(NULL, NULL);
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
    CHECK(config->mesh.lower[0] == 0.1 + 0.2 && config->mesh.lower[1] == 1.0 / 3.0, "digits");
    check_round_trip(config);
  }
  sp_config_destroy(&config);

  /* Files are relative to the folder of the case; a written case can be moved. */
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0)
    write_bytes("sub/case.ini", "[mesh]\nfile = ../a.msh\n[problem]\ninitial = a.hdf", 48);
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
    CHECK_TEXT(config->problem.initial.text, files[f].initial);
    check_round_trip(config);
    sp_config_destroy(&config);
  }
}

int main(int argc, char **argv) {
  begin_cases(&argc, &argv);
  test_lines_and_probes();
  test_results();
  test_round_trip();
  return end_cases();
}
