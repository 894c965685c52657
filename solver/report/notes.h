/* Notes: facts that a user should know about a case besides its results, as values. A note is one
 * row of one table in notes.c: a name and a function that finds it. The report of a run or a study
 * (solver/report/report.h) collects, prints and records them. */
#pragma once

#include "solver/config/config.h"
#include "solver/problem/dirichlet.h"
#include "solver/problem/interfaces.h"
#include "solver/problem/null_space.h"
#include "solver/problem/source.h"
#include "solver/results/resolution.h"

enum { SP_NOTE_NUMBERS = 3 };

typedef struct sp_note {
  const char *name; /* of its type */
  char text[1000];  /* one line */
  int count;
  struct {
    const char *name;
    double value;
  } numbers[SP_NOTE_NUMBERS]; /* [count] */
} sp_note;

/* Facts that notes are made from. Zeros: no note. */
typedef struct sp_note_facts {
  const sp_config *config; /* after all formulas have been parsed */
  const sp_problem *problem;
  const sp_mesh *mesh;
  int parts;      /* connected parts of the mesh */
  sp_gid tied;    /* free DOFs that bodies without common faces share */
  sp_gid pinched; /* edges at which parts touch (sp_problem_count_pinched) */
  sp_source_integral source, faces[SP_FACE_DATA];
  sp_forcing_difference forcing;
  sp_data_jump jump;
  sp_defect defect;
  sp_interface_jumps jumps; /* of an exact solution that does not fit the materials */
  double magnification;     /* of errors of the data, by a mean that only lambda and alpha determine
                               (sp_null_space.magnification) */
  bool rounding;            /* it hides the rest of the residual */
  double flux_error;        /* that the tolerance allows, relative to the heat that flows */
  sp_resolution resolution; /* of the solution, whose range is below */
  double range;
} sp_note_facts;

/* An element is too coarse if its indicator is above this part of the range of u. */
#define SP_NOTE_COARSE 0.01

/* `find` sets text and numbers of a note that is zero otherwise; false if there is none. Local. */
typedef struct sp_note_type {
  const char *name;
  bool (*find)(const sp_note_facts *facts, sp_note *note);
} sp_note_type;

/* The first types need only the mesh, the next ones also config, others the problem. */
enum { SP_NOTES_OF_FIT = 4, SP_NOTES_OF_MESH = 12, SP_NOTES = 34 };
extern const sp_note_type sp_note_types[SP_NOTES];
