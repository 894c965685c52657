#include "solver/run/report_notes.h"

#include "solver/problem/groups.h"

static void note_parts(sp_terminal *t, const sp_notes *notes) {
  if (notes->parts < 2) return;
  sp_terminal_print(t, "  %-16s the mesh has %d parts that share no nodes", "note", notes->parts);
  if (notes->contacts > 0)
    sp_terminal_print(t,
                      "; %lld pair%s of exterior faces coincide, and nothing flows through\n"
                      "  %-16s them (gmsh: merge the parts with Coherence or BooleanFragments)",
                      (long long)notes->contacts, notes->contacts == 1 ? "" : "s", "");
  sp_terminal_print(t, "\n");
}

/* Without a line for any group the default is the condition of the whole boundary. */
static void note_default(sp_terminal *t, const sp_problem *problem, const sp_hexes *hexes) {
  char names[400];
  if (problem->part_count < 2) return;
  sp_groups_list(hexes->group_count, hexes->groups, problem->groups_by_default, sizeof names,
                 names);
  if (names[0])
    sp_terminal_print(
        t, "  %-16s no line of [boundary] names these groups, they take default = %s: %s\n", "note",
        sp_condition_name(problem->parts[problem->part_count - 1].condition), names);
}

void sp_report_notes(sp_terminal *terminal, const sp_problem *problem, const sp_hexes *hexes,
                     const sp_notes *notes) {
  note_parts(terminal, notes);
  note_default(terminal, problem, hexes);
}
