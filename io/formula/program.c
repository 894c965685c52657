/* Build a program from the graph of a formula; slots are reused. */
#include "io/formula/program.h"

#include <stdlib.h>

/* Size of the variables and slots of a chunk, to fit in a first-level cache of 32 KiB. A chunk has
 * at least CHUNK_MIN points, so that decoding an instruction costs little, and at most CHUNK_MAX.
 */
enum { CACHE_BYTES = 24 << 10, CHUNK_MIN = 64, CHUNK_MAX = 256 };

/* For each node: the outputs that need it, if an instruction reads it, the node after which its
 * slot is free, and its slot (for a constant: its index among the constants). */
typedef struct plan {
  unsigned *needed;
  bool *read; /* by an instruction */
  int *last, *place;
  int *free_slots;
  int slots, constants, free_count;
  size_t instructions;
} plan;

static sp_status plan_create(const sp_graph *g, plan *p) {
  const size_t count = (size_t)g->count;
  *p = (plan){.slots = 0};
  SP_TRY(SP_ALLOCATE("the program of a formula", SP_ARRAY(p->needed, count),
                     SP_ARRAY(p->read, count), SP_ARRAY(p->last, count), SP_ARRAY(p->place, count),
                     SP_ARRAY(p->free_slots, count)));
  for (int k = 0; k < g->count; k++) p->last[k] = p->place[k] = -1;
  return SP_OK;
}

static bool has_slot(const sp_graph *g, int node) {
  return sp_operation_arity(g->nodes[node].operation) > 0;
}

static void mark_needed(const sp_graph *g, const int output[SP_EXPRESSION_OUTPUTS],
                        unsigned outputs, plan *p) {
  for (int k = 0; k < SP_EXPRESSION_OUTPUTS; k++)
    if (outputs & 1u << k && output[k] != SP_ZERO) p->needed[output[k]] |= 1u << k;
  for (int k = g->count - 1; k >= 0; k--) {
    const sp_node *node = &g->nodes[k];
    for (int o = 0; o < sp_operation_arity(node->operation); o++)
      p->needed[node->operand[o]] |= p->needed[k];
  }
}

/* The cosine of a sine's argument and vice versa, if both are needed; else -1. */
static int partner(const sp_graph *g, const plan *p, int node) {
  const sp_operation operation = g->nodes[node].operation;
  if (operation != SP_OP_SIN && operation != SP_OP_COS) return -1;
  const sp_operation other = operation == SP_OP_SIN ? SP_OP_COS : SP_OP_SIN;
  const int found = sp_graph_find(g, other, g->nodes[node].operand[0], 0);
  return found >= 0 && p->needed[found] ? found : -1;
}

static void mark_uses(const sp_graph *g, const int output[SP_EXPRESSION_OUTPUTS], unsigned outputs,
                      plan *p) {
  for (int k = 0; k < g->count; k++) {
    if (!p->needed[k]) continue;
    const sp_node *node = &g->nodes[k];
    const int other = partner(g, p, k), when = other >= 0 && other < k ? other : k;
    for (int o = 0; o < sp_operation_arity(node->operation); o++) {
      p->read[node->operand[o]] = true;
      if (p->last[node->operand[o]] < when) p->last[node->operand[o]] = when;
    }
  }
  for (int k = 0; k < SP_EXPRESSION_OUTPUTS; k++)
    if (outputs & 1u << k && output[k] != SP_ZERO) p->last[output[k]] = g->count;
}

static int take_slot(plan *p) {
  return p->free_count > 0 ? p->free_slots[--p->free_count] : p->slots++;
}

/* Assign slots in the order of the nodes. A result never gets the slot of an operand. */
static void assign_slots(const sp_graph *g, plan *p) {
  for (int k = 0; k < g->count; k++) {
    if (!p->needed[k] || p->place[k] >= 0) continue;
    const sp_node *node = &g->nodes[k];
    if (node->operation == SP_OP_CONSTANT) p->place[k] = p->constants++;
    if (!has_slot(g, k)) continue;
    const int other = partner(g, p, k);
    p->place[k] = take_slot(p);
    if (other >= 0) p->place[other] = take_slot(p);
    p->instructions++;
    for (int o = 0; o < sp_operation_arity(node->operation); o++) {
      const int operand = node->operand[o];
      if (p->last[operand] != k || !has_slot(g, operand)) continue;
      p->last[operand] = -1; /* free it once, also in a * a */
      p->free_slots[p->free_count++] = p->place[operand];
    }
  }
}

/* ---- Instructions ---- */

/* Slots of variables come first. */
static sp_status lay_out(const sp_graph *g, const plan *p, sp_program *program) {
  for (int v = 0; v < SP_EXPRESSION_VARIABLES; v++)
    program->variable[v] = p->needed[v] ? (int)program->slots++ : -1;
  const size_t variables = program->slots;
  program->slots += (size_t)p->slots;
  size_t chunk = CACHE_BYTES / sizeof(double) / (program->slots > 0 ? program->slots : 1);
  chunk = chunk < CHUNK_MIN ? CHUNK_MIN : chunk > CHUNK_MAX ? CHUNK_MAX : chunk;
  program->chunk = chunk - chunk % SP_EXPRESSION_PADDING;
  for (int k = 0; k < g->count; k++)
    if (has_slot(g, k) && p->place[k] >= 0) p->place[k] += (int)variables;
  const size_t bytes = ((size_t)p->constants + 1) * SP_EXPRESSION_PADDING * sizeof(double);
  program->constants = aligned_alloc(SP_EXPRESSION_PADDING * sizeof(double), bytes);
  if (!program->constants)
    return sp_fail(SP_ERR_SYSTEM, "out of memory: the constants of a formula need %zu bytes",
                   bytes);
  for (int i = 0; i < SP_EXPRESSION_PADDING; i++) program->constants[i] = 0;
  for (int k = 0; k < g->count; k++)
    if (p->needed[k] && g->nodes[k].operation == SP_OP_CONSTANT)
      for (int i = 0; i < SP_EXPRESSION_PADDING; i++)
        program->constants[(p->place[k] + 1) * SP_EXPRESSION_PADDING + i] = g->nodes[k].constant;
  return SP_OK;
}

static sp_source source_of(const sp_graph *g, const plan *p, const sp_program *program, int node) {
  if (node == SP_ZERO) return (sp_source){program->constants, 0};
  const sp_operation operation = g->nodes[node].operation;
  if (operation == SP_OP_CONSTANT)
    return (sp_source){program->constants + (p->place[node] + 1) * SP_EXPRESSION_PADDING, 0};
  if (operation == SP_OP_DATA) return (sp_source){g->nodes[node].data, 0};
  if (operation == SP_OP_VARIABLE) return (sp_source){NULL, (size_t)program->variable[node]};
  return (sp_source){NULL, (size_t)p->place[node]};
}

/* The output that a node is, or -1 if it is none or several. */
static int sole_output(const int output[SP_EXPRESSION_OUTPUTS], unsigned outputs, const plan *p,
                       int node) {
  int found = -1;
  for (int k = 0; k < SP_EXPRESSION_OUTPUTS; k++)
    if (outputs & 1u << k && output[k] == node) {
      if (found >= 0) return -1;
      found = k;
    }
  return p->read[node] ? -1 : found;
}

static void write_instructions(const sp_graph *g, const int output[SP_EXPRESSION_OUTPUTS],
                               unsigned outputs, const plan *p, sp_program *program) {
  for (int k = 0; k < g->count; k++) {
    if (!p->needed[k] || !has_slot(g, k)) continue;
    const sp_node *node = &g->nodes[k];
    const int other = partner(g, p, k);
    if (other >= 0 && other < k) continue;
    sp_instruction *instruction = &program->instructions[program->length++];
    *instruction = (sp_instruction){.operation = node->operation,
                                    .needed = {p->needed[k], 0},
                                    .out = (size_t)p->place[k],
                                    .stores = sole_output(output, outputs, p, k)};
    for (int o = 0; o < sp_operation_arity(node->operation); o++)
      instruction->operand[o] = source_of(g, p, program, node->operand[o]);
    if (other < 0) continue;
    instruction->stores = -1;
    const int sine = node->operation == SP_OP_SIN ? k : other;
    const int cosine = node->operation == SP_OP_SIN ? other : k;
    instruction->operation = SP_OP_SINCOS;
    instruction->needed[0] = p->needed[sine];
    instruction->needed[1] = p->needed[cosine];
    instruction->out = (size_t)p->place[sine];
    instruction->second = (size_t)p->place[cosine];
  }
}

static sp_status write_program(const sp_graph *g, const int output[SP_EXPRESSION_OUTPUTS],
                               unsigned outputs, plan *p, sp_program *program) {
  SP_TRY(plan_create(g, p));
  mark_needed(g, output, outputs, p);
  mark_uses(g, output, outputs, p);
  assign_slots(g, p);
  SP_TRY(lay_out(g, p, program));
  SP_TRY(sp_allocate(p->instructions, sizeof *program->instructions, "the program of a formula",
                     &program->instructions));
  write_instructions(g, output, outputs, p, program);
  for (size_t k = 0; k < program->length; k++)
    if (program->instructions[k].stores >= 0)
      program->direct[program->instructions[k].stores] = true;
  for (int k = 0; k < SP_EXPRESSION_OUTPUTS; k++)
    if (outputs & 1u << k) program->output[k] = source_of(g, p, program, output[k]);
  return SP_OK;
}

sp_status sp_program_create(const sp_graph *graph, int result, unsigned outputs,
                            sp_program *program) {
  const sp_jet *jet = &graph->jets[result];
  const int output[SP_EXPRESSION_OUTPUTS] = {result, jet->gradient[0], jet->gradient[1],
                                             jet->gradient[2], jet->laplacian};
  plan p = {.slots = 0};
  *program = (sp_program){.length = 0};
  const sp_status status = write_program(graph, output, outputs, &p, program);
  SP_FREE(p.needed, p.read, p.last, p.place, p.free_slots);
  return status;
}

void sp_program_free(sp_program *program) {
  SP_FREE(program->instructions, program->constants);
}
