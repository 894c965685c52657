#include "solver/run/library.h"

#include <stdlib.h>
#include <string.h>

#include "solver/problem/boundary.h"
#include "solver/problem/linearize.h"
#include "solver/results/quantities.h"
#include "solver/solve/initial.h"
#include "solver/solve/interrupt.h"
#include "solver/solve/mesh.h"

const char *sp_case_message(void) {
  return sp_error_message();
}

/* ---- Opening ---- */

static sp_status add_keys(sp_case *c, int count, const char *const *keys) {
  if (count < 0 || (count > 0 && !keys))
    return sp_fail(SP_ERR_INPUT, "expected an array of %d keys", count);
  SP_TRY(sp_reserve((size_t)c->key_count, (size_t)count, sizeof *c->keys, "keys", &c->keys));
  for (int k = 0; k < count; k++) {
    char *key = NULL;
    if (!keys[k]) return sp_fail(SP_ERR_INPUT, "key %d is NULL", k);
    SP_TRY(sp_format(&key, "%s", keys[k]));
    c->keys[c->key_count++] = key;
  }
  return SP_OK;
}

static void drop_keys(sp_case *c, int count) {
  while (c->key_count > count) free(c->keys[--c->key_count]);
}

static sp_status parse_config(sp_case *c, sp_config **out) {
  return sp_config_parse(c->comm, c->text ? c->path : NULL, c->text, c->length, c->key_count,
                         (const char *const *)c->keys, out);
}

static void release_run(sp_running **run) {
  if (*run) sp_running_destroy(*run);
  free(*run);
  *run = NULL;
}

/* *out = a set-up for the configuration, on the mesh of the case. */
static sp_status set_up(sp_case *c, const sp_config *config, sp_running **out) {
  SP_TRY(sp_agree(c->comm, sp_allocate(1, sizeof **out, "case", out)));
  sp_running *run = *out;
  *run = sp_running_begin(&c->workers, c->mesh, config, &c->results);
  run->evaluates = true;
  if (c->rule == sp_library_rule(config)) memcpy(run->arrays, c->coefficients, sizeof run->arrays);
  if (config->time.end == 0) run->arrays[SP_CAPACITY] = NULL;
  run->on_iteration = sp_library_on_iteration;
  run->context = c;
  sp_status status = sp_initial_check(c->workers.comm, &config->statement);
  if (!status) status = sp_running_set_up(run);
  if (!status) status = sp_solver_make_free(run->solver);
  if (status) release_run(out);
  return status;
}

/* Scratch vectors and the initial iterate, of the space of the case. */
static sp_status make_vectors(sp_case *c) {
  const sp_space *space = c->run->solver->space;
  sp_status status = SP_OK;
  if (!c->in.data) status = sp_space_vector(space, SP_DOUBLE, &c->in);
  if (!c->out.data && !status) status = sp_space_vector(space, SP_DOUBLE, &c->out);
  if (c->run->initial && !status) status = sp_space_vector(space, SP_DOUBLE, &c->initial);
  if (c->run->initial && !status) status = sp_vector_write(c->run->initial, &c->initial);
  return sp_agree(c->comm, status);
}

static sp_status open_all(sp_case *c, int count, const char *const *keys) {
  SP_TRY(sp_agree(c->comm, add_keys(c, count, keys)));
  SP_TRY(parse_config(c, &c->config));
  SP_TRY(sp_workers_open(c->comm, &c->config->backend, &c->workers));
  if (c->workers.count < c->workers.ranks)
    return sp_fail(SP_ERR_INPUT,
                   "%d of %d ranks would have no elements: start one rank per GPU, or set "
                   "backend.share=yes",
                   c->workers.ranks - c->workers.count, c->workers.ranks);
  SP_TRY(sp_case_mesh(&c->workers, &c->config->mesh, &c->config->statement, &c->config->wanted,
                      &c->results.profile, &c->terminal, &c->mesh));
  SP_TRY(set_up(c, c->config, &c->run));
  return make_vectors(c);
}

static sp_status begin_case(MPI_Comm comm, const char *path, sp_case **out) {
  sp_case *c;
  SP_TRY(sp_allocate(1, sizeof *c, "case", out));
  c = *out;
  *c = (sp_case){.comm = comm,
                 .workers = {.comm = MPI_COMM_NULL},
                 .results = {.profile = sp_profile_from_now()},
                 .terminal = sp_terminal_open(comm, true)};
  return sp_format(&c->path, "%s", path ? path : "the case");
}

/* `text` is on rank 0; with a path, and without both, NULL. */
static sp_status take_text(sp_case *c, const char *text) {
  const size_t length = text ? strlen(text) : 0;
  sp_status status = SP_OK;
  if (length > INT32_MAX) status = sp_fail(SP_ERR_INPUT, "the text of the case is too long");
  SP_TRY(sp_agree(c->comm, status));
  c->length = (int)length;
  MPI_Bcast(&c->length, 1, MPI_INT, 0, c->comm);
  SP_TRY(sp_agree(c->comm, sp_allocate((size_t)c->length + 1, 1, "text", &c->text)));
  if (text && sp_comm_rank(c->comm) == 0) memcpy(c->text, text, length);
  MPI_Bcast(c->text, c->length, MPI_CHAR, 0, c->comm);
  return SP_OK;
}

static int open_case(MPI_Comm comm, const char *path, const char *text, int count,
                     const char *const *keys, sp_case **out) {
  int initialized = 0;
  if (!out) return sp_library_fail("sp_case_open", "no place for the case, out is NULL");
  *out = NULL;
  MPI_Initialized(&initialized);
  if (!initialized || comm == MPI_COMM_NULL)
    return sp_library_fail("sp_case_open", "MPI is not initialized, or no communicator is given");
  sp_interrupt_leave();
  sp_status status = sp_agree(comm, begin_case(comm, path, out));
  if (!status && path) status = sp_config_text(comm, path, &(*out)->text, &(*out)->length);
  if (!status && text) status = take_text(*out, text);
  if (!status) status = open_all(*out, count, keys);
  if (status) sp_case_close(out);
  return sp_library_code(status);
}

int sp_case_open(MPI_Comm comm, const char *path, int count, const char *const *keys,
                 sp_case **out) {
  return open_case(comm, path, NULL, count, keys, out);
}

int sp_case_open_text(MPI_Comm comm, const char *text, int count, const char *const *keys,
                      sp_case **out) {
  return open_case(comm, NULL, text ? text : "", count, keys, out);
}

/* Release the data of the space; a set array stays if the order does. */
static void release_vectors(sp_case *c, bool arrays) {
  for (int a = 0; a < SP_CASE_SETTABLE && arrays; a++) {
    sp_vector_destroy(&c->arrays[a]);
    c->is_set[a] = false;
  }
  sp_vector_destroy(&c->initial);
  sp_vector_destroy(&c->added);
  if (arrays) sp_vector_destroy(&c->in);
  if (arrays) sp_vector_destroy(&c->out);
  sp_operator_destroy(&c->mass);
  free(c->extra);
  c->extra = NULL;
}

static void drop_coefficients(sp_case *c) {
  for (int i = 0; i < SP_COEFFICIENTS; i++) {
    free(c->coefficients[i]);
    c->coefficients[i] = NULL;
  }
}

/* Arrays stay if the new set-up has their points. */
static sp_status replace_run(sp_case *c, sp_running *run) {
  sp_library_forget(c);
  release_vectors(c, run->config->statement.order != c->config->statement.order);
  if (c->rule != sp_library_rule(run->config)) drop_coefficients(c);
  if (!run->problem->has_dirichlet) c->is_set[SP_CASE_DIRICHLET] = false;
  c->values_changed = c->is_set[SP_CASE_DIRICHLET];
  c->coefficients_changed = false;
  release_run(&c->run);
  c->run = run;
  return make_vectors(c);
}

sp_status sp_library_restore(sp_case *c) {
  const sp_running *run = c->run;
  sp_solver *s = run->solver;
  if (s->system && s->system->op) return SP_OK;
  if (run->march) sp_scope_set_time(run->config->statement.scope, sp_march_time(run->march));
  run->problem->extra = NULL;
  SP_TRY(sp_library_begin(c));
  return sp_solver_make_free(s);
}

sp_status sp_library_begin(sp_case *c) {
  const sp_running *run = c->run;
  sp_solver *s = run->solver;
  SP_TRY(sp_problem_linearize(run->problem, c->mesh, s->space->numbering->order,
                              s->space->numbering, run->initial));
  SP_TRY(sp_solver_update(s));
  return sp_solver_load(s);
}

sp_status sp_library_renew(sp_case *c) {
  sp_running *run = NULL;
  if (!c->coefficients_changed) return sp_library_restore(c);
  if (c->run->march) {
    SP_TRY(sp_march_renew(c->run->march));
    c->coefficients_changed = false;
    return SP_OK;
  }
  SP_TRY(set_up(c, c->config, &run));
  return replace_run(c, run);
}

void sp_case_close(sp_case **c_) {
  sp_case *c = c_ ? *c_ : NULL;
  if (!c) return;
  sp_library_forget(c);
  release_vectors(c, true);
  drop_coefficients(c);
  release_run(&c->run);
  sp_mesh_destroy(&c->mesh);
  sp_workers_close(&c->workers);
  sp_config_destroy(&c->config);
  drop_keys(c, 0);
  SP_FREE(c->keys, c->text, c->path, c);
  *c_ = NULL;
}

/* ---- Change ---- */

static sp_status check_keys(int count, const char *const *keys) {
  static const char *const fixed[] = {"mesh.", "region.", "backend."};
  for (int k = 0; k < count; k++)
    for (size_t f = 0; f < sizeof fixed / sizeof *fixed; f++)
      if (strncmp(keys[k], fixed[f], strlen(fixed[f])) == 0)
        return sp_fail(SP_ERR_INPUT, "argument '%s': the mesh and the backend of an open case stay",
                       keys[k]);
  return SP_OK;
}

/* The next line, from `*p` on, that is a part of the mesh: periodic or a contact. */
static const sp_boundary_entry *next_of_mesh(const sp_config *config, int *p) {
  while (*p < config->statement.boundary.count) {
    const sp_boundary_entry *entry = &config->statement.boundary.entries[(*p)++];
    if (sp_condition_is_of_mesh(entry->type)) return entry;
  }
  return NULL;
}

static sp_status check_same_mesh(const sp_config *old, const sp_config *config) {
  const sp_boundary_entry *a, *b;
  int p = 0, q = 0;
  do {
    a = next_of_mesh(old, &p);
    b = next_of_mesh(config, &q);
    if (!a != !b || (a && (strcmp(a->group, b->group) != 0 || a->type != b->type ||
                           (a->partner && strcmp(a->partner, b->partner) != 0))))
      return sp_fail(SP_ERR_INPUT, "periodic and contact conditions of an open case stay");
  } while (a);
  if (sp_operator_rows[old->statement.operator_kind].has_boundary !=
      sp_operator_rows[config->statement.operator_kind].has_boundary)
    return sp_fail(SP_ERR_INPUT, "a case of mass cannot become another one, nor another one mass");
  return SP_OK;
}

static sp_status change_to(sp_case *c, const sp_config *config, sp_running **run) {
  sp_status status = check_same_mesh(c->config, config);
  if (!status) status = sp_quantities_check(&config->wanted, c->mesh);
  if (!status && sp_operator_rows[config->statement.operator_kind].has_boundary)
    status = sp_boundary_check(&config->statement, c->mesh);
  SP_TRY(sp_agree(c->comm, status));
  return set_up(c, config, run);
}

int sp_case_change(sp_case *c, int count, const char *const *keys) {
  if (!c) return sp_library_fail("sp_case_change", "no case, it is NULL");
  const int before = c->key_count;
  sp_config *config = NULL;
  sp_running *run = NULL;
  sp_status status = add_keys(c, count, keys);
  if (!status) status = check_keys(count, keys);
  status = sp_agree(c->comm, status);
  if (!status) status = parse_config(c, &config);
  if (!status) status = change_to(c, config, &run);
  if (status) {
    drop_keys(c, before);
    sp_config_destroy(&config);
    return sp_library_code(status);
  }
  status = replace_run(c, run);
  sp_config_destroy(&c->config);
  c->config = config;
  return sp_library_code(status);
}

/* ---- Sizes and names ---- */

int sp_case_get_sizes(const sp_case *c, sp_case_sizes *sizes) {
  if (!c || !sizes) return sp_library_fail("sp_case_get_sizes", "an argument is NULL");
  const sp_numbering *n = c->run->solver->space->numbering;
  *sizes = (sp_case_sizes){.local = (size_t)n->local,
                           .owned = (size_t)n->owned,
                           .elements = (size_t)c->mesh->hexes->count,
                           .nodes = sp_element_nodes(n->order),
                           .points = sp_rule_points(sp_library_rule(c->config)),
                           .global_dofs = n->global,
                           .global_elements = c->mesh->global_elements,
                           .order = n->order,
                           .on_device = !c->workers.platform.backend->on_host};
  return SP_CASE_OK;
}

int sp_case_group(const sp_case *c, int i, const char **name, int *dimension, int *number) {
  if (!c || !name || !dimension || !number)
    return sp_library_fail("sp_case_group", "an argument is NULL");
  const sp_family *surface = &c->mesh->hexes->surface, *volume = &c->mesh->hexes->volume;
  if (i < 0 || i >= surface->group_count + volume->group_count)
    return sp_library_fail("sp_case_group", "there are no more groups");
  const bool flat = i < surface->group_count;
  const sp_group *group = flat ? &surface->groups[i] : &volume->groups[i - surface->group_count];
  *name = group->name;
  *dimension = flat ? 2 : 3;
  *number = group->number;
  return SP_CASE_OK;
}

int sp_case_numbers(sp_case *c, size_t count, int64_t *numbers) {
  if (!c) return sp_library_fail("sp_case_numbers", "no case, it is NULL");
  const sp_numbering *n = c->run->solver->space->numbering;
  const sp_status status =
      sp_agree(c->comm, sp_library_check("sp_case_numbers", (size_t)n->local, count, numbers));
  for (sp_lid i = 0; i < n->local && !status; i++) numbers[i] = sp_numbering_global(n, i);
  return sp_library_code(status);
}

int sp_case_nodes(const sp_case *c, size_t count, int32_t *nodes) {
  if (!c) return sp_library_fail("sp_case_nodes", "no case, it is NULL");
  const sp_numbering *n = c->run->solver->space->numbering;
  const size_t expected = (size_t)c->mesh->hexes->count * sp_element_nodes(n->order);
  const sp_status status = sp_library_check("sp_case_nodes", expected, count, nodes);
  for (size_t i = 0; i < expected && !status; i++) nodes[i] = n->nodes[i];
  return sp_library_code(status);
}
