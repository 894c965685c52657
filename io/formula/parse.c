/* The parser of formulas: recursive descent, straight into the nodes of a graph. */
#include "io/formula/program.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/formula/token.h"

/* Nesting depth of parentheses, signs, exponents and conditionals; bounds the recursion, so that
 * the C stack cannot overflow. */
enum { MAX_DEPTH = 200 };

static const struct function {
  const char *name;
  int arity;
  sp_operation operation;
} functions[] = {
    {"sin", 1, SP_OP_SIN},     {"cos", 1, SP_OP_COS},   {"tan", 1, SP_OP_TAN},
    {"asin", 1, SP_OP_ASIN},   {"acos", 1, SP_OP_ACOS}, {"atan", 1, SP_OP_ATAN},
    {"sinh", 1, SP_OP_SINH},   {"cosh", 1, SP_OP_COSH}, {"tanh", 1, SP_OP_TANH},
    {"exp", 1, SP_OP_EXP},     {"log", 1, SP_OP_LOG},   {"log10", 1, SP_OP_LOG10},
    {"sqrt", 1, SP_OP_SQRT},   {"cbrt", 1, SP_OP_CBRT}, {"abs", 1, SP_OP_ABS},
    {"erf", 1, SP_OP_ERF},     {"sign", 1, SP_OP_SIGN}, {"floor", 1, SP_OP_FLOOR},
    {"atan2", 2, SP_OP_ATAN2}, {"pow", 2, SP_OP_POWER}, {"min", 2, SP_OP_MIN},
    {"max", 2, SP_OP_MAX},     {"if", 3, SP_OP_SELECT},
};

/* The binary operators that associate to the left, weakest first. */
enum { WEAKEST = 1, EQUALITY = 3, ORDER = 4, STRONGEST = 6 };
static const struct binary {
  const char *text;
  int precedence;
  sp_operation operation;
} binaries[] = {
    {"||", WEAKEST, SP_OP_OR},
    {"&&", 2, SP_OP_AND},
    {"==", EQUALITY, SP_OP_EQUAL},
    {"!=", EQUALITY, SP_OP_NOT_EQUAL},
    {"<", ORDER, SP_OP_LESS},
    {"<=", ORDER, SP_OP_LESS_EQUAL},
    {">", ORDER, SP_OP_GREATER},
    {">=", ORDER, SP_OP_GREATER_EQUAL},
    {"+", 5, SP_OP_ADD},
    {"-", 5, SP_OP_SUBTRACT},
    {"*", STRONGEST, SP_OP_MULTIPLY},
    {"/", STRONGEST, SP_OP_DIVIDE},
};
enum {
  FUNCTIONS = sizeof functions / sizeof functions[0],
  BINARIES = sizeof binaries / sizeof binaries[0],
  VARIABLES = 5
};

typedef struct parser {
  sp_expression *expression;
  const sp_scope *scope; /* NULL: none */
  sp_graph *graph;
  sp_token next;
  int depth;
  const char *u;           /* the name of u; NULL: there is none */
  const sp_values *values; /* in place of x, y and z; NULL: none */
} parser;

static void read_token(parser *p) {
  p->next = sp_token_after(p->next);
}

static int column_of(const parser *p, const sp_token *t) {
  const ptrdiff_t offset = t->start - p->expression->text;
  return offset < INT32_MAX ? (int)offset + 1 : INT32_MAX;
}

/* Fail at the next token; `note` is appended to the message. */
static sp_status unexpected(const parser *p, const char *expected, const char *note) {
  char found[SP_TOKEN_SIZE];
  sp_token_describe(&p->next, found);
  return sp_fail(SP_ERR_INPUT, "%s: column %d: expected %s, found %s%s", p->expression->where,
                 column_of(p, &p->next), expected, found, note);
}

static sp_status expect(parser *p, const char *symbol, const char *expected, const char *note) {
  if (!sp_token_is(&p->next, symbol)) return unexpected(p, expected, note);
  read_token(p);
  return SP_OK;
}

/* Every recursive call is enclosed by enter and leave. */
static sp_status enter(parser *p) {
  if (++p->depth > MAX_DEPTH)
    return sp_fail(SP_ERR_INPUT, "%s: column %d: nested more than %d levels deep",
                   p->expression->where, column_of(p, &p->next), MAX_DEPTH);
  return SP_OK;
}

static void leave(parser *p) {
  p->depth--;
}

static bool has_kink(sp_operation operation) {
  return operation == SP_OP_ABS || operation == SP_OP_MIN || operation == SP_OP_MAX ||
         operation == SP_OP_TABLE || operation == SP_OP_MAP;
}

static bool may_jump(sp_operation operation) {
  return operation == SP_OP_NOT || operation == SP_OP_SIGN || operation == SP_OP_FLOOR ||
         (operation >= SP_OP_EQUAL && operation <= SP_OP_SELECT && !has_kink(operation));
}

/* *result = operation(operands). */
static sp_status apply_operation(parser *p, sp_operation operation, const int *operands,
                                 int *result) {
  int o[3] = {0, 0, 0};
  for (int k = 0; k < sp_operation_arity(operation); k++) o[k] = operands[k];
  *result = sp_graph_apply(p->graph, operation, o);
  if (p->graph->failed)
    return sp_fail(SP_ERR_SYSTEM, "%s: column %d: out of memory: %d operations of a formula",
                   p->expression->where, column_of(p, &p->next), p->graph->count);
  const sp_node *nodes = p->graph->nodes;
  if (may_jump(nodes[*result].operation) && !nodes[*result].varies) p->expression->switches = true;
  const bool same_choice = operation == SP_OP_SELECT && !nodes[o[0]].varies;
  if (!same_choice && nodes[*result].varies) {
    if (may_jump(operation)) p->expression->regularity = SP_JUMPS;
    if (has_kink(operation) && p->expression->regularity == SP_SMOOTH)
      p->expression->regularity = SP_KINKS;
  }
  return SP_OK;
}

static void make_constant(parser *p, double value, int *result) {
  *result = sp_graph_constant(p->graph, value);
}

static sp_status parse_conditional(parser *p, int *result);

static sp_status parse_number(parser *p, int *result) {
  /* strtod stops at the token's end, except after 0x, which is an error at the x. */
  const double value = strtod(p->next.start, NULL);
  if (!isfinite(value)) return unexpected(p, "a number below 1.8e308", "");
  make_constant(p, value, result);
  read_token(p);
  return SP_OK;
}

static sp_status parse_arguments(parser *p, const struct function *function, int *result) {
  char note[64], expected[32];
  snprintf(note, sizeof note, ": %s takes %d argument%s", function->name, function->arity,
           function->arity == 1 ? "" : "s");
  read_token(p);
  snprintf(expected, sizeof expected, "'(' after %s", function->name);
  SP_TRY(expect(p, "(", expected, ""));
  int arguments[3];
  for (int k = 0; k < function->arity; k++) {
    if (sp_token_is(&p->next, ")") || sp_token_is(&p->next, ","))
      return unexpected(p, "an argument", note);
    SP_TRY(parse_conditional(p, &arguments[k]));
    const bool is_last = k == function->arity - 1;
    const bool miscounted = sp_token_is(&p->next, is_last ? "," : ")");
    SP_TRY(expect(p, is_last ? ")" : ",", is_last ? "')'" : "','", miscounted ? note : ""));
  }
  return apply_operation(p, function->operation, arguments, result);
}

/* table("FILE", argument) or table("FILE", argument, argument) */
static sp_status parse_table(parser *p, int *result) {
  int o[3];
  read_token(p);
  SP_TRY(expect(p, "(", "'(' after table", ""));
  if (p->next.kind != TOKEN_TEXT) return unexpected(p, "the name of a file in quotes", "");
  const sp_token name = p->next;
  read_token(p);
  SP_TRY(expect(p, ",", "',' and the argument of the table", ""));
  SP_TRY(parse_conditional(p, &o[0]));
  const bool is_map = sp_token_is(&p->next, ",");
  if (is_map) {
    read_token(p);
    SP_TRY(parse_conditional(p, &o[1]));
  }
  SP_TRY(expect(p, ")", "')'", ""));
  const double *data =
      p->scope ? sp_tables_find(&p->scope->tables, name.start + 1, name.length - 2, is_map) : NULL;
  if (!data)
    return sp_fail(SP_ERR_INPUT, "%s: column %d: the table %.*s has not been read",
                   p->expression->where, column_of(p, &name), (int)name.length, name.start);
  o[is_map ? 2 : 1] = sp_graph_data(p->graph, data);
  return apply_operation(p, is_map ? SP_OP_MAP : SP_OP_TABLE, o, result);
}

static const char *const variables[] = {"x", "y", "z", "u", "u0"};

/* True if a formula can have this name of a value. */
bool sp_expression_allows_name(const char *name) {
  bool allowed = sp_token_is_name(name) && strcmp(name, "pi") != 0 && strcmp(name, "e") != 0;
  for (int v = 0; v < VARIABLES; v++) allowed = allowed && strcmp(name, variables[v]) != 0;
  for (int k = 0; k < FUNCTIONS; k++) allowed = allowed && strcmp(name, functions[k].name) != 0;
  return allowed && strcmp(name, "table") != 0;
}

static sp_status fail_unknown(const parser *p) {
  char found[SP_TOKEN_SIZE], known[200], constants[200] = "", values[400] = "";
  size_t length = 0, used = 0;
  for (int k = 0; k < FUNCTIONS; k++)
    used += (size_t)snprintf(known + used, sizeof known - used, "%s, ", functions[k].name);
  sp_token_describe(&p->next, found);
  for (int i = 0; p->values && i < p->values->known && length < sizeof values; i++)
    if (p->values->names[i] && sp_token_is_name(p->values->names[i]))
      length +=
          (size_t)snprintf(values + length, sizeof values - length, "%s, ", p->values->names[i]);
  length = 0;
  for (int i = 0; p->scope && i < p->scope->count && length < sizeof constants; i++)
    length += (size_t)snprintf(constants + length, sizeof constants - length, ", %s",
                               p->scope->constants[i].name);
  const char *u = p->u;
  return sp_fail(
      SP_ERR_INPUT, "%s: column %d: unknown name %s%s; known names are %s%s%s%spi, e, %stable%s",
      p->expression->where, column_of(p, &p->next), found,
      sp_token_is(&p->next, "u0")  ? ": only forcings with problem.initial and without u have it"
      : sp_token_is(&p->next, "t") ? ": only cases with time.end have it"
                                   : "",
      p->values ? values : "x, y, z, ", p->scope && p->scope->time ? "t, " : "", u ? u : "",
      u ? ", " : "", known, constants);
}

/* The constant that the next token names; NULL if there is none. */
static sp_constant *find_constant(const parser *p) {
  for (int i = 0; p->scope && i < p->scope->count; i++)
    if (sp_token_is(&p->next, p->scope->constants[i].name)) return &p->scope->constants[i];
  return NULL;
}

/* Parse the name of a value; *found is false if the next token is none. A function needs "(". */
static sp_status parse_value(parser *p, bool *found, int *result) {
  const sp_token name = p->next;
  const sp_token after = sp_token_after(name);
  int i = 0;
  while (i < p->values->known && !(p->values->names[i] && sp_token_is(&name, p->values->names[i])))
    i++;
  *found = i < p->values->known && !sp_token_is(&after, "(");
  if (!*found) return SP_OK;
  if (find_constant(p) || sp_token_is(&name, "pi") || sp_token_is(&name, "e") ||
      (p->scope->time && sp_token_is(&name, "t")))
    return sp_fail(SP_ERR_INPUT,
                   "%s: column %d: '%.*s' is a probe or result and a constant: rename one",
                   p->expression->where, column_of(p, &name), (int)name.length, name.start);
  *result = sp_graph_data(p->graph, &p->values->data[i * SP_EXPRESSION_PADDING]);
  p->expression->is_constant = false;
  read_token(p);
  return SP_OK;
}

static sp_status parse_name(parser *p, int *result) {
  const sp_token *name = &p->next;
  const char *u = p->u;
  bool found = false;
  if (p->values) SP_TRY(parse_value(p, &found, result));
  if (found) return SP_OK;
  for (int v = 0; v <= SP_VARIABLE_U && (v < SP_VARIABLE_U || u) && !p->values; v++)
    if (sp_token_is(name, v < SP_VARIABLE_U ? variables[v] : u)) {
      *result = v;
      p->expression->is_constant = false;
      p->expression->is_of_u = p->expression->is_of_u || v == SP_VARIABLE_U;
      read_token(p);
      return SP_OK;
    }
  if (p->scope && p->scope->time && sp_token_is(name, "t")) {
    /* A sum, evaluated at every point, as functions of one argument expect. */
    const int time[3] = {sp_graph_constant(p->graph, 0), sp_graph_data(p->graph, p->scope->time)};
    if (p->graph->direction == SP_ALONG_TIME)
      p->graph->jets[time[1]].gradient[0] = sp_graph_constant(p->graph, 1);
    *result = sp_graph_apply(p->graph, SP_OP_ADD, time);
    p->expression->is_constant = false;
    p->expression->is_of_t = true;
    read_token(p);
    return SP_OK;
  }
  const bool is_pi = sp_token_is(name, "pi");
  if (is_pi || sp_token_is(name, "e")) {
    make_constant(p, is_pi ? 3.14159265358979323846 : 2.71828182845904523536, result);
    read_token(p);
    return SP_OK;
  }
  for (int k = 0; k < FUNCTIONS; k++)
    if (sp_token_is(name, functions[k].name)) return parse_arguments(p, &functions[k], result);
  if (sp_token_is(name, "table")) return parse_table(p, result);
  sp_constant *known = find_constant(p);
  if (!known) return fail_unknown(p);
  known->used = true;
  make_constant(p, known->value, result);
  read_token(p);
  return SP_OK;
}

static sp_status parse_primary(parser *p, int *result) {
  if (p->next.kind == TOKEN_NUMBER) return parse_number(p, result);
  if (p->next.kind == TOKEN_NAME) return parse_name(p, result);
  SP_TRY(expect(p, "(", "a number, a name or '('", ""));
  SP_TRY(parse_conditional(p, result));
  return expect(p, ")", "')'", "");
}

/* A sign or '!' binds less tightly than a power, but may begin an exponent: 2^-x. */
static sp_status parse_unary(parser *p, int *result) {
  const sp_token sign = p->next;
  const bool is_signed =
      sp_token_is(&sign, "+") || sp_token_is(&sign, "-") || sp_token_is(&sign, "!");
  int o[2] = {0};
  if (is_signed)
    read_token(p);
  else {
    SP_TRY(parse_primary(p, &o[0]));
    *result = o[0];
    if (!sp_token_is(&p->next, "^") && !sp_token_is(&p->next, "**")) return SP_OK;
    read_token(p);
  }
  SP_TRY(enter(p));
  SP_TRY(parse_unary(p, &o[1]));
  leave(p);
  if (!is_signed) return apply_operation(p, SP_OP_POWER, o, result);
  *result = o[1];
  if (sp_token_is(&sign, "+")) return SP_OK;
  return apply_operation(p, sp_token_is(&sign, "-") ? SP_OP_NEGATE : SP_OP_NOT, &o[1], result);
}

static const struct binary *find_binary(const sp_token *t) {
  for (int k = 0; k < BINARIES; k++)
    if (sp_token_is(t, binaries[k].text)) return &binaries[k];
  return NULL;
}

/* Operators of this precedence and higher. A loop, not recursion, so that long sums do not count as
 * nesting. */
static sp_status parse_binary(parser *p, int precedence, int *result) {
  if (precedence > STRONGEST) return parse_unary(p, result);
  int o[2];
  SP_TRY(parse_binary(p, precedence + 1, &o[0]));
  const struct binary *binary = find_binary(&p->next);
  for (bool first = true; binary && binary->precedence == precedence; first = false) {
    /* Reject 0 < x < 1, which C reads as (0 < x) < 1. */
    if (!first && (precedence == EQUALITY || precedence == ORDER))
      return unexpected(p, "'&&' or parentheses between comparisons", "");
    read_token(p);
    SP_TRY(parse_binary(p, precedence + 1, &o[1]));
    SP_TRY(apply_operation(p, binary->operation, o, &o[0]));
    binary = find_binary(&p->next);
  }
  *result = o[0];
  return SP_OK;
}

static sp_status parse_conditional(parser *p, int *result) {
  SP_TRY(enter(p));
  int o[3];
  SP_TRY(parse_binary(p, WEAKEST, &o[0]));
  *result = o[0];
  if (sp_token_is(&p->next, "?")) {
    read_token(p);
    SP_TRY(parse_conditional(p, &o[1]));
    SP_TRY(expect(p, ":", "':'", ""));
    SP_TRY(parse_conditional(p, &o[2]));
    SP_TRY(apply_operation(p, SP_OP_SELECT, o, result));
  }
  leave(p);
  return SP_OK;
}

static sp_status parse_formula(parser *p, sp_direction direction) {
  static const unsigned outputs[SP_EXPRESSION_PROGRAMS] = {SP_EXPRESSION_VALUE, 15, 31};
  int result;
  struct sp_expression_code *code = p->expression->code;
  SP_TRY(sp_graph_create(code->is_anisotropic, direction, p->graph));
  read_token(p);
  if (p->next.kind == TOKEN_END) return unexpected(p, "a formula", "");
  SP_TRY(parse_conditional(p, &result));
  if (p->next.kind != TOKEN_END) return unexpected(p, "an operator or end of formula", "");
  code->kernel = p->graph->kernel;
  const int programs =
      p->expression->is_of_u && direction != SP_ALONG_U ? 1 : SP_EXPRESSION_PROGRAMS;
  for (int k = 0; k < programs; k++)
    SP_TRY(sp_program_create(p->graph, result, outputs[k], &code->programs[k]));
  return SP_OK;
}

sp_status sp_expression_parse_given(const char *text, const char *where, const sp_scope *scope,
                                    const char *given, sp_expression **out) {
  const bool is_anisotropic = given && strcmp(given, "K") == 0;
  const bool in_time = given && strcmp(given, "t") == 0,
             along_u = given && strcmp(given, "du") == 0;
  const bool of_values = given && strcmp(given, "values") == 0;
  SP_AUTO(sp_expression) e = NULL;
  *out = NULL;
  SP_TRY(sp_allocate(1, sizeof *e, "a formula", &e));
  SP_TRY(sp_allocate(1, sizeof *e->code, "a formula", &e->code));
  SP_TRY(sp_format(&e->text, "%s", text));
  SP_TRY(sp_format(&e->where, "%s", where));
  e->is_constant = true;
  e->regularity = SP_SMOOTH;
  e->code->is_anisotropic = is_anisotropic;
  sp_graph graph = {.count = 0};
  parser p = {.expression = e,
              .scope = scope,
              .u = is_anisotropic || in_time || of_values ? NULL
                   : along_u                              ? "u"
                                                          : given,
              .values = of_values ? &scope->values : NULL,
              .graph = &graph,
              .next = {.start = e->text}};
  const sp_status status = parse_formula(&p, in_time   ? SP_ALONG_TIME
                                             : along_u ? SP_ALONG_U
                                                       : SP_ALONG_SPACE);
  sp_graph_free(&graph);
  SP_TRY(status);
  *out = e;
  e = NULL;
  return SP_OK;
}

bool sp_expression_has_name(const char *text, const char *name) {
  sp_token token = {.start = text};
  do token = sp_token_after(token);
  while (token.kind != TOKEN_END && token.kind != TOKEN_STRAY && !sp_token_is(&token, name));
  return sp_token_is(&token, name);
}

sp_status sp_expression_parse(const char *text, const char *where, const sp_scope *scope,
                              sp_expression **out) {
  return sp_expression_parse_given(text, where, scope, NULL, out);
}
