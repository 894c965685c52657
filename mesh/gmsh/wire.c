#include "mesh/gmsh/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Start of an answer; the arrays follow if the status is SP_OK. */
typedef struct header {
  int status, count, map_order;
  sp_hexes_file file;
  char message[1024];
} header;

/* Version of the protocol, since an installation may mix builds. Increment it when the data change.
 */
typedef struct greeting {
  char name[16];
  int protocol, header_size;
  char version[SP_GMSH_VERSION_SIZE];
} greeting;

static const greeting HELLO = {"sp_mesh_reader", 11, (int)sizeof(header), ""};

static void transfer_bytes(sp_gmsh_wire *w, void *bytes, size_t size) {
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
  transfer_bytes(w, hexes->lattice, count * 3 * sizeof(double) * sp_hexes_lattice_size(hexes));
  transfer_bytes(w, hexes->vertices, count * sizeof *hexes->vertices);
  transfer_bytes(w, hexes->surfaces, count * sizeof *hexes->surfaces);
  transfer_bytes(w, hexes->tags, count * sizeof *hexes->tags);
  transfer_bytes(w, hexes->volumes, count * sizeof *hexes->volumes);
  if (parts) transfer_bytes(w, parts, count * sizeof *parts);
}

/* Send or receive a family. Only the receiver may fail. */
static sp_status transfer_family(sp_gmsh_wire *w, sp_family *family) {
  int sizes[2] = {family->count, family->group_count};
  transfer_bytes(w, sizes, sizeof sizes);
  if (!w->writes) SP_TRY(sp_family_resize(family, sizes[0], sizes[1]));
  for (int g = 0; g < family->group_count && !w->failed; g++) {
    sp_group *group = &family->groups[g];
    size_t length = w->writes ? strlen(group->name) : 0;
    transfer_bytes(w, &group->number, sizeof group->number);
    transfer_bytes(w, &group->listed, sizeof group->listed);
    transfer_bytes(w, &group->lost, sizeof group->lost);
    transfer_bytes(w, &length, sizeof length);
    transfer_bytes(w, &group->part_count, sizeof group->part_count);
    if (!w->writes)
      SP_TRY(SP_ALLOCATE("groups", SP_ARRAY(group->name, length + 1),
                         SP_ARRAY(group->parts, group->part_count)));
    transfer_bytes(w, group->name, length);
    transfer_bytes(w, group->parts, (size_t)group->part_count * sizeof *group->parts);
  }
  return SP_OK;
}

void sp_gmsh_send_greeting(sp_gmsh_wire *w, const char *version) {
  greeting hello = HELLO;
  snprintf(hello.version, sizeof hello.version, "%s", version);
  transfer_bytes(w, &hello, sizeof hello);
}

bool sp_gmsh_receive_greeting(sp_gmsh_wire *w, char version[SP_GMSH_VERSION_SIZE]) {
  greeting hello = {0};
  transfer_bytes(w, &hello, sizeof hello);
  memcpy(version, hello.version, sizeof hello.version);
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
    head.file = hexes->file;
  }
  transfer_bytes(w, &head, sizeof head);
  if (!status) status = transfer_family(w, &hexes->surface);
  if (!status) status = transfer_family(w, &hexes->volume);
  if (!status) transfer_arrays(w, hexes, parts);
}

sp_status sp_gmsh_receive(sp_gmsh_wire *w, sp_hexes **hexes, int **parts) {
  header head = {0};
  transfer_bytes(w, &head, sizeof head);
  if (w->failed) return SP_OK;
  if (head.status) return sp_fail((sp_status)head.status, "%s", head.message);
  SP_TRY(sp_hexes_create(head.count, head.map_order, hexes));
  (*hexes)->file = head.file;
  if (parts) SP_TRY(sp_allocate((size_t)head.count, sizeof **parts, "partition", parts));
  SP_TRY(transfer_family(w, &(*hexes)->surface));
  SP_TRY(transfer_family(w, &(*hexes)->volume));
  transfer_arrays(w, *hexes, parts ? *parts : NULL);
  return SP_OK;
}
