/* Iterations on thin layers that end, cross or touch a stiff body only by an edge. */
#include "tests/folders.h"
#include "tests/mesh_files.h"
#include "tests/run_case.h"

/* Dies on every other column of a board: each touches the columns beside it only by an edge, and
 * any cut between ranks separates a column from a die. Two ranks that ignore each other's dies take
 * 17 iterations at order 2, and 11 at order 4. */
static void check_remote_ties(void) {
  static const char geometry[] =
      "For i In {1:5}\n  Point(i) = {5 * i, 0, 0};\nEndFor\n"
      "For i In {1:4}\n  Line(i) = {i, i + 1};\nEndFor\nTransfinite Curve{1:4} = 2;\n"
      "s[] = Extrude {0, 5, 0} { Curve{1:4}; Layers{1}; Recombine; };\n"
      "b[] = Extrude {0, 0, 1.6} { Surface{s[1], s[5], s[9], s[13]}; Layers{1}; Recombine; };\n"
      "c[] = Extrude {0, 0, 0.035} { Surface{b[0], b[6], b[12], b[18]}; Layers{1}; Recombine; };\n"
      "d[] = Extrude {0, 0, 0.5} { Surface{c[6], c[18]}; Layers{1}; Recombine; };\n"
      "Physical Volume(\"board\") = {b[1], b[7], b[13], b[19]};\n"
      "Physical Volume(\"copper\") = {c[1], c[7], c[13], c[19]};\n"
      "Physical Volume(\"die\") = {d[1], d[7]};\n";
  write_text("board.geo", geometry);
  for (int order = 2; order <= 4; order += 2) {
    const char *const overrides[] = {
        "mesh.file=board.geo; boundary.default=robin 1e-5, 0; problem.forcing=0",
        "material.board.kappa=3e-4; material.copper.kappa=0.39; material.die.kappa=0.15",
        test_text("material.die.forcing=1; discretization.order=%d", order), NULL};
    sp_results alone;
    CHECK_OK(run_case(MPI_COMM_SELF, NULL, overrides, &alone));
    const sp_results results = run_good(overrides, NULL);
    CHECK(alone.cg.iterations <= 8 && labs(results.cg.iterations - alone.cg.iterations) <= 1,
          "order %d: %ld iterations, %ld on one rank", order, (long)results.cg.iterations,
          (long)alone.cg.iterations);
  }
}

/* Check that CG takes at most `most` iterations. */
static void check_iterations(int most, int order, const char *const *settings) {
  const sp_results results = run_good(settings, TEXTS(test_text("discretization.order=%d", order)));
  CHECK(results.cg.iterations <= most, "%s, order %d: %ld iterations", settings[0], order,
        (long)results.cg.iterations);
}

/* Weights of columns do not jump along their lines: kappa is 10 in half of one layer of a thin
 * plate, and in the other half of the other layer. Otherwise order 2 takes 77 iterations, and order
 * 4 59. */
static void check_crossed_layers(void) {
  for (int order = 2; order <= 4; order += 2)
    check_iterations(
        20, order,
        TEXTS("mesh.elements=4 4 4; mesh.upper=3 3 0.02; region.a.upper=1.5 3 0.01; "
              "region.b.lower=1.5 0 0.01; material.a.kappa=10; material.b.kappa=10",
              "boundary.default=neumann 0; boundary.xmax=dirichlet 0; problem.forcing=1"));
}

/* A thin sheet on a body, whose side is fixed for a third of its width, while the sheet is fixed on
 * top of another third: Dirichlet nodes of lines count one by one. Otherwise order 2 takes 73
 * iterations, and order 4 86. */
static void check_patches(void) {
  static const char geometry[] =
      "For i In {1:4}\n"
      "  Point(i) = {0, 0, i};\n"
      "EndFor\n"
      "For i In {1:3}\n"
      "  Line(i) = {i, i + 1};\n"
      "EndFor\n"
      "Transfinite Curve{1:3} = 2;\n"
      "s[] = Extrude {3, 0, 0} { Curve{1:3}; Layers{3}; Recombine; };\n"
      "b[] = Extrude {0, 0.5, 0} { Surface{s[1], s[5], s[9]}; Layers{1}; Recombine; };\n"
      "c[] = Extrude {0, 0.002, 0} { Surface{b[0], b[6], b[12]}; Layers{1}; Recombine; };\n"
      "Physical Volume(\"body\") = {b[1], b[7], b[13]};\n"
      "Physical Volume(\"sheet\") = {c[1], c[7], c[13]};\n"
      "Physical Surface(\"side\") = {b[2]};\n"
      "Physical Surface(\"top\") = {c[12]};\n";
  write_text("sheet.geo", geometry);
  for (int order = 2; order <= 4; order += 2)
    check_iterations(
        10, order,
        TEXTS("mesh.file=sheet.geo; material.sheet.kappa=10; problem.forcing=1",
              "boundary.default=neumann 0; boundary.side=dirichlet 0; boundary.top=dirichlet 0"));
}

/* Two sheets that cross, of thickness t and kappa k, between bodies. Only the elements at the line
 * have all nodes of the cross-section there, which is why they have priority in the weights.
 * Measured: 14 iterations at most. */
static void check_crossing_sheets(double t, const char *k, int order) {
  write_text(
      "crossing.geo",
      test_text("t = %g;\nPoint(1) = {0, 0, 0};\nPoint(2) = {1, 0, 0};\n"
                "Point(3) = {1 + t, 0, 0};\nPoint(4) = {2 + t, 0, 0};\n"
                "For i In {1:3}\n  Line(i) = {i, i + 1};\nEndFor\n"
                "Transfinite Curve{1:3} = 2;\n"
                "a[] = Extrude {0, 1, 0} { Curve{1:3}; Layers{1}; Recombine; };\n"
                "b[] = Extrude {0, t, 0} { Curve{a[0], a[4], a[8]}; Layers{1}; Recombine; };\n"
                "c[] = Extrude {0, 1, 0} { Curve{b[0], b[4], b[8]}; Layers{1}; Recombine; };\n"
                "s[] = {a[1], a[5], a[9], b[1], b[5], b[9], c[1], c[5], c[9]};\n"
                "v[] = Extrude {0, 0, 1} { Surface{s[]}; Layers{1}; Recombine; };\n"
                "Physical Volume(\"bodies\") = {v[1], v[13], v[37], v[49]};\n"
                "Physical Volume(\"sheets\") = {v[7], v[19], v[25], v[31], v[43]};\n"
                "Physical Surface(\"bottom\") = {s[]};\n",
                t));
  check_iterations(
      16, order,
      TEXTS(test_text("material.sheets.kappa=%s; mesh.file=crossing.geo; problem.forcing=1; "
                      "boundary.bottom=dirichlet 0; boundary.default=neumann 0",
                      k)));
}

/* A thin layer between two bodies that are fixed all around, or one of them, while its rim is free:
 * the edges hold the elements of the layer. Otherwise order 2 takes 19 to 61 iterations, and order
 * 6 41 to 597. Measured: 16 at most. */
static void check_glue(const char *kappa, int order) {
  static const char *const fixed[] = {"boundary.a=dirichlet 0; boundary.c=dirichlet 0",
                                      "boundary.a=dirichlet 0"};
  write_text("glue.geo", "Point(1) = {0, 0, 0};\n"
                         "l[] = Extrude {0, 1, 0} { Point{1}; Layers{2}; };\n"
                         "s[] = Extrude {0, 0, 1} { Curve{l[1]}; Layers{2}; Recombine; };\n"
                         "a[] = Extrude {1, 0, 0} { Surface{s[1]}; Layers{1}; Recombine; };\n"
                         "b[] = Extrude {0.001, 0, 0} { Surface{a[0]}; Layers{1}; Recombine; };\n"
                         "c[] = Extrude {1, 0, 0} { Surface{b[0]}; Layers{1}; Recombine; };\n"
                         "Physical Volume(\"bodies\") = {a[1], c[1]};\n"
                         "Physical Volume(\"glue\") = {b[1]};\n"
                         "Physical Surface(\"a\") = {s[1], a[2], a[3], a[4], a[5]};\n"
                         "Physical Surface(\"c\") = {c[0], c[2], c[3], c[4], c[5]};\n");
  for (size_t i = 0; i < COUNT_OF(fixed); i++)
    check_iterations(i == 0 ? 12 : 18, order,
                     TEXTS(test_text("material.glue.kappa=%s; mesh.file=glue.geo; "
                                     "problem.forcing=1; boundary.default=neumann 0",
                                     kappa),
                           fixed[i]));
}

/* An element that stiff elements hold by edges, while its neighbours over faces hardly do. If its
 * block does not have these ties, order 2 takes 39 iterations, and order 4 28. Measured: 8. */
static void check_ties(void) {
  for (int order = 2; order <= 4; order += 2)
    check_iterations(
        10, order,
        TEXTS("mesh.elements=4 4 4; mesh.upper=4 4 4; region.a.lower=1 1 1; region.a.upper=2 2 2; "
              "region.b.lower=0 0 1; region.b.upper=1 1 2; region.c.lower=2 2 1; "
              "region.c.upper=3 3 2; region.d.lower=3 0 0; region.d.upper=4 1 4; "
              "problem.kappa=1e-3; material.a.kappa=1; material.b.kappa=1e3; "
              "material.c.kappa=1e3; material.d.kappa=30; boundary.xmin=dirichlet 0; "
              "boundary.default=neumann 0; problem.forcing=1; solver.smoother=schwarz"));
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  enter_folder();
  check_remote_ties();
  check_crossed_layers();
  for (double t = 0.01; t > 5e-4; t /= 10)
    for (int order = 2; order <= 6; order += 2) {
      check_crossing_sheets(t, "1", order);
      check_crossing_sheets(t, "1e3", order);
    }
  for (int order = 2; order <= 6; order += 2) {
    check_glue("1", order);
    check_glue("1e4", order);
  }
  check_ties();
  check_patches();
  leave_folder(TEXTS("board.geo", "crossing.geo", "sheet.geo", "glue.geo"));
  return check_end();
}
