#include "mesh/gmsh_wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Start of an answer; the arrays follow if the status is SP_OK. */
typedef struct header {
  int status, count, map_order, surface_count, group_count, volume_count, volume_group_count;
  sp_hexes_file file;
  char message[1024];
} header;

typedef struct group_header {
  int number, length;
} group_header;

/* An installation may mix programs of different builds. Raise the number whenever the data change.
 */
typedef struct greeting {
  char name[16];
  int protocol, header_size;
} greeting;

static const greeting HELLO = {"sp_mesh_reader", 5, (int)sizeof(header)};

static void transfer(sp_gmsh_wire *w, void *bytes, size_t size) {
  char *next = bytes;
  while (size > 0 && !w->failed) {
    const ssize_t done = w->writes ? write(w->file, next, size) : read(w->file, next, size);
    if (done < 0 && errno == EINTR) continue;
    w->failed = done <= 0;
    if (!w->failed) {
      next += done;
      size -= (size_t)done;
    }
  }
}

/* Send or receive the arrays of `hexes`, in the same order. */
static void transfer_arrays(sp_gmsh_wire *w, sp_hexes *hexes, int *parts) {
  const size_t count = (size_t)hexes->count;
  transfer(w, hexes->lattice, count * 3 * sizeof(double) * sp_hexes_lattice_size(hexes));
  transfer(w, hexes->vertices, count * sizeof *hexes->vertices);
  transfer(w, hexes->surfaces, count * sizeof *hexes->surfaces);
  transfer(w, hexes->tags, count * sizeof *hexes->tags);
  transfer(w, hexes->volumes, count * sizeof *hexes->volumes);
  if (parts) transfer(w, parts, count * sizeof *parts);
}

static void send_groups(sp_gmsh_wire *w, int count, sp_group *groups, int member_count) {
  for (int g = 0; g < count; g++) {
    sp_group *group = &groups[g];
    group_header head = {group->number, (int)strlen(group->name)};
    transfer(w, &head, sizeof head);
    transfer(w, group->name, (size_t)head.length);
    transfer(w, group->members, (size_t)member_count * sizeof *group->members);
  }
}

static sp_status receive_group(sp_gmsh_wire *w, sp_hexes *hexes, bool of_volumes, int g) {
  group_header head = {0, 0};
  char *name;
  transfer(w, &head, sizeof head);
  SP_TRY(sp_allocate((size_t)head.length + 1, 1, "group name", &name));
  transfer(w, name, (size_t)head.length);
  const sp_status status = of_volumes ? sp_hexes_set_volume_group(hexes, g, name, head.number)
                                      : sp_hexes_set_group(hexes, g, name, head.number);
  free(name);
  SP_TRY(status);
  const sp_group *group = of_volumes ? &hexes->volume_groups[g] : &hexes->groups[g];
  const int member_count = of_volumes ? hexes->volume_count : hexes->surface_count;
  transfer(w, group->members, (size_t)member_count * sizeof *group->members);
  return SP_OK;
}

static sp_status receive_groups(sp_gmsh_wire *w, sp_hexes *hexes) {
  for (int g = 0; g < hexes->group_count && !w->failed; g++)
    SP_TRY(receive_group(w, hexes, false, g));
  for (int g = 0; g < hexes->volume_group_count && !w->failed; g++)
    SP_TRY(receive_group(w, hexes, true, g));
  return SP_OK;
}

void sp_gmsh_send_greeting(sp_gmsh_wire *w) {
  greeting hello = HELLO;
  transfer(w, &hello, sizeof hello);
}

bool sp_gmsh_receive_greeting(sp_gmsh_wire *w) {
  greeting hello = {0};
  transfer(w, &hello, sizeof hello);
  return !w->failed && memcmp(hello.name, HELLO.name, sizeof hello.name) == 0 &&
         hello.protocol == HELLO.protocol && hello.header_size == HELLO.header_size;
}

void sp_gmsh_send(sp_gmsh_wire *w, sp_status status, sp_hexes *hexes, int *parts) {
  header head = {.status = (int)status};
  if (status) {
    snprintf(head.message, sizeof head.message, "%s", sp_error_message());
  } else {
    head.count = hexes->count;
    head.map_order = hexes->map_order;
    head.surface_count = hexes->surface_count;
    head.group_count = hexes->group_count;
    head.volume_count = hexes->volume_count;
    head.volume_group_count = hexes->volume_group_count;
    head.file = hexes->file;
  }
  transfer(w, &head, sizeof head);
  if (!status) {
    send_groups(w, hexes->group_count, hexes->groups, hexes->surface_count);
    send_groups(w, hexes->volume_group_count, hexes->volume_groups, hexes->volume_count);
    transfer_arrays(w, hexes, parts);
  }
}

sp_status sp_gmsh_receive(sp_gmsh_wire *w, sp_hexes **hexes, int **parts) {
  header head = {0};
  transfer(w, &head, sizeof head);
  if (w->failed) return SP_OK;
  if (head.status) return sp_fail((sp_status)head.status, "%s", head.message);
  SP_TRY(sp_hexes_create(head.count, head.map_order, head.surface_count, head.group_count, hexes));
  SP_TRY(sp_hexes_create_volumes(*hexes, head.volume_count, head.volume_group_count));
  (*hexes)->file = head.file;
  if (parts) SP_TRY(sp_allocate((size_t)head.count, sizeof **parts, "partition", parts));
  SP_TRY(receive_groups(w, *hexes));
  transfer_arrays(w, *hexes, parts ? *parts : NULL);
  return SP_OK;
}

void sp_gmsh_send_text(sp_gmsh_wire *w, const char *text) {
  header head = {0};
  snprintf(head.message, sizeof head.message, "%s", text);
  transfer(w, &head, sizeof head);
}

void sp_gmsh_receive_text(sp_gmsh_wire *w, char *text, size_t size) {
  header head = {0};
  transfer(w, &head, sizeof head);
  snprintf(text, size, "%s", w->failed ? "" : head.message);
}
